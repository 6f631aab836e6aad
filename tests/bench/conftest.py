"""A bench on a small data set whose records go to a directory."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from drlh.bench.runner import Bench
from drlh.data.base import DataSet
from drlh.evaluate.protocols import get_protocol

SmallBench = Callable[..., Bench]


@pytest.fixture
def small_bench(tmp_path: Path) -> SmallBench:
    """`small_bench(n_query=20)`."""

    def make(n_query: int = 10) -> Bench:
        features = np.random.default_rng(0).normal(size=(60, 6)).astype(np.float32)
        data = DataSet("small", np.arange(60) % 3, ("a", "b", "c"), features=features)
        return Bench(data, get_protocol("split"), n_query, records=tmp_path)

    return make
