"""The runner: records, resumption and refusals."""

from pathlib import Path

import numpy as np
import pytest

from drlh.data.base import DataSet
from drlh.errors import UserError
from drlh.evaluate.bench import Bench, cells_of
from drlh.evaluate.protocols import get_protocol
from drlh.files import read_npz

WANTED = {
    "method", "bits", "seed", "protocol", "map", "map_best", "map_worst", "fit_seconds", "encode_seconds",
    "n_train", "n_query", "n_database",
}  # fmt: skip


def small_set() -> DataSet:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 200)
    features = (rng.normal(size=(3, 10))[labels] * 2 + rng.normal(size=(200, 10))).astype(np.float32)
    return DataSet("small", labels, ("a", "b", "c"), features=features)


def test_each_cell_gives_one_record_with_the_promised_keys() -> None:
    cells = cells_of(["itq", "lsh"], [8, 16], [0, 1], {})
    records = list(Bench(small_set(), get_protocol("split"), n_query=40).run(cells))
    assert [(r["method"], r["bits"], r["seed"]) for r in records] == [
        (m, b, s) for m in ("itq", "lsh") for b in (8, 16) for s in (0, 1)
    ]
    for record in records:
        assert record.keys() >= WANTED
        assert record["map_worst"] <= record["map"] <= record["map_best"]
        assert (record["n_query"], record["n_train"], record["n_database"]) == (40, 160, 160)


def test_a_second_run_takes_the_records_from_disk_and_a_third_adds_only_what_is_new(tmp_path: Path) -> None:
    bench = Bench(small_set(), get_protocol("split"), n_query=40, records=tmp_path)
    first = list(bench.run(cells_of(["itq"], [8], [0], {})))
    again = list(bench.run(cells_of(["itq"], [8], [0, 1], {})))
    assert again[0] == first[0]  # times included: it was not run again
    assert len(list(tmp_path.rglob("*.json"))) == 2
    per_query = read_npz(next(iter(sorted(tmp_path.rglob("*seed0*.npz")))))["average_precision"]
    assert per_query.mean() == pytest.approx(first[0]["map"], abs=1e-6)


def test_other_data_or_parameters_do_not_take_up_a_record(tmp_path: Path) -> None:
    cells = cells_of(["itq"], [8], [0], {})
    list(Bench(small_set(), get_protocol("split"), n_query=40, records=tmp_path).run(cells))
    list(Bench(small_set(), get_protocol("split"), n_query=50, records=tmp_path).run(cells))
    other = cells_of(["itq"], [8], [0], {"n_iterations": 3})
    list(Bench(small_set(), get_protocol("split"), n_query=40, records=tmp_path).run(other))
    assert len(list(tmp_path.rglob("*.json"))) == 3


def test_a_record_depends_on_nothing_but_its_settings() -> None:
    cells = cells_of(["itq"], [16], [3], {})
    one, two = (next(Bench(small_set(), get_protocol("split"), n_query=40).run(cells)) for _ in range(2))
    assert (one["map"], one["split_digest"]) == (two["map"], two["split_digest"])


def test_mistakes_are_told_before_anything_runs() -> None:
    for arguments, complaint in (
        ((["itqq"], [8], [0], {}), "did you mean"),
        ((["itq"], [], [0], {}), "at least one"),
        ((["itq"], [8], [0], {"depth": 2}), "no parameter"),
    ):
        with pytest.raises(UserError, match=complaint):
            cells_of(*arguments)


def test_a_set_without_labels_is_refused() -> None:
    one_class = DataSet("photos", np.zeros(4, int), ("unlabelled",), features=np.zeros((4, 2), np.float32))
    with pytest.raises(UserError, match="one class only"):
        next(Bench(one_class, get_protocol("split")).run(cells_of(["itq"], [8], [0], {})))


def test_images_without_features_are_refused() -> None:
    images_only = DataSet("photos", np.zeros(4, int), ("a",))
    with pytest.raises(UserError, match="name the features"):
        next(Bench(images_only, get_protocol("split")).run(cells_of(["itq"], [8], [0], {})))
