"""The bars of exact search: ratios to faiss's IndexBinaryFlat in one run, one thread, k = 100, answers compared.

`search_speed.py` prints them where it gets no file of codes.

Our index lies in a directory and is mapped; faiss holds the codes in memory. The two take turns, so that a busy machine
slows both; a ratio is the median over the rounds. Codes are uniformly random, and in the rows that say so they repeat
as learned ones do: 14,642 distinct ones, the i-th of them 1/i as frequent as the first.
"""

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"  # read by faiss when it loads

import faiss
import numpy as np

from drlh.core.codes import Packed
from drlh.evaluate.metrics import mean_average_precision
from drlh.hamming.engine import LEVELS, current, engines, using
from drlh.hamming.scan import pad
from drlh.index.local.index import LocalIndex

K = 100
_DISTINCT = 14_642


@dataclass(frozen=True)
class Bar:
    """`ours` and `peer` are queries a second, or runs a second for metrics; `wanted` is the bar, where there is one."""

    what: str
    engine: str
    ours: float
    peer: float
    ratio: float
    wanted: float | None
    identical: bool


def rate(n: int, work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return n / (time.perf_counter() - begun)


def take_turns(ours: Callable[[], float], peer: Callable[[], float], rounds: int) -> tuple[float, float, float]:
    """Medians of both and of their ratio."""
    runs = [(ours(), peer()) for _ in range(rounds)]
    return (
        statistics.median(run[0] for run in runs),
        statistics.median(run[1] for run in runs),
        statistics.median(run[0] / run[1] for run in runs),
    )


def random_codes(n: int, n_bits: int, seed: int) -> Packed:
    return np.random.default_rng(seed).integers(0, 256, (n, n_bits // 8), np.uint8)


def repeated_codes(n: int, n_bits: int, seed: int) -> Packed:
    shares = 1 / np.arange(1, _DISTINCT + 1)
    drawn = np.random.default_rng(seed).choice(_DISTINCT, n, p=shares / shares.sum())
    return random_codes(_DISTINCT, n_bits, 99)[drawn]


class Pair:
    """The same codes in our index and in faiss's."""

    def __init__(self, packed: Packed, queries: Packed, directory: Path) -> None:
        n_bits = 8 * packed.shape[1]
        with LocalIndex.create(directory, n_bits) as index:
            index.add(packed, np.arange(len(packed)))
        self.index = LocalIndex.open(directory)
        self.queries, self.padded = queries, pad(queries)
        self.peer: Any = faiss.IndexBinaryFlat(8 * self.padded.shape[1])
        self.peer.add(pad(packed))

    def identical(self) -> bool:
        """Of many queries and of one."""
        k = min(K, len(self.index))
        distances, ids = self.peer.search(self.padded, k)
        together, alone = self.index.search(self.queries, k), self.index.search(self.queries[:1], k)
        same = (distances == together[0]).all() and (ids == together[1]).all()
        return bool(same and (distances[:1] == alone[0]).all() and (ids[:1] == alone[1]).all())

    def one_by_one(self, n: int, rounds: int) -> tuple[float, float, float]:
        rows = [slice(row % len(self.queries), row % len(self.queries) + 1) for row in range(n)]
        ours, padded = [self.queries[row] for row in rows], [self.padded[row] for row in rows]
        return take_turns(
            lambda: rate(n, lambda: [self.index.search(query, K) for query in ours]),
            lambda: rate(n, lambda: [self.peer.search(query, K) for query in padded]),
            rounds,
        )

    def together(self, rounds: int) -> tuple[float, float, float]:
        n = len(self.queries)
        return take_turns(
            lambda: rate(n, lambda: self.index.search(self.queries, K)),
            lambda: rate(n, lambda: self.peer.search(self.padded, K)),
            rounds,
        )

    def two_threads(self, rounds: int) -> tuple[float, float, float]:
        """A larger batch with two threads, and with one."""
        many = np.tile(self.queries, (8, 1))

        def trial(threads: int) -> float:
            with using(threads=threads):
                return rate(len(many), lambda: self.index.search(many, K))

        return take_turns(lambda: trial(2), lambda: trial(1), rounds)


def large(n: int, n_bits: int, wanted: dict[str, tuple[float, float]], rounds: int, threads: bool) -> list[Bar]:
    """`wanted` are the bars one by one and 64 at once of each engine."""
    found = []
    with tempfile.TemporaryDirectory() as directory:
        pair = Pair(random_codes(n, n_bits, 0), random_codes(64, n_bits, 1), Path(directory))
        for engine, (alone, together) in wanted.items():
            if engine not in engines():
                continue
            with using(engine):
                same, what = pair.identical(), f"{n:.0e} codes of {n_bits} bits"
                found.append(Bar(f"{what}, one by one", engine, *pair.one_by_one(10, rounds), alone, same))
                found.append(Bar(f"{what}, 64 at once", engine, *pair.together(rounds), together, same))
        if threads:
            found.append(Bar("two threads against one, batch", current(), *pair.two_threads(rounds), 1.8, True))
    return found


def small(rounds: int) -> list[Bar]:
    found = []
    for n in (1_000, 10_000):
        for kind, draw in (("", random_codes), (", repeated", repeated_codes)):
            with tempfile.TemporaryDirectory() as directory:
                pair = Pair(draw(n, 48, 0), draw(64, 48, 1), Path(directory))
                what = f"{n:.0e} codes of 48 bits{kind}, one by one"
                found.append(Bar(what, current(), *pair.one_by_one(1000, rounds), 1.0, pair.identical()))
    return found


def repeated(n: int, rounds: int) -> list[Bar]:
    with tempfile.TemporaryDirectory() as directory:
        pair = Pair(repeated_codes(n, 48, 0), repeated_codes(64, 48, 1), Path(directory))
        same, what = pair.identical(), f"{n:.0e} codes of 48 bits, repeated"
        return [
            Bar(f"{what}, one by one", current(), *pair.one_by_one(10, rounds), None, same),
            Bar(f"{what}, 64 at once", current(), *pair.together(rounds), None, same),
        ]


def metrics(rounds: int) -> list[Bar]:
    """Tie-aware mAP by the kernel and, as before there was one, by numpy."""
    rng = np.random.default_rng(0)
    sets: list[Any] = []
    for n in (10_000, 50_000):
        sets += [rng.integers(0, 2, (n, 48), dtype=np.uint8), rng.integers(0, 10, n)]
    values = set()

    def trial(engine: str) -> float:
        with using(engine):
            return rate(1, lambda: values.add(mean_average_precision(*sets)))

    ours, peer, ratio = take_turns(lambda: trial(current()), lambda: trial("faiss"), rounds)
    return [Bar("mAP of 10,000 × 50,000, 48 bits, against numpy", current(), ours, peer, ratio, 2.0, len(values) == 1)]


def table(bars: list[Bar]) -> str:
    lines = [f"{'':<52}{'engine':>8}{'ours':>11}{'peer':>11}{'ratio':>8}{'bar':>6}  same answers"]
    for bar in bars:
        wanted = "" if bar.wanted is None else f"{bar.wanted:g}"
        missed = " NOT REACHED" if bar.wanted is not None and bar.ratio < bar.wanted else ""
        same = "yes" if bar.identical else "NO"
        numbers = f"{bar.ours:>11,.1f}{bar.peer:>11,.1f}{bar.ratio:>8.2f}{wanted:>6}"
        lines.append(f"{bar.what:<52}{bar.engine:>8}{numbers}  {same}{missed}")
    return "\n".join(lines)


def measure_bars(rounds: int, n: int = 10_000_000) -> list[Bar]:
    best = list(LEVELS)[-1] if LEVELS else "faiss"
    bars = large(n, 48, {best: (4.0, 10.0), "avx2": (1.8, 3.0)}, rounds, threads=True)
    bars += large(n, 128, {best: (2.0, 4.0)}, rounds, threads=False)
    return [*bars, *repeated(n, rounds), *small(rounds), *metrics(rounds)]
