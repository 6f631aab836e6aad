"""Records as a bench would have left them, without running one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drlh.bench.store import SCORES, RecordStore

Leave = Callable[..., None]


@pytest.fixture
def leave(tmp_path: Path) -> Leave:
    """`leave("itq", 16, 0.3, seed=1, data="cifar10_x", protocol="cifar10-I", parameters={…})` writes one record."""

    def write(
        method: str, bits: int, value: float, *, seed: int = 0, arrays: dict[str, Any] | None = None, **more: Any
    ) -> None:
        record = {
            "kind": SCORES, "method": method, "method_version": 1, "bits": bits, "seed": seed, "parameters": {},
            "data": "cifar10_x", "data_digest": "d", "features": None, "protocol": "cifar10-I", "protocol_version": 1,
            "n_query": 50, "n_train": 5000,
            "n_database": 59000, "n_features": 1280, "supervised": True, "database_labels_used": False,
            "split_digest": f"split{seed}", "map": value, "fit_seconds": 2.0 + bits, "encode_seconds": 1.0,
            "machine": {"system": "Linux", "cores": "2"},
        } | more  # fmt: skip
        spread = np.random.default_rng(bits + seed).normal(0, 0.1, 50)
        kept = {"average_precision": value + spread - spread.mean()} | (arrays or {})
        store = RecordStore(tmp_path / f"{record['data']}-{record['protocol']}")
        store.add(record, {key: np.asarray(array, np.float32) for key, array in kept.items()})

    return write
