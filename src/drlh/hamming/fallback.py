"""The same scans by faiss, for machines on which the kernel could not be compiled."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import Packed, hamming_distances

Numbers = NDArray[np.int64]

_QUERIES = 32  # searched together: their counts stay in the cache
_PLACES = 32 << 20  # bytes for counts
_LITTLE = 4_000_000  # comparisons, a few milliseconds


def nearest_rows(queries: Packed, codes: Packed, k: int) -> tuple[Numbers, Numbers]:
    """(distances, rows) of the k nearest, by (distance, row).

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
    distances, rows = (np.concatenate(column) for column in zip(*blocks, strict=True))
    return distances.astype(np.int64), rows


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


def rows_within(queries: Packed, codes: Packed, radius: int) -> tuple[Numbers, Numbers, Numbers]:
    """(bounds, distances, rows) of all codes within `radius`."""
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
    distances = faiss.rev_swig_ptr(result.distances, n_found).astype(np.int64)
    return bounds, distances, faiss.rev_swig_ptr(result.labels, n_found).copy()


def nearest_by_two_keys(
    queries: Packed, codes: Packed, query_details: Packed, details: Packed, k: int
) -> tuple[Numbers, Numbers, Numbers]:
    """By (distance, distance of details, row): all codes as near as the k-th, sorted."""
    found: list[tuple[Numbers, Numbers, Numbers]] = []
    for query, detail in zip(queries[:, None], query_details[:, None], strict=True):
        radius = int(nearest_rows(query, codes, k)[0][0, -1])
        _, distances, rows = rows_within(query, codes, radius)
        apart = hamming_distances(detail, details[rows])[0].astype(np.int64)
        order = np.lexsort((rows, apart, distances))[:k]
        found.append((distances[order], apart[order], rows[order]))
    distances, apart, rows = (np.stack(column) for column in zip(*found, strict=True))
    return distances, apart, rows
