"""The runner: records, resumption and refusals."""

import re
import time
from pathlib import Path

import numpy as np
import pytest

from drlh.bench.cells import Cell, cells_of
from drlh.bench.records import read_records
from drlh.bench.runner import Bench
from drlh.bench.store import arrays_of
from drlh.core.codes import signs
from drlh.core.errors import UserError
from drlh.data.base import DataSet
from drlh.evaluate.metrics import score_average_precisions
from drlh.evaluate.protocols import get_protocol
from drlh.hashers.classic.lsh import LSH
from drlh.hashers.controls.topline import Topline
from drlh.hashers.drlh_paper.hasher import DRLHPaper
from drlh.hashers.methods import METHODS, make_hasher

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
    stored = read_records(tmp_path)
    assert [record["seed"] for record in stored] == [0, 1]
    per_query = arrays_of(stored[0])["average_precision"]
    assert per_query.mean() == pytest.approx(first[0]["map"], abs=1e-6)


def test_other_data_or_parameters_make_records_of_their_own(tmp_path: Path) -> None:
    cells = cells_of(["itq"], [8], [0], {})
    list(Bench(small_set(), get_protocol("split"), n_query=40, records=tmp_path).run(cells))
    list(Bench(small_set(), get_protocol("split"), n_query=50, records=tmp_path).run(cells))
    other = cells_of(["itq"], [8], [0], {"n_iterations": 3})
    list(Bench(small_set(), get_protocol("split"), n_query=40, records=tmp_path).run(other))
    assert len(read_records(tmp_path)) == 3


def test_cells_that_differ_in_encoding_alone_share_a_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    fits: list[int] = []
    learn = DRLHPaper._fit
    monkeypatch.setattr(DRLHPaper, "_fit", lambda self, *given: (fits.append(self.n_epochs), learn(self, *given))[1])
    bench = Bench(small_set(), get_protocol("split"), n_query=40)
    quick = {"n_epochs": 2, "hidden_size": 16, "batch_size": 32}
    limits = [Cell("drlh-paper", 8, 0, quick | limit) for limit in ({"max_steps": 1}, {"max_steps": 4}, {})]
    others = [Cell("drlh-paper", 8, 0, quick | {"n_epochs": 3}), Cell("drlh-paper", 8, 1, quick)]
    shared = list(bench.run([*limits, *others]))
    assert fits == [2, 3, 2]
    alone = [next(iter(Bench(small_set(), get_protocol("split"), n_query=40).run([cell]))) for cell in limits]
    assert [record["map"] for record in shared[:3]] == [record["map"] for record in alone]
    assert len({record["map"] for record in alone}) == 3
    assert shared[1]["fit_seconds"] == shared[0]["fit_seconds"] > 0


def test_what_a_method_imports_is_no_part_of_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = cells_of(["lsh"], [8], [0], {})
    slow = iter([0.5])  # seconds that the first making of a hasher takes, in a worker that has none yet

    def make(name: str, n_bits: int, **parameters: object) -> object:
        time.sleep(next(slow, 0.0))
        return make_hasher(name, n_bits, **parameters)

    monkeypatch.setattr("drlh.bench.cells.make_hasher", make)
    (record,) = Bench(small_set(), get_protocol("split")).run(cells)
    assert record["fit_seconds"] < 0.4


def test_a_reference_line_has_one_record_for_each_seed_whatever_the_lengths() -> None:
    cells = cells_of(["itq", "topline"], [8, 16], [0, 1], {})
    assert [(cell.method, cell.n_bits, cell.seed) for cell in cells[-2:]] == [("topline", 0, 0), ("topline", 0, 1)]
    assert len(cells) == 6
    every = cells_of(["all"], [8], [0], {})
    assert [cell.method for cell in every] == [*(method.name for method in METHODS), "topline"]


