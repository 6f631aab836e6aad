"""Records on disk: releases, kills, several writers, duplicates."""

import json
import multiprocessing
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drlh.bench import records as records_module
from drlh.bench.cells import Cell, cells_of
from drlh.bench.groups import by_group
from drlh.bench.records import RecordStore, arrays_of, read_records
from drlh.bench.runner import Bench
from drlh.core.errors import UserError
from drlh.core.files import digest, write_json
from drlh.data.base import DataSet
from drlh.evaluate.protocols import get_protocol
from drlh.hashers import methods
from drlh.paper.plan import make_plan
from drlh.paper.sources import AvailableData
from drlh.paper.tables import TABLES
from drlh.report.record_grids import results_grids

COMMITTED = Path(__file__).parents[2] / "benchmarks" / "records"


def small_bench(directory: Path, n_query: int = 10) -> Bench:
    rng = np.random.default_rng(0)
    data = DataSet("small", np.arange(60) % 3, ("a", "b", "c"), features=rng.normal(size=(60, 6)).astype(np.float32))
    return Bench(data, get_protocol("split"), n_query, records=directory)


def fill(directory: Path, *sizes: int) -> None:
    for n_query in sizes:
        list(small_bench(directory, n_query).run(cells_of(["lsh"], [8], [0, 1], {})))


def tables(directory: Path) -> list[str]:
    return sorted(path.name for path in (directory / "small-split").rglob("*") if path.is_file())


def test_records_come_with_their_arrays_and_fall_into_groups_of_equal_sizes(tmp_path: Path) -> None:
    fill(tmp_path, 10, 20)
    groups = by_group(read_records(tmp_path))
    assert sorted((group.n_query, len(found)) for group, found in groups.items()) == [(10, 2), (20, 2)]
    record = next(iter(groups.values()))[0]
    arrays = arrays_of(record)
    assert arrays["average_precision"].mean() == pytest.approx(record["map"], abs=1e-6)
    assert arrays["precision_by_radius"].shape == arrays["recall_by_radius"].shape == (9,)
    assert arrays["recall_by_radius"][-1] == pytest.approx(1)  # within 8 of 8 bits lies everything
    assert tables(tmp_path) == ["arrays.npz", "records.jsonl"]


def test_two_kinds_of_features_of_one_data_set_are_two_groups(tmp_path: Path) -> None:
    fill(tmp_path, 10)
    records = read_records(tmp_path)
    records += [record | {"features": "gist", "n_features": 512} for record in records]
    titles = [group.title for group in by_group(records)]
    assert titles == ["small, split: 10 queries, 50 training images, 50 searched", "small (gist), split: 10 queries, 50 training images, 50 searched"]  # fmt: skip  # noqa: E501


def test_another_release_of_drlh_finds_every_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path, 10)
    before, tables = read_records(tmp_path), results_grids(read_records(COMMITTED))
    version = metadata.version
    raised = lambda name: "0.1.1" if name == "drlh" else version(name)  # noqa: E731
    monkeypatch.setattr(metadata, "version", raised)
    monkeypatch.setattr("drlh.bench.machine.version", raised)
    bench = small_bench(tmp_path)
    monkeypatch.setattr(Bench, "_measure", None)  # nothing is measured again
    assert len(list(bench.run(cells_of(["lsh"], [8], [0, 1], {})))) == 2
    assert read_records(tmp_path) == before
    assert results_grids(read_records(COMMITTED)) == tables
    assert make_plan([TABLES["digits"]], AvailableData({}), [0], COMMITTED).n_known > 90


def test_a_parameter_given_with_its_default_value_is_the_same_cell(tmp_path: Path) -> None:
    bench = small_bench(tmp_path)
    plain, given, other = (
        bench.record_of(Cell("itq", 4, 0, parameters)) for parameters in ({}, {"n_iterations": 50}, {"n_iterations": 3})
    )
    assert given == plain
    assert other["parameters"] == {"n_iterations": 3}
    assert other["key"] != plain["key"]


def test_a_new_version_of_a_method_makes_new_records_that_replace_the_old_in_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path, 10)
    raised = tuple(replace(one, version=2) if one.name == "lsh" else one for one in methods.METHODS)
    monkeypatch.setattr(methods, "METHODS", raised)
    bench = small_bench(tmp_path)
    assert bench.find(Cell("lsh", 8, 0)) is None
    list(bench.run([Cell("lsh", 8, 0)]))
    assert [(record["seed"], record["method_version"]) for record in read_records(tmp_path)] == [(0, 2)]
    assert len(RecordStore(tmp_path / "small-split").read()) == 3  # the old ones are kept


def test_a_second_record_of_a_cell_is_refused_when_written(tmp_path: Path) -> None:
    fill(tmp_path, 10)
    store = RecordStore(tmp_path / "small-split")
    record = {name: value for name, value in store.read()[0].items() if name != "place"}
    with pytest.raises(UserError, match="holds a record of lsh, 8 bits, seed 0 already"):
        store.add(record | {"map": 0.9}, {})


