"""All records below a directory: releases, versions of methods, duplicates, groups."""

from collections.abc import Callable
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest

from drlh.bench.cells import Cell, cells_of
from drlh.bench.records import by_group, read_records
from drlh.bench.runner import Bench
from drlh.bench.store import RecordStore, arrays_of
from drlh.core.errors import UserError
from drlh.core.files import write_json
from drlh.hashers import methods
from drlh.paper.plan import make_plan
from drlh.paper.sources import AvailableData
from drlh.paper.tables import TABLES
from drlh.report.record_grids import results_grids

COMMITTED = Path(__file__).parents[2] / "benchmarks" / "records"
SmallBench = Callable[..., Bench]


def fill(small_bench: SmallBench, *sizes: int) -> None:
    for n_query in sizes:
        list(small_bench(n_query).run(cells_of(["lsh"], [8], [0, 1], {})))


def test_records_come_with_their_arrays_and_fall_into_groups_of_equal_sizes(
    small_bench: SmallBench, tmp_path: Path
) -> None:
    fill(small_bench, 10, 20)
    groups = by_group(read_records(tmp_path))
    assert sorted((group.n_query, len(found)) for group, found in groups.items()) == [(10, 2), (20, 2)]
    record = next(iter(groups.values()))[0]
    arrays = arrays_of(record)
    assert arrays["average_precision"].mean() == pytest.approx(record["map"], abs=1e-6)
    assert arrays["precision_by_radius"].shape == arrays["recall_by_radius"].shape == (9,)
    assert arrays["recall_by_radius"][-1] == pytest.approx(1)  # within 8 of 8 bits lies everything


def test_two_kinds_of_features_of_one_data_set_are_two_groups(small_bench: SmallBench, tmp_path: Path) -> None:
    fill(small_bench, 10)
    records = read_records(tmp_path)
    records += [record | {"features": "gist", "n_features": 512} for record in records]
    titles = [group.title for group in by_group(records)]
    assert titles == ["small, split: 10 queries, 50 training images, 50 searched", "small (gist), split: 10 queries, 50 training images, 50 searched"]  # fmt: skip  # noqa: E501


def test_another_release_of_drlh_finds_every_record(
    small_bench: SmallBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(small_bench, 10)
    before, tables = read_records(tmp_path), results_grids(read_records(COMMITTED))
    version = metadata.version
    raised = lambda name: "0.1.1" if name == "drlh" else version(name)  # noqa: E731
    monkeypatch.setattr(metadata, "version", raised)
    monkeypatch.setattr("drlh.bench.machine.version", raised)
    bench = small_bench()
    monkeypatch.setattr(Bench, "_measure", None)  # nothing is measured again
    assert len(list(bench.run(cells_of(["lsh"], [8], [0, 1], {})))) == 2
    assert read_records(tmp_path) == before
    assert results_grids(read_records(COMMITTED)) == tables
    assert make_plan([TABLES["digits"]], AvailableData({}), [0], COMMITTED).n_known > 90


def test_a_parameter_given_with_its_default_value_is_the_same_cell(small_bench: SmallBench, tmp_path: Path) -> None:
    bench = small_bench()
    plain, given, other = (
        bench.record_of(Cell("itq", 4, 0, parameters)) for parameters in ({}, {"n_iterations": 50}, {"n_iterations": 3})
    )
    assert given == plain
    assert other["parameters"] == {"n_iterations": 3}
    assert other["key"] != plain["key"]


def test_a_new_version_of_a_method_makes_new_records_that_replace_the_old_in_tables(
    small_bench: SmallBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(small_bench, 10)
    raised = tuple(replace(one, version=2) if one.name == "lsh" else one for one in methods.METHODS)
    monkeypatch.setattr(methods, "METHODS", raised)
    bench = small_bench()
    assert bench.find(Cell("lsh", 8, 0)) is None
    list(bench.run([Cell("lsh", 8, 0)]))
    assert [(record["seed"], record["method_version"]) for record in read_records(tmp_path)] == [(0, 2)]
    assert len(RecordStore(tmp_path / "small-split").read()) == 3  # the old ones are kept


def test_two_records_of_a_cell_are_refused_when_read_and_both_places_named(
    small_bench: SmallBench, tmp_path: Path
) -> None:
    fill(small_bench, 10)
    table = tmp_path / "small-split" / "records.jsonl"
    header, first, second = table.read_text(encoding="utf-8").splitlines()
    table.write_text("\n".join([header, first, first.replace('"map": 0', '"map": 1'), second]) + "\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"two records of one cell, lsh, 8 bits, seed 0 .*records\.jsonl, line 3"):
        read_records(tmp_path)


def test_records_of_two_data_sets_of_one_name_are_refused(small_bench: SmallBench, tmp_path: Path) -> None:
    fill(small_bench, 10)
    record = {name: value for name, value in read_records(tmp_path)[0].items() if name != "place"}
    RecordStore(tmp_path / "copy").add(record | {"data_digest": "another"}, {})
    with pytest.raises(UserError, match="give one data set another name"):
        read_records(tmp_path)


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


def test_the_old_layout_is_refused_and_other_files_are_passed_over(small_bench: SmallBench, tmp_path: Path) -> None:
    fill(small_bench, 10)
    write_json(tmp_path / "other.json", {"format": "something", "version": 1})
    assert len(read_records(tmp_path)) == 2
    write_json(tmp_path / "lsh-8.json", {"format": "drlh-record", "version": 1})
    with pytest.raises(UserError, match=r"layout of drlh 0\.1\.0"):
        read_records(tmp_path)
