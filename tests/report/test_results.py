"""The tables of docs/results.md: reference lines at every length, own rankings in rows of their own."""

from typing import Any

from drlh.bench.records import Group
from drlh.report.results import group_grid


def record(method: str, bits: int, value: float, seed: int = 0, **more: Any) -> dict[str, Any]:
    seen = {"database_labels_seen": False, "supervised": True, "parameters": {}, "fit_seconds": 1.0}
    return {"method": method, "bits": bits, "map": value, "seed": seed} | seen | more


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
        ["dqn", "0.500", "–", "1", "1.0 s"],
        ["dqn, own ranking", "0.600", "–", "1", "1.0 s"],
    ]
