"""Jobs in parallel: records on disk, failures that hold nobody up, and a run that goes on after a kill."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from drlh.bench.records import read_records
from drlh.core.errors import UserError
from drlh.paper.jobs import duration, run_jobs
from drlh.paper.plan import Estimates, Job, make_plan
from drlh.paper.sources import AvailableData
from drlh.paper.tables import Row, Table

SCRIPT = """
import sys, time
from pathlib import Path
from drlh.paper.plan import Estimates, make_plan
from drlh.paper.jobs import run_jobs
from drlh.paper.sources import AvailableData
from drlh.paper.tables import Panel, Row, Table

if __name__ == "__main__":
    rows = [Row("LSH", "lsh"), Row("DRLH", "drlh", {"n_epochs": 100000})]
    table = Table("t", "T", (Panel("digits", "split", (8,), n_query=30),), (), lambda n_bits: rows)
    records = Path(sys.argv[2])
    plan = make_plan([table], AvailableData({"digits": sys.argv[1]}), [0], records)
    run_jobs(plan.jobs, records, Estimates([]), 1)
"""


def jobs_of(table: Table, file: Path, records: Path) -> list[Job]:
    return make_plan([table], AvailableData({"digits": str(file)}), [0], records).jobs


def test_two_workers_fill_every_cell_and_one_bad_cell_holds_nobody_up(
    feature_file: Path, table: Table, tmp_path: Path
) -> None:
    records, told = tmp_path / "runs", []
    rows = [*table.rows(8), Row("bad", "itq", {"n_iterations": -1})]
    jobs = jobs_of(replace(table, rows=lambda n_bits: rows), feature_file, records)
    before = os.environ.get("OPENBLAS_NUM_THREADS")
    failures = run_jobs(jobs, records, Estimates([]), 2, lambda done, total, what: told.append((done, total, what)))
    assert sorted(failure.split(":")[0] for failure in failures) == [
        "itq 16 bits, n_iterations=-1, seed 0", "itq 8 bits, n_iterations=-1, seed 0"
    ]  # fmt: skip
    assert all("at least 0: got -1" in failure for failure in failures)
    found = read_records(records)
    assert sorted((r["method"], r["bits"]) for r in found) == [
        ("itq", 8), ("itq", 16), ("lsh", 8), ("lsh", 16), ("topline", 0)
    ]  # fmt: skip
    assert {(r["cells_at_once"], r["machine"]["threads"]) for r in found} == {(2, "1")}
    assert all(r["cell_seconds"] >= r["fit_seconds"] for r in found)
    assert told[-1][:2] == (7, 7)
    assert any("left" in what for _, _, what in told)
    assert os.environ.get("OPENBLAS_NUM_THREADS") == before
    assert len(jobs_of(table, feature_file, records)) == 0


def test_a_killed_run_leaves_whole_records_and_no_process_and_goes_on(feature_file: Path, tmp_path: Path) -> None:
    script, records = tmp_path / "script.py", tmp_path / "runs"
    script.write_text(SCRIPT, encoding="utf-8")
    run = subprocess.Popen([sys.executable, str(script), str(feature_file), str(records)])
    deadline = time.monotonic() + 60
    while not (records.is_dir() and read_records(records)) and time.monotonic() < deadline:
        time.sleep(0.05)
    workers = children_of(run.pid)
    assert workers
    run.send_signal(signal.SIGKILL)
    run.wait()
    while any(map(alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(alive, workers))
    assert [record["method"] for record in read_records(records)] == ["lsh"]
    assert list(records.rglob("*.part")) == []


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_worker_that_dies_is_told_in_one_sentence(
    feature_file: Path, table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("drlh.paper.jobs.do_job", die)
    with pytest.raises(UserError, match="fewer workers need less memory"):
        run_jobs(jobs_of(table, feature_file, tmp_path / "runs"), tmp_path / "runs", Estimates([]), 1)


def die(*_: object) -> float:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0.0


def test_durations_are_read_by_people() -> None:
    assert [duration(s) for s in (40, 700, 12_000, 100_000, 300_000)] == [
        "40 s", "12 min", "3 h 20 min", "1 day 3 h", "3 days 11 h"
    ]  # fmt: skip
