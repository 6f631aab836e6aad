"""The recall of an approximate index: measured, never promised."""

import time
from typing import Any

import numpy as np

from drlh.core.codes import Packed
from drlh.index.base import Index

_QUERIES = 100


def measure_recall(index: Index, packed: Packed, k: int = 100, seed: int = 0) -> dict[str, Any]:
    """Queries drawn from `packed`; a hit counts when it is as near as the k-th nearest, whichever of a tie it is."""
    rows = np.random.default_rng(seed).choice(len(packed), min(_QUERIES, len(packed)), replace=False)
    queries = packed[np.sort(rows)]
    begun = time.perf_counter()
    nearly, _ = index.search(queries, k)
    between = time.perf_counter()
    exactly, _ = index.search(queries, k, exact=True)
    ended = time.perf_counter()
    found = (nearly <= exactly[:, -1:]).sum() / exactly.size if exactly.size else 1.0
    return {
        "k": k,
        "recall": round(float(found), 4),
        "queries_per_second": round(len(queries) / (between - begun)),
        "exact_queries_per_second": round(len(queries) / (ended - between)),
    }
