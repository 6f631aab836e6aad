"""DRLH against the next best, on the same splits."""

from collections.abc import Callable
from pathlib import Path

from drlh.bench.records import read_records
from drlh.report.comparison import comparison_grid

Leave = Callable[..., None]


def test_the_next_best_is_compared_on_common_splits_alone(leave: Leave, tmp_path: Path) -> None:
    for seed, value in enumerate((0.80, 0.90)):
        leave("drlh", 16, value, seed=seed)
    leave("itq", 16, 0.5)
    leave("sdh", 16, 0.78)
    leave("topline", 0, 0.99)  # makes no codes
    leave("drlh", 16, 0.95, parameters={"gamma": 0})  # not DRLH as it comes
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
