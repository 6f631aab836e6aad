"""Runs the jobs of a plan, several at once, each in one thread; finished cells are on disk and are not run again."""

import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from drlh.bench.runner import Bench
from drlh.bench.store import SCORES, RecordStore
from drlh.core.errors import UserError
from drlh.core.processes import worker_pool
from drlh.core.progress import Progress, quiet
from drlh.data import DataSet
from drlh.paper.plan import Estimates, Job, bench_of
from drlh.paper.snapshots import make_snapshot
from drlh.paper.sources import Source
from drlh.paper.tables import Panel


def run_jobs(
    jobs: Sequence[Job], records: Path, estimates: Estimates, workers: int = 2, progress: Progress = quiet
) -> list[str]:
    """Runs every job and returns one sentence for each that failed; the others go on."""
    failures: list[str] = []
    waiting = list(reversed(jobs))
    running: dict[Future[float], Job] = {}
    with worker_pool(workers) as pool:
        while waiting or running:
            while waiting and len(running) < workers:
                job = waiting.pop()
                running[pool.submit(do_job, job, records, workers)] = job
            left = sum(estimates.seconds(job) for job in (*waiting, *running.values())) / workers
            done = len(jobs) - len(waiting) - len(running)
            names = " | ".join(map(str, running.values()))
            progress(done, len(jobs), f"cells, about {duration(left)} left: {names}")
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                job = running.pop(future)
                _collect(future, job, estimates, failures)
    compact_records(records)
    progress(len(jobs), len(jobs), "cells")
    return failures


def compact_records(records: Path) -> None:
    for pending in records.glob("*/pending"):
        RecordStore(pending.parent).compact()


def _collect(future: Future[float], job: Job, estimates: Estimates, failures: list[str]) -> None:
    try:
        estimates.learn(job, future.result())
    except BrokenProcessPool as error:
        raise UserError(
            f"a worker was killed during {job}, perhaps for lack of memory: run it again, which continues from here; "
            "fewer workers need less memory"
        ) from error
    except Exception as error:  # one bad cell must not cost a night's run
        failures.append(f"{job}: {' '.join(str(error).split()) or type(error).__name__}")


def do_job(job: Job, records: Path, cells_at_once: int) -> float:
    """Fills one cell and returns the seconds it took."""
    start = time.perf_counter()
    bench = _bench(job.source, replace(job.panel, bits=()), records, cells_at_once)
    if job.kind == SCORES:
        bench.record_of(job.cell)
    else:
        make_snapshot(bench, job.cell, job.kind)
    return time.perf_counter() - start


@lru_cache(maxsize=1)
def _bench(source: Source, panel: Panel, records: Path, cells_at_once: int) -> Bench:
    return bench_of(_opened(source), panel, records, cells_at_once)


@lru_cache(maxsize=1)
def _opened(source: Source) -> DataSet:
    """The last source stays open: jobs come in its order."""
    return source.open()


def duration(seconds: float) -> str:
    """40 s, 12 min, 3 h 20 min or 2 days 4 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes} min"
    days, hours = divmod(hours, 24)
    return f"{days} day{'s' * (days > 1)} {hours} h"
