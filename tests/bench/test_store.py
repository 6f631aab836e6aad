"""The records of one group: kills, several writers, a second record of a cell."""

import json
import multiprocessing
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drlh.bench import store as store_module
from drlh.bench.cells import Cell
from drlh.bench.records import read_records
from drlh.bench.runner import Bench
from drlh.bench.store import RecordStore, arrays_of
from drlh.core.errors import UserError
from drlh.core.files import digest

SmallBench = Callable[..., Bench]


def files_of(directory: Path) -> list[str]:
    return sorted(path.name for path in (directory / "small-split").rglob("*") if path.is_file())


def test_a_second_record_of_a_cell_is_refused_when_written(small_bench: SmallBench, tmp_path: Path) -> None:
    list(small_bench().run([Cell("lsh", 8, 0)]))
    store = RecordStore(tmp_path / "small-split")
    record = {name: value for name, value in store.read()[0].items() if name != "place"}
    with pytest.raises(UserError, match="holds a record of lsh, 8 bits, seed 0 already"):
        store.add(record | {"map": 0.9}, {})


class Killed(BaseException):
    """As a kill: nothing catches it."""


@pytest.mark.parametrize("at", ["write_npz", "write_text", "unlink"])
def test_a_kill_during_compaction_loses_nothing(
    small_bench: SmallBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    bench = small_bench()
    bench.record_of(Cell("lsh", 8, 0))
    bench.store.compact()  # type: ignore[union-attr]
    bench.record_of(Cell("lsh", 8, 1))
    assert files_of(tmp_path) == [f"{read_records(tmp_path)[1]['key']}.npz", "arrays.npz", "records.jsonl"]

    unlink = Path.unlink

    def die(*_: Any) -> None:
        raise Killed

    def die_at_pending(path: Path, missing_ok: bool = False) -> None:
        die() if path.parent.name == "pending" else unlink(path, missing_ok)

    with monkeypatch.context() as patch:
        patch.setattr(Path, at, die_at_pending) if at == "unlink" else patch.setattr(store_module, at, die)
        with pytest.raises(Killed):
            bench.store.compact()  # type: ignore[union-attr]
    for _ in range(2):  # as it was left, and after the next compaction
        found = read_records(tmp_path)
        assert [record["seed"] for record in found] == [0, 1]
        assert all(arrays_of(record)["average_precision"].shape == (10,) for record in found)
        assert bench.find(Cell("lsh", 8, 1)) is not None
        bench.store.compact()  # type: ignore[union-attr]
    assert files_of(tmp_path) == ["arrays.npz", "records.jsonl"]


def write_many(directory: Path, start: int) -> None:
    store = RecordStore(directory / "small-split")
    record = json.loads((directory / "one.json").read_text(encoding="utf-8"))
    for seed in range(start, start + 20):
        store.add(record | {"seed": seed}, {"average_precision": np.full(3, seed, np.float32)})
        if seed % 4 == 0:
            store.compact()


def test_several_processes_write_and_compact_at_once(small_bench: SmallBench, tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text(json.dumps(small_bench().about(Cell("lsh", 8, 0))), encoding="utf-8")
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


def test_a_record_without_a_digest_of_its_data_is_found_by_its_old_tag(small_bench: SmallBench, tmp_path: Path) -> None:
    bench, cell = small_bench(), Cell("lsh", 8, 0)
    about = bench.about(cell)
    tag = digest(about["data_digest"], "settings")[:10]
    old = about | {"data_digest": None, "legacy": {"tag": tag, "settings": "settings"}, "map": 0.5}
    RecordStore(tmp_path / "small-split").add(old, {})
    assert (bench.find(cell) or {}).get("map") is None  # not in the table yet
    RecordStore(tmp_path / "small-split").compact()
    assert bench.record_of(cell)["map"] == 0.5
    other = replace(bench, data=replace(bench.data, features=bench.data.features + 1))  # type: ignore[operator]
    assert other.find(cell) is None
