"""One exact query over 10⁹ random 48-bit codes in mapped files of 8 GB: cold and warm, one thread and two, k = 100.

    python benchmarks/search_billion.py [--n 1e9] [--directory /tmp] [--layouts buckets,rows] [--json]

Two layouts are made one after the other, and deleted again. *Rows*: 8 bytes a code in the order of the ids. *Buckets*,
the layout of an index: codes in the order of their first 16 bits, 4 bytes for the other 32, and 4 bytes for the id.
Cold means that the files were just dropped from the system's cache, so that the disk decides. Answers are compared with
a plain numpy scan of the same file.
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import Packed
from drlh.hamming.buckets import N_BUCKETS, nearest_in_buckets
from drlh.hamming.engine import current, using
from drlh.hamming.scan import nearest_rows

K = 100
_CHUNK = 20_000_000
_WARM = 5  # queries
_STRIDE = 961_748_941  # a prime: multiples of it, modulo n, are ids in no order

Answer = tuple[NDArray[np.int64], NDArray[np.int64]]
Words = NDArray[np.uint64]


def chunks(n: int) -> Iterator[slice]:
    return (slice(start, min(start + _CHUNK, n)) for start in range(0, n, _CHUNK))


def write_random(path: Path, n: int, width: int, n_random: int, seed: int) -> None:
    """n rows of `width` bytes, the first `n_random` of each random."""
    rng = np.random.default_rng(seed)
    with open(path, "wb") as file:
        for part in chunks(n):
            rows = np.zeros((part.stop - part.start, width), np.uint8)
            rows[:, :n_random] = rng.integers(0, 256, (len(rows), n_random), np.uint8)
            file.write(rows.data)
        file.flush()
        os.fsync(file.fileno())


def mapped(path: Path, kind: Any, *shape: int) -> NDArray[Any]:
    return np.memmap(path, kind, "r", shape=shape)


def drop_from_cache(paths: list[Path]) -> None:
    for path in paths:
        with open(path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class Rows:
    name = "rows"

    def __init__(self, directory: Path, n: int) -> None:
        self.paths = [directory / "codes"]
        write_random(self.paths[0], n, 8, 6, 0)
        self.codes = mapped(self.paths[0], np.uint8, n, 8)

    def search(self, query: Packed) -> Answer:
        return nearest_rows(query, self.codes, K)

    def words(self, part: slice) -> tuple[Words, NDArray[np.int64]]:
        """Whole codes as words, and their ids."""
        return self.codes[part].view("<u8")[:, 0], np.arange(part.start, part.stop)


class Buckets:
    name = "buckets"

    def __init__(self, directory: Path, n: int) -> None:
        self.paths = [directory / "rest", directory / "ids"]
        write_random(self.paths[0], n, 4, 4, 1)
        sizes = np.random.default_rng(2).multinomial(n, np.full(N_BUCKETS, 1 / N_BUCKETS))
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        with open(self.paths[1], "wb") as file:
            for part in chunks(n):
                file.write((np.arange(part.start, part.stop) * _STRIDE % n).astype(np.uint32).data)
            file.flush()
            os.fsync(file.fileno())
        self.rest, self.ids = mapped(self.paths[0], np.uint8, n, 4), mapped(self.paths[1], np.uint32, n)

    def search(self, query: Packed) -> Answer:
        return nearest_in_buckets(query, self.rest, self.starts, self.ids, K)

    def words(self, part: slice) -> tuple[Words, NDArray[np.int64]]:
        first = np.searchsorted(self.starts, np.arange(part.start, part.stop), side="right") - 1
        rest = self.rest[part].view("<u4")[:, 0].astype(np.uint64)
        return rest << np.uint64(16) | first.astype(np.uint64), self.ids[part].astype(np.int64)


def plain_answer(layout: Rows | Buckets, n: int, query: Packed) -> Answer:
    """The k nearest by a scan with numpy."""
    best = np.empty((0, 2), np.int64)
    for part in chunks(n):
        words, ids = layout.words(part)
        distances = np.bitwise_count(words ^ query.view("<u8")[0, 0]).astype(np.int64)
        near = distances <= (best[-1, 0] if len(best) == K else 48)
        found = np.vstack([best, np.stack([distances[near], ids[near]], axis=1)])
        best = found[np.lexsort((found[:, 1], found[:, 0]))[:K]]
    return best[None, :, 0], best[None, :, 1]


def seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def measure(layout: Rows | Buckets, n: int) -> dict[str, Any]:
    queries = np.zeros((_WARM, 8), np.uint8)
    queries[:, :6] = np.random.default_rng(3).integers(0, 256, (_WARM, 6), np.uint8)
    drop_from_cache(layout.paths)
    record: dict[str, Any] = {"layout": layout.name, "n": n, "engine": current()}
    with using(threads=1):
        record["cold"] = seconds(lambda: layout.search(queries[:1]))
    truth = plain_answer(layout, n, queries[:1])  # reads everything: warm from here on
    for threads in (1, 2):
        with using(threads=threads):
            found = layout.search(queries[:1])
            same = all(bool((ours == theirs).all()) for ours, theirs in zip(found, truth, strict=True))
            times = [seconds(lambda row=row: layout.search(queries[row : row + 1])) for row in range(_WARM)]  # type: ignore[misc]
            record[f"warm, {threads} threads"] = statistics.median(times)
            record["identical"] = record.get("identical", True) and same
    return record


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=float, default=1e9)
    parser.add_argument("--directory", type=Path, help="with room for 8 GB (default: the system's)")
    parser.add_argument("--layouts", default="buckets,rows", help="with a comma between them")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    records = []
    for kind in (kind for kind in (Buckets, Rows) if kind.name in given.layouts.split(",")):
        with tempfile.TemporaryDirectory(dir=given.directory) as directory:
            records.append(measure(kind(Path(directory), int(given.n)), int(given.n)))
    if given.json:
        print(json.dumps(records, indent=1))
        return
    print("layout       codes  engine    cold s  warm, 1 thread  2 threads  same answers")
    for r in records:
        print(
            f"{r['layout']:<9}{r['n']:>9.0e}{r['engine']:>8}{r['cold']:>10.2f}{r['warm, 1 threads']:>16.3f}"
            f"{r['warm, 2 threads']:>11.3f}  {'yes' if r['identical'] else 'NO'}"
        )


if __name__ == "__main__":
    main()
