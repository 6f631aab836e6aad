"""An approximate search over the codes of a segment, on request: faiss's inverted lists (ivf) or graph (hnsw).

Codes that repeat are few when distinct, and scanning them is exact and fast; this is for tens of millions that do not.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import Packed
from drlh.hamming.scan import nearest_rows

METHODS = ("ivf", "hnsw")
SMALLEST = 10_000  # codes; fewer are scanned as fast
_SAMPLED = 40  # codes a list for training
_ROUNDS = 5  # of k-means
_PROBED = 16  # lists a search looks into
_KEPT_IN_SIGHT = 256  # nodes of the graph


class Approximate:
    """A faiss index over the rows of `codes`; `stored` is what goes into a file."""

    def __init__(self, stored: NDArray[np.uint8]) -> None:
        import faiss

        self.stored = stored
        self._index: Any = faiss.deserialize_index_binary(np.ascontiguousarray(stored))
        _set_reach(self._index)

    def nearest_rows(self, queries: Packed, codes: Packed, k: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Approximately what the scan returns; exactly that where faiss met fewer than k codes."""
        found, rows = self._index.search(queries, k)
        distances: NDArray[np.int64] = found.astype(np.int64)
        short = (rows < 0).any(axis=1)
        if short.any():
            distances[short], rows[short] = nearest_rows(queries[short], codes, k)
        return distances, rows


def _set_reach(index: Any) -> None:
    if hasattr(index, "nprobe"):
        index.nprobe = _PROBED
    else:
        index.hnsw.efSearch = _KEPT_IN_SIGHT


def build_approximate(codes: Packed, method: str) -> Approximate:
    import faiss

    made = _lists(faiss, codes) if method == "ivf" else _graph(faiss, codes)
    return Approximate(faiss.serialize_index_binary(made))


def _lists(faiss: Any, codes: Packed) -> Any:
    n_lists = max(1, int(len(codes) ** 0.5))
    quantizer = faiss.IndexBinaryFlat(8 * codes.shape[1])
    index = faiss.IndexBinaryIVF(quantizer, 8 * codes.shape[1], n_lists)
    index.cp.niter = _ROUNDS
    sample = np.random.default_rng(0).choice(len(codes), min(len(codes), _SAMPLED * n_lists), replace=False)
    index.train(np.ascontiguousarray(codes[np.sort(sample)]))
    index.add(codes)
    return index


def _graph(faiss: Any, codes: Packed) -> Any:
    index = faiss.IndexBinaryHNSW(8 * codes.shape[1], 16)
    index.hnsw.efConstruction = 80
    index.add(codes)
    return index
