"""Snapshots, and the figures made of them."""

from pathlib import Path

import numpy as np
import pytest

from drlh.bench.cells import Cell
from drlh.bench.records import read_records, read_snapshots
from drlh.bench.runner import Bench
from drlh.bench.store import arrays_of
from drlh.data.base import DataSet
from drlh.evaluate.protocols import get_protocol
from drlh.paper.snapshots import make_snapshot
from drlh.report.snapshot_figures import snapshot_figures


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    rng = np.random.default_rng(0)
    labels = np.arange(150) % 3
    features = (rng.normal(size=(3, 10))[labels] * 4 + rng.normal(size=(150, 10))).astype(np.float32)
    data = DataSet("small", labels, ("a", "b", "c"), features=features)
    return Bench(data, get_protocol("split"), n_query=60, records=tmp_path)


def test_codes_of_a_class_lie_together_in_the_plane(bench: Bench, tmp_path: Path) -> None:
    make_snapshot(bench, Cell("sdh", 16, 0), "tsne")
    (snapshot,) = read_snapshots(tmp_path)
    arrays = arrays_of(snapshot)
    positions, labels = arrays["positions"], arrays["labels"]
    assert positions.shape == (60, 2)
    distances = np.linalg.norm(positions[:, None] - positions[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    assert (labels[distances.argmin(axis=1)] == labels).mean() > 0.9
    assert read_records(tmp_path) == []  # no record: it has no score


def test_walks_end_where_the_encoder_ends(bench: Bench, tmp_path: Path) -> None:
    cell = Cell("drlh", 12, 0, {"n_epochs": 2})
    make_snapshot(bench, cell, "walks")
    (snapshot,) = read_snapshots(tmp_path)
    arrays = arrays_of(snapshot)
    hasher, split = bench.fitted(cell), bench.split(cell.seed)
    codes = hasher.transform(bench.rows(split.query)[0])
    for number, label in enumerate(arrays["labels"].tolist()):
        first = np.flatnonzero(bench.data.labels[split.query] == label)[0]
        np.testing.assert_array_equal(arrays[f"codes_{number}"][-1], codes[first])
        assert len(arrays[f"stop_{number}"]) == len(arrays[f"distances_{number}"]) == len(arrays[f"codes_{number}"])
    (drawing,) = snapshot_figures([snapshot])
    assert drawing.svg.startswith("<svg")
    assert "best flip" in drawing.svg


def test_methods_stand_side_by_side_and_a_known_snapshot_is_not_made_again(bench: Bench, tmp_path: Path) -> None:
    cells = [Cell(name, 8, 0) for name in ("lsh", "itq")]
    for cell in cells:
        make_snapshot(bench, cell, "tsne")
        assert bench.find(cell, "tsne") is not None
        assert bench.find(cell) is None  # which has no scores
    (drawing,) = snapshot_figures(read_snapshots(tmp_path))
    assert all(f">{name}</text>" in drawing.svg for name in ("lsh", "ITQ", "a", "b", "c"))
