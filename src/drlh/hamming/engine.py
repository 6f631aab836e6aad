"""Who compares codes: the kernel, at the highest level the processor has, or faiss where the kernel was not compiled.

Both give the same answers. `DRLH_KERNEL` chooses another one (`faiss`, `plain`, `avx2`, …) and `OMP_NUM_THREADS` the
number of threads.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from drlh.core.errors import UserError

try:
    from drlh.hamming import _kernel

    kernel, LEVELS = _kernel, _kernel.levels()
except ImportError:  # no compiler was there when drlh was installed
    LEVELS = {}

FALLBACK = "faiss"
_LITTLE = 4_000_000  # comparisons of a thread; starting it takes about as long as these

Result = TypeVar("Result")


@dataclass
class Settings:
    """`level` is the kernel's, None for faiss."""

    level: int | None
    threads: int


def engines() -> tuple[str, ...]:
    """Names of what can compare codes here, slowest first."""
    return (FALLBACK, *LEVELS)


def _level(name: str) -> int | None:
    if name not in engines():
        raise UserError(f"DRLH_KERNEL must be one of {', '.join(engines())} on this machine: got {name!r}")
    return LEVELS.get(name)


def _threads() -> int:
    given = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    if given.isdecimal() and int(given):
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


settings = Settings(_level(os.environ.get("DRLH_KERNEL") or engines()[-1]), _threads())


def current() -> str:
    """The name of what compares codes now."""
    return next((name for name, number in LEVELS.items() if number == settings.level), FALLBACK)


def description() -> str:
    """One line about it for people."""
    if not LEVELS:
        return "codes are compared by faiss: the kernel was not compiled, for want of a C compiler or Python's headers"
    return "codes are compared by faiss" if settings.level is None else f"codes are compared by the kernel, {current()}"


@contextmanager
def using(name: str | None = None, *, threads: int | None = None) -> Iterator[None]:
    """Another engine or number of threads for a while, in the whole process."""
    before = settings.level, settings.threads
    try:
        if name is not None:
            settings.level = _level(name)
        settings.threads = threads or settings.threads
        yield
    finally:
        settings.level, settings.threads = before


def split(n: int, n_comparisons: int) -> list[slice]:
    """`n` things cut into one piece for each thread, or for fewer where there is little to do."""
    pieces = min(settings.threads, n, n_comparisons // _LITTLE)
    if pieces <= 1:
        return [slice(0, n)]
    cuts = [n * piece // pieces for piece in range(pieces + 1)]
    return [slice(start, stop) for start, stop in pairwise(cuts)]


def in_threads(work: Callable[[slice], Result], pieces: Sequence[slice]) -> list[Result]:
    """`work` on every piece at once. The threads live for this call alone: a process may fork between two."""
    if len(pieces) == 1:
        return [work(pieces[0])]
    with ThreadPoolExecutor(len(pieces), "drlh-scan") as pool:
        return list(pool.map(work, pieces))
