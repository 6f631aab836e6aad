"""Which pairs of images the codes are judged on, and what one more bit does to a pair's loss."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int32]  # millions of them: four bytes are enough
Keys = NDArray[np.int64]
Weights = NDArray[np.int64]


@dataclass(frozen=True)
class Pairs:
    """Unordered pairs of training rows, each once, `first < second`; `similar` when the two share a label."""

    first: Rows
    second: Rows
    similar: NDArray[np.bool_]


def draw_pairs(labels: NDArray[Any], n_each: int, rng: np.random.Generator) -> Pairs:
    """For every row about `n_each` similar and `n_each` dissimilar partners; all of them where there are fewer.

    So the number of pairs grows with the rows and not with their square, and the two kinds stay in balance.
    """
    kinds, groups = _groups(labels)
    n = len(groups)
    keys: dict[bool, list[Keys]] = {True: [], False: []}
    for group, kind in enumerate(kinds):
        rows = np.flatnonzero(groups == group)
        related = (kinds @ kind > 0)[groups]
        for similar in (True, False):
            keys[similar].append(_draw(rows, np.flatnonzero(related == similar), n_each, n, rng))
    chosen = {similar: np.unique(np.concatenate(parts)) for similar, parts in keys.items()}
    key = np.concatenate([chosen[True], chosen[False]])
    first, second = (key // n).astype(np.int32), (key % n).astype(np.int32)
    return Pairs(first, second, np.arange(len(key)) < len(chosen[True]))


def _groups(labels: NDArray[Any]) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
    """Rows with equal labels as one group: the groups' labels as multi-hot, and the group of each row."""
    if labels.ndim == 1:
        kinds, groups = np.unique(labels, return_inverse=True)
        return np.eye(len(kinds), dtype=np.float32), groups
    kinds, groups = np.unique(labels, axis=0, return_inverse=True)
    return kinds.astype(np.float32), groups.ravel()


def _draw(rows: NDArray[np.intp], pool: NDArray[np.intp], n_each: int, n: int, rng: np.random.Generator) -> Keys:
    """Pairs of `rows` with members of `pool`, as numbers `smaller * n + larger`."""
    if len(pool) <= n_each:
        partners = np.broadcast_to(pool, (len(rows), len(pool)))
    else:
        partners = pool[rng.integers(0, len(pool), (len(rows), n_each))]
    first = np.repeat(rows, partners.shape[1])
    second = partners.ravel()
    differ = first != second
    keys = np.minimum(first, second) * n + np.maximum(first, second)
    return np.asarray(keys[differ])


def pair_losses(similar: NDArray[np.bool_], distances: NDArray[np.integer[Any]], n_bits: int) -> NDArray[np.float64]:
    """(d / n_bits)^2 of similar pairs at Hamming distance d, max(0, 1/2 - d / n_bits)^2 of the others."""
    shares = distances / n_bits
    return np.square(np.where(similar, shares, np.maximum(0.5 - shares, 0)))


def pair_weights(similar: NDArray[np.bool_], distances: NDArray[np.integer[Any]], n_bits: int) -> Weights:
    """Loss with equal bits minus loss with different bits, given the `distances` over the bits before.

    Times 4 n_bits^2, which makes every weight a whole number, so that cuts are exact.
    """
    d = distances.astype(np.int64)
    short = np.maximum(n_bits - 2 * d, 0)
    return np.where(similar, -4 * (2 * d + 1), short**2 - np.maximum(short - 2, 0) ** 2)
