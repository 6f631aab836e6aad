"""Distinct codes, each with the list of its numbers: the nearest numbers, exactly; this needs the kernel."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import Packed
from drlh.hamming import engine
from drlh.hamming.engine import in_threads, settings, split


def nearest_in_lists(
    queries: Packed, distinct: Packed, ends: NDArray[np.int64], numbers: NDArray[Any], k: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(distances, numbers) of the k nearest by (distance, number), each (n_queries, k).

    Parameters
    ----------
    queries, distinct : uint8 arrays, shapes (n_queries, width) and (u, width)
        Packed codes; the distinct ones in the order of their first numbers.
    ends : int64 array, shape (u,)
        Where the list of each distinct code ends in `numbers`.
    numbers : uint32 or int64 array, shape (n,)
        List after list, each ascending.
    k : int
        Number of neighbours, at most n.
    """
    assert settings.level is not None
    level = settings.level
    distances, found = np.empty((len(queries), k), np.int64), np.empty((len(queries), k), np.int64)

    def fill(piece: slice) -> None:
        engine.kernel.nearest_in_lists(
            level,
            queries[piece],
            distinct,
            distinct.shape[1],
            ends,
            numbers,
            numbers.itemsize,
            k,
            distances[piece],
            found[piece],
        )

    if k and len(queries):
        in_threads(fill, split(len(queries), len(queries) * len(distinct)))
    return distances, found
