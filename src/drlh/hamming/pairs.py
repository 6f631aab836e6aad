"""All pairs of codes within a radius, for finding duplicates: in blocks, so that memory stays bounded."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import Packed
from drlh.core.errors import UserError
from drlh.hamming.scan import some_within

_MOST_ROWS = 4096  # compared with all later ones at once


class Pairs(NamedTuple):
    """Pairs of rows, `first` < `second`, by (first, second); each (n_pairs,)."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    distances: NDArray[np.int64]


def pairs_within(codes: Packed, radius: int, *, max_pairs: int = 4_000_000) -> Iterator[Pairs]:
    """Yields every pair of rows of `codes` (n, width) at most `radius` apart, exactly, block by block.

    Parameters
    ----------
    codes : uint8 array, shape (n, width)
        Packed codes, in memory or mapped; `pad` brings them to a fast width.
    radius : int
        Largest distance that counts.
    max_pairs : int
        Number of pairs held at a time; more only where a single row has more.
    """
    if radius < 0:
        raise UserError(f"radius must be at least 0: got {radius}")
    start, n_rows = 0, _MOST_ROWS
    while start < len(codes) - 1:
        stop = min(start + n_rows, len(codes))
        found = some_within(codes[start:stop], codes[start:], radius, max_pairs if n_rows > 1 else len(codes))
        if found is None:  # too many: fewer rows
            n_rows = max(1, n_rows // 4)
            continue
        yield _upper_half(*found, start)
        start, n_rows = stop, min(2 * n_rows, _MOST_ROWS)


def _upper_half(bounds: NDArray[np.int64], distances: NDArray[np.int64], rows: NDArray[np.int64], start: int) -> Pairs:
    """Without each row itself, and without pairs that an earlier row has had."""
    first = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    kept = rows > first
    return Pairs(first[kept] + start, rows[kept] + start, distances[kept])