def test_two_records_of_a_cell_are_refused_when_read_and_both_places_named(tmp_path: Path) -> None:
    fill(tmp_path, 10)
    table = tmp_path / "small-split" / "records.jsonl"
    header, first, second = table.read_text(encoding="utf-8").splitlines()
    table.write_text("\n".join([header, first, first.replace('"map": 0', '"map": 1'), second]) + "\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"two records of one cell, lsh, 8 bits, seed 0 .*records\.jsonl, line 3"):
        read_records(tmp_path)


def test_records_of_two_data_sets_of_one_name_are_refused(tmp_path: Path) -> None:
    fill(tmp_path, 10)
    record = {name: value for name, value in read_records(tmp_path)[0].items() if name != "place"}
    RecordStore(tmp_path / "copy").add(record | {"data_digest": "another"}, {})
    with pytest.raises(UserError, match="give one data set another name"):
        read_records(tmp_path)


class Killed(BaseException):
    """As a kill: nothing catches it."""


@pytest.mark.parametrize("at", ["write_npz", "write_text", "unlink"])
def test_a_kill_during_compaction_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    bench = small_bench(tmp_path)
    bench.record_of(Cell("lsh", 8, 0))
    bench.store.compact()  # type: ignore[union-attr]
    bench.record_of(Cell("lsh", 8, 1))
    assert tables(tmp_path) == [f"{read_records(tmp_path)[1]['key']}.npz", "arrays.npz", "records.jsonl"]

    unlink = Path.unlink

    def die(*_: Any) -> None:
        raise Killed

    def die_at_pending(path: Path, missing_ok: bool = False) -> None:
        die() if path.parent.name == "pending" else unlink(path, missing_ok)

    with monkeypatch.context() as patch:
        patch.setattr(Path, at, die_at_pending) if at == "unlink" else patch.setattr(records_module, at, die)
        with pytest.raises(Killed):
            bench.store.compact()  # type: ignore[union-attr]
    for _ in range(2):  # as it was left, and after the next compaction
        found = read_records(tmp_path)
        assert [record["seed"] for record in found] == [0, 1]
        assert all(arrays_of(record)["average_precision"].shape == (10,) for record in found)
        assert bench.find(Cell("lsh", 8, 1)) is not None
        bench.store.compact()  # type: ignore[union-attr]
    assert tables(tmp_path) == ["arrays.npz", "records.jsonl"]


def write_many(directory: Path, start: int) -> None:
    store = RecordStore(directory / "small-split")
    record = json.loads((directory / "one.json").read_text(encoding="utf-8"))
    for seed in range(start, start + 20):
        store.add(record | {"seed": seed}, {"average_precision": np.full(3, seed, np.float32)})
        if seed % 4 == 0:
            store.compact()


def test_several_processes_write_and_compact_at_once(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text(json.dumps(small_bench(tmp_path).about(Cell("lsh", 8, 0))), encoding="utf-8")
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write_many, args=(tmp_path, 100 * number)) for number in range(3)]
    for writer in writers:
        writer.start()
    counts = [0]
    while any(writer.is_alive() for writer in writers):
        counts.append(len(read_records(tmp_path)))  # a reader needs no lock
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert counts == sorted(counts)
    RecordStore(tmp_path / "small-split").compact()
    found = read_records(tmp_path)
    assert sorted(record["seed"] for record in found) == [100 * n + seed for n in range(3) for seed in range(20)]
    assert all(arrays_of(record)["average_precision"].tolist() == [record["seed"]] * 3 for record in found)


def test_a_record_without_a_digest_of_its_data_is_found_by_its_old_tag(tmp_path: Path) -> None:
    bench, cell = small_bench(tmp_path), Cell("lsh", 8, 0)
    about = bench.about(cell)
    tag = digest(about["data_digest"], "settings")[:10]
    old = about | {"data_digest": None, "legacy": {"tag": tag, "settings": "settings"}, "map": 0.5}
    RecordStore(tmp_path / "small-split").add(old, {})
    assert (bench.find(cell) or {}).get("map") is None  # not in the table yet
    RecordStore(tmp_path / "small-split").compact()
    assert bench.record_of(cell)["map"] == 0.5
    other = replace(bench, data=replace(bench.data, features=bench.data.features + 1))  # type: ignore[operator]
    assert other.find(cell) is None


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not a directory"):
        read_records(tmp_path / "none")
    table = tmp_path / "g" / "records.jsonl"
    table.parent.mkdir()
    header = '{"format": "drlh-records", "version": 2}\n'
    for text, sentence in (
        (header + '{"key": "a', r"records\.jsonl, line 2, is damaged"),
        (header.replace("2", "99"), "update drlh"),
        ("", "is not a drlh-records file"),
    ):
        table.write_text(text, encoding="utf-8")
        with pytest.raises(UserError, match=sentence):
            read_records(tmp_path)


def test_the_old_layout_is_refused_and_other_files_are_passed_over(tmp_path: Path) -> None:
    fill(tmp_path, 10)
    write_json(tmp_path / "other.json", {"format": "something", "version": 1})
    assert len(read_records(tmp_path)) == 2
    write_json(tmp_path / "lsh-8.json", {"format": "drlh-record", "version": 1})
    with pytest.raises(UserError, match=r"layout of drlh 0\.1\.0"):
        read_records(tmp_path)
