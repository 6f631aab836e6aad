"""The tables of docs/results.md, and DRLH against the next best on the same splits."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from drlh.bench.records import Group, read_records
from drlh.report.record_grids import comparison_grid, group_grid, method_label

Leave = Callable[..., None]


def record(method: str, bits: int, value: float, seed: int = 0, **more: Any) -> dict[str, Any]:
    common = {"database_labels_used": False, "supervised": True, "parameters": {}, "fit_seconds": 1.0}
    return {"method": method, "bits": bits, "map": value, "seed": seed} | common | more


def rows_of(records: list[dict[str, Any]]) -> list[list[str]]:
    grid = group_grid(Group("d", None, 5, "split", 1, 2, 3), records)
    return [list(grid.columns), *map(list, grid.rows)]


def test_a_reference_line_has_the_same_value_at_every_length() -> None:
    records = [record("itq", 16, 0.3), record("itq", 32, 0.4)]
    records += [record("topline", 0, 0.8, 0), record("topline", 0, 0.9, 1)]
    head, top, itq = rows_of(records)
    assert head == ["method", "16 bits", "32 bits", "seeds", "fit"]
    assert top == ["topline", "0.850 ± 0.071", "0.850 ± 0.071", "2", "1.0 s"]
    assert itq == ["itq", "0.300", "0.400", "1", "1.0 s"]


def test_a_reference_line_alone_has_one_column() -> None:
    head, top = rows_of([record("topline", 0, 0.8)])
    assert head == ["method", "any length", "seeds", "fit"]
    assert top == ["topline", "0.800", "1", "1.0 s"]


def test_an_own_ranking_follows_its_method_and_a_length_without_a_record_is_a_dash() -> None:
    records = [record("dqn", 16, 0.5, map_own=0.6), record("itq", 16, 0.55), record("itq", 32, 0.56)]
    rows = rows_of(records)[1:]
    assert rows == [
        ["itq", "0.550", "0.560", "1", "1.0 s"],
        ["Deep Quantization Network", "0.500", "–", "1", "1.0 s"],
        ["Deep Quantization Network, own ranking", "0.600", "–", "1", "1.0 s"],
    ]


def test_a_name_that_reads_as_another_method_is_written_out() -> None:
    names = ("itq", "talr-ap", "dqn", "from-another-version")
    assert [method_label(name) for name in names] == [
        "itq", "talr-ap", "Deep Quantization Network", "from-another-version"
    ]  # fmt: skip


def test_the_next_best_is_compared_on_common_splits_alone(leave: Leave, tmp_path: Path) -> None:
    for seed, value in enumerate((0.80, 0.90)):
        leave("drlh", 16, value, seed=seed)
    leave("itq", 16, 0.5)
    leave("sdh", 16, 0.78)
    leave("topline", 0, 0.99)  # makes no codes
    leave("drlh", 16, 0.95, parameters={"gamma": 0})  # not DRLH as it comes
    leave("drlh-paper", 16, 0.99)  # a variant of DRLH, with tables of its own
    (row,) = comparison_grid(read_records(tmp_path)).rows
    assert list(row[1:6]) == ["16", "0.800", "SDH", "0.780", "+0.020"]
    assert row[7] == "1"
    low, high = row[6].split(" to ")
    assert low == high == "+0.020"  # every query differs by as much


def test_a_method_that_is_ahead_is_named(leave: Leave, tmp_path: Path) -> None:
    leave("drlh", 16, 0.5)
    leave("itq", 16, 0.4)
    leave("sdh", 16, 0.6)
    (row,) = comparison_grid(read_records(tmp_path)).rows
    assert (row[3], row[5]) == ("SDH", "−0.100")


def test_other_splits_or_lengths_are_no_pair(leave: Leave, tmp_path: Path) -> None:
    leave("drlh", 16, 0.5)
    leave("itq", 16, 0.4, seed=1)
    leave("itq", 24, 0.4)
    assert list(comparison_grid(read_records(tmp_path)).rows) == []


def test_one_split_for_all_seeds_pairs_each_seed_with_itself(leave: Leave, tmp_path: Path) -> None:
    for seed, value in enumerate((0.80, 0.90, 0.91)):
        leave("drlh", 16, value, seed=seed, split_digest="the only one")
    leave("talr-ap", 16, 0.7, split_digest="the only one")
    (row,) = comparison_grid(read_records(tmp_path)).rows
    assert list(row[2:5]) == ["0.800", "TALR-AP", "0.700"]
    assert row[7] == "1"
