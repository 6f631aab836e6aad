"""Comparing codes the slow, plain way, and drawing codes to compare."""

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.uint8]


def distances(left: Codes, right: Codes) -> NDArray[np.int64]:
    return np.array([[int(np.unpackbits(a ^ b).sum()) for b in right] for a in left], np.int64).reshape(
        len(left), len(right)
    )


def sorted_rows(keys: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """The k lowest of each row of `keys` by (key, place)."""
    return np.argsort(keys, axis=1, kind="stable")[:, :k]


def draw(rng: np.random.Generator, n: int, width: int) -> Codes:
    """Codes at an odd address more often than not; some draws repeat, some are alike, some are anything."""
    kind = int(rng.integers(3))
    start = int(rng.integers(8))
    room = np.empty(start + n * width, np.uint8)
    codes = room[start:].reshape(n, width)
    codes[:] = rng.integers(0, 256, (n, width), np.uint8)
    if kind == 0 and n:
        codes[:] = codes[rng.integers(0, min(n, 3), n)]
    elif kind == 1:
        codes &= rng.integers(0, 256, (n, width), np.uint8) & rng.integers(0, 256, (n, width), np.uint8)
    return codes
