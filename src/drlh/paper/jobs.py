"""Runs the jobs of a plan, several at once, each in one thread; what is done is on disk and is not done again."""

import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from drlh.bench.bench import Bench
from drlh.core.errors import UserError
from drlh.core.processes import worker_pool
from drlh.core.progress import Progress, quiet
from drlh.data import DataSet
from drlh.paper.plan import Estimates, Job, bench_of
from drlh.paper.snapshots import make_look
from drlh.paper.sources import Source
from drlh.paper.tables import Panel


def run_jobs(
    jobs: Sequence[Job], records: Path, estimates: Estimates, workers: int = 2, progress: Progress = quiet
) -> list[str]:
    """Does every job and returns one sentence for each that failed; the others are not held up by it."""
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
                _settle(future, job, estimates, failures)
    progress(len(jobs), len(jobs), "cells")
    return failures


def _settle(future: Future[float], job: Job, estimates: Estimates, failures: list[str]) -> None:
    try:
        estimates.learn(job, future.result())
    except BrokenProcessPool as error:
        raise UserError(
            f"a worker was ended from outside during {job}, for want of memory perhaps: "
            "run the command again, it goes on from here; --workers 1 takes less memory"
        ) from error
    except Exception as error:  # one bad cell must not cost a night's run
        failures.append(f"{job}: {' '.join(str(error).split()) or type(error).__name__}")


def do_job(job: Job, records: Path, at_once: int) -> float:
    """Fills one cell and returns the seconds it took."""
    start = time.perf_counter()
    bench = _bench(job.source, replace(job.panel, bits=()), records, at_once)
    if job.look:
        make_look(bench, job.cell, job.look)
    else:
        bench.record_of(job.cell)
    return time.perf_counter() - start


@lru_cache(maxsize=1)
def _bench(source: Source, panel: Panel, records: Path, at_once: int) -> Bench:
    return bench_of(_opened(source), panel, records, at_once)


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