def test_the_record_of_a_reference_line_is_its_own_ranking_and_the_classifiers_accuracy(tmp_path: Path) -> None:
    data = small_set()
    bench = Bench(data, get_protocol("split"), n_query=40, records=tmp_path)
    (record,) = bench.run(cells_of(["topline"], [8, 16], [3], {}))
    assert record.keys() >= WANTED | {"accuracy"}
    split = get_protocol("split").split(data.labels, None, 3, 40)
    line = Topline(random_state=3).fit(data.features[split.train], data.labels[split.train])
    query, database = (line.query_vectors(data.features[rows]) for rows in (split.query, split.database))
    wanted = score_average_precisions(query, data.labels[split.query], database, data.labels[split.database])
    assert record["map"] == pytest.approx(wanted.mean(), abs=1e-9)
    assert record["accuracy"] == (query.argmax(axis=1) == data.labels[split.query]).mean()
    assert "distinct_codes" not in record
    (stored,) = read_records(tmp_path)
    assert (stored["method"], stored["bits"], stored["seed"]) == ("topline", 0, 3)
    np.testing.assert_allclose(arrays_of(stored)["average_precision"], wanted, atol=1e-6)
    assert list(bench.run(cells_of(["topline"], [32], [3], {}))) == [record]  # not run again


def test_a_reference_line_with_several_labels_says_how_its_accuracy_is_meant() -> None:
    labels = np.eye(3, dtype=np.uint8)[small_set().labels] | np.array([1, 0, 0], np.uint8)
    data = DataSet("small", labels, ("a", "b", "c"), features=small_set().features)
    (record,) = Bench(data, get_protocol("split"), n_query=40).run(cells_of(["topline"], [8], [0], {}))
    assert "accuracy" not in record
    assert record["mean_label_accuracy"] > 0.8


def test_a_ranking_of_its_own_stands_beside_that_by_hamming_distance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = cells_of(["lsh"], [12], [0], {})
    (plain,) = Bench(small_set(), get_protocol("split"), n_query=40).run(cells)
    assert "map_own" not in plain
    # The signs of a code rank as its Hamming distance does, and weighted by their number they do not.
    monkeypatch.setattr(LSH, "query_vectors", lambda self, X: 1.0 * signs(self.transform(X)), raising=False)
    monkeypatch.setattr(LSH, "database_vectors", lambda self, X: 1.0 * signs(self.transform(X)), raising=False)
    (same,) = Bench(small_set(), get_protocol("split"), n_query=40, records=tmp_path).run(cells)
    assert same["map_own"] == pytest.approx(same["map"], abs=1e-12)
    assert same["map"] == plain["map"]
    arrays = arrays_of(read_records(tmp_path)[0])
    np.testing.assert_allclose(arrays["average_precision_own"], arrays["average_precision"], atol=1e-7)
    monkeypatch.setattr(LSH, "query_vectors", lambda self, X: np.arange(12.0) * signs(self.transform(X)))
    (weighted,) = Bench(small_set(), get_protocol("split"), n_query=40).run(cells)
    assert weighted["map"] == plain["map"]
    assert weighted["map_own"] != pytest.approx(plain["map"], abs=1e-3)


def test_a_record_names_what_it_was_measured_with() -> None:
    (record,) = Bench(small_set(), get_protocol("split")).run(cells_of(["lsh"], [8], [0], {}))
    assert record["commit"] is None or re.fullmatch(r"[0-9a-f]{40}\+?", record["commit"])
    assert record["versions"].keys() >= {"python", "drlh", "numpy", "scikit-learn", "torch"}
    assert record["machine"].keys() == {"system", "cores", "threads"}


def test_a_record_depends_on_nothing_but_its_settings() -> None:
    cells = cells_of(["itq"], [16], [3], {})
    one, two = (next(Bench(small_set(), get_protocol("split"), n_query=40).run(cells)) for _ in range(2))
    assert (one["map"], one["split_digest"]) == (two["map"], two["split_digest"])


def test_mistakes_are_told_before_anything_runs() -> None:
    for arguments, complaint in (
        ((["itqq"], [8], [0], {}), "did you mean"),
        ((["itq"], [], [0], {}), "at least one"),
        ((["itq"], [8], [0], {"depth": 2}), "no parameter"),
        ((["topline"], [8], [0], {"depth": 2}), "Topline has no parameter"),
    ):
        with pytest.raises(UserError, match=complaint):
            cells_of(*arguments)


def test_a_set_without_labels_is_refused() -> None:
    one_class = DataSet("photos", np.zeros(4, int), ("unlabelled",), features=np.zeros((4, 2), np.float32))
    with pytest.raises(UserError, match="one class only"):
        next(Bench(one_class, get_protocol("split")).run(cells_of(["itq"], [8], [0], {})))


def test_images_without_features_are_refused() -> None:
    images_only = DataSet("photos", np.zeros(4, int), ("a",))
    with pytest.raises(UserError, match="no features: name some"):
        next(Bench(images_only, get_protocol("split")).run(cells_of(["itq"], [8], [0], {})))
