"""Exact scans over codes, in memory or mapped from a file, by faiss.

faiss is fast on a few widths only, so codes are padded with zero bits, which change no distance.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import Packed

_FAST_WIDTHS = (4, 8, 16, 32, 64)
_QUERIES = 32  # searched together: their counts stay in the cache
_PLACES = 32 << 20  # bytes for counts
_LITTLE = 4_000_000  # comparisons, a few milliseconds


def pad(packed: Packed) -> Packed:
    """Packed codes (n, bytes) padded to the next width with a fast path, past 64 bytes to a multiple of 8.

    No copy where they have that width.
    """
    wanted = packed.shape[1]
    width = next((width for width in _FAST_WIDTHS if width >= wanted), (wanted + 7) // 8 * 8)
    if wanted == width:
        return np.ascontiguousarray(packed)
    padded = np.zeros((len(packed), width), np.uint8)
    padded[:, :wanted] = packed
    return padded


def nearest_rows(queries: Packed, codes: Packed, k: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """(distances, rows) of the k nearest of `codes`, (n_queries, k) each, by (distance, row); k is at most len(codes).

    faiss's counting search keeps the first k rows of each distance in the order in which it meets them, which is what
    ties by row ask for. It needs k places a distance; where that is too much its heap, ordered alike, takes over.
    """
    import faiss

    places = 8 * (8 * codes.shape[1] + 1) * k
    step = max(1, min(_QUERIES, _PLACES // places))
    variant = "mc" if places <= _PLACES else "hc"
    with _threads(len(queries) * len(codes)):
        blocks = [
            faiss.knn_hamming(queries[start : start + step], codes, k, variant=variant)
            for start in range(0, len(queries), step)
        ]
    if len(blocks) == 1:
        return blocks[0]
    return np.concatenate([block[0] for block in blocks]), np.concatenate([block[1] for block in blocks])


@contextmanager
def _threads(n_comparisons: int) -> Iterator[None]:
    """One thread for little work: threads that wait for one another on a busy machine take longer than it does."""
    import faiss

    before = faiss.omp_get_max_threads()  # of this thread alone, as the setting is
    if n_comparisons < _LITTLE:
        faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def rows_within(
    queries: Packed, codes: Packed, radius: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """(bounds, distances, rows) of all codes within `radius`: query i has the entries bounds[i] to bounds[i + 1]."""
    import faiss

    result = faiss.RangeSearchResult(len(queries))
    with _threads(len(queries) * len(codes)):
        faiss.hamming_range_search(  # type: ignore[attr-defined]
            faiss.swig_ptr(queries),
            faiss.swig_ptr(codes),
            len(queries),
            len(codes),
            radius + 1,  # faiss takes what is nearer than its radius
            codes.shape[1],
            result,
        )
    bounds = faiss.rev_swig_ptr(result.lims, len(queries) + 1).astype(np.int64)
    n_found = int(bounds[-1])
    distances = faiss.rev_swig_ptr(result.distances, n_found).astype(np.int32)
    return bounds, distances, faiss.rev_swig_ptr(result.labels, n_found).copy()
