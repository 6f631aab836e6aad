"""Many codes of at most 48 bits in the order of their first 16, which are then not stored: 4 bytes a code instead of 8.

One core reads memory more slowly than it compares codes, so what is not read is gained. A search also leaves out the
buckets whose 16 bits alone are too far away, and a billion codes are mostly left out. Answers are exact, by
(distance, number); this needs the kernel.
"""

import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import Packed
from drlh.hamming import engine
from drlh.hamming.engine import in_threads, settings, split
from drlh.hamming.scan import rows_within

SMALLEST = 1 << 21  # codes; fewer are compared as fast in whole
N_BUCKETS = 1 << 16
_BLOCK = 1 << 22  # codes whose neighbours within a radius are held at a time

Starts = NDArray[np.int64]  # (N_BUCKETS + 1,) where each bucket begins


def worth_it(codes: Packed) -> bool:
    """Whether codes (n, width) are many and have at most 48 bits in 8 bytes, and the kernel is there."""
    return settings.level is not None and codes.shape[1] == 8 and len(codes) >= SMALLEST and not codes[:, 6:].any()


def into_buckets(codes: Packed) -> tuple[NDArray[np.int64], Packed, Starts]:
    """(order, rest, starts) of codes (n, 8): rest[i] is what is left of codes[order[i]], (n, 4)."""
    first = codes.view("<u2")[:, 0]
    order = np.argsort(first, kind="stable")
    rest = np.ascontiguousarray(codes[:, 2:6])[order]
    starts = np.concatenate([[0], np.cumsum(np.bincount(first, minlength=N_BUCKETS))])
    return order, rest, starts.astype(np.int64)


def whole_codes(rest: Packed, starts: Starts, rows: NDArray[np.int64]) -> Packed:
    """The codes (n, 8) of `rows`."""
    codes = np.zeros((len(rows), 8), np.uint8)
    if len(rows) < len(rest) // 16:
        codes.view("<u2")[:, 0] = np.searchsorted(starts, rows, side="right") - 1
    else:
        codes.view("<u2")[:, 0] = np.repeat(np.arange(N_BUCKETS, dtype=np.uint16), np.diff(starts))[rows]
    codes[:, 2:6] = rest[rows]
    return codes


def nearest_in_buckets(
    queries: Packed, rest: Packed, starts: Starts, numbers: NDArray[np.uint32], k: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(distances, numbers) of the k nearest by (distance, number), each (n_queries, k); queries are (n_queries, 8).

    Many queries are shared out among threads, and for few of them the buckets.
    """
    assert settings.level is not None
    level = settings.level

    def scan(some: Packed, first: int, step: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        distances, found = np.empty((len(some), k), np.int64), np.empty((len(some), k), np.int64)
        engine.kernel.nearest_in_buckets(level, some, rest, starts, numbers, first, step, k, distances, found)
        return distances, found

    n_comparisons = len(queries) * len(rest)
    pieces = split(len(rest), n_comparisons)
    if len(queries) >= len(pieces):
        blocks = in_threads(lambda piece: scan(queries[piece], 0, 1), split(len(queries), n_comparisons))
        return np.concatenate([block[0] for block in blocks]), np.concatenate([block[1] for block in blocks])
    turns = [slice(turn, len(pieces)) for turn in range(len(pieces))]
    parts = in_threads(lambda turn: scan(queries, turn.start, turn.stop), turns)
    distances, found = (np.concatenate(column, axis=1) for column in zip(*parts, strict=True))
    # A thread that found less than k in its buckets ends its list with -1; together they have k.
    order = np.lexsort((found, np.where(found < 0, np.iinfo(np.int64).max, distances)), axis=1)[:, :k]
    return np.take_along_axis(distances, order, axis=1), np.take_along_axis(found, order, axis=1)


def rows_within_buckets(
    query: Packed, rest: Packed, starts: Starts, radius: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(distances, rows) of all codes within `radius` of one query (1, 8), rows ascending.

    The rest of a code is no farther away than all of it, so what is within the radius is among what its rest is.
    """
    apart = np.bitwise_count(np.arange(N_BUCKETS, dtype=np.uint16) ^ query.view("<u2")[0, 0]).astype(np.int64)
    found = []
    for start in range(0, len(rest), _BLOCK):
        _, distances, rows = rows_within(np.ascontiguousarray(query[:, 2:6]), rest[start : start + _BLOCK], radius)
        distances += apart[np.searchsorted(starts, rows + start, side="right") - 1]
        kept = distances <= radius
        found.append((distances[kept], rows[kept] + start))
    distances, rows = (np.concatenate(column) for column in zip(*found, strict=True))
    return distances, rows
