"""A small feature file and a table of two quick methods."""

from pathlib import Path

import numpy as np
import pytest

from drlh.paper.tables import Panel, Row, Table


@pytest.fixture
def feature_file(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    labels = np.arange(120) % 4
    path = tmp_path / "small.npz"
    np.savez(path, x=rng.normal(size=(4, 12))[labels] * 3 + rng.normal(size=(120, 12)), y=labels)
    return path


@pytest.fixture
def table() -> Table:
    panel = Panel("digits", "split", (8, 16), n_query=30)
    rows = [Row("ITQ", "itq"), Row("LSH", "lsh"), Row("Topline", "topline")]
    return Table("small", "Small", (panel,), (), lambda n_bits: rows)
