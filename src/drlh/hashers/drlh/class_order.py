"""Which codeword goes to which class: similar classes get near codewords.

How similar classes are comes from labels that occur together or from the confusions of a simple classifier.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from drlh.errors import UserError
from drlh.hashers.drlh.codebook import Codebook

Matrix = NDArray[np.float64]

_RESTARTS = 100
_WORK = 10_000_000  # restarts x classes^3 that may be spent: under a second


def similarity_from_labels(labels: ArrayLike) -> Matrix:
    """(C, C) cosine of the label columns of a multi-hot (n, C): 1 for classes that always come together."""
    hot = np.asarray(labels, np.float64)
    if hot.ndim != 2:
        raise UserError(f"co-occurrence needs multi-hot labels (n, n_classes): got shape {hot.shape}")
    together = hot.T @ hot
    size = np.sqrt(np.maximum(np.diag(together), 1))
    return _without_diagonal(together / np.outer(size, size))


def similarity_from_confusions(confusions: ArrayLike) -> Matrix:
    """(C, C) from counts of (true class, guessed class): the mean of both rates of mistaking one for the other."""
    counts = _square(confusions, "confusions")
    rates = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return _without_diagonal((rates + rates.T) / 2)


def order_by_similarity(
    codebook: Codebook, similarity: ArrayLike, *, random_state: int | np.random.Generator | None = 0
) -> Codebook:
    """The same codewords, dealt to the classes so that the sum of similarity * distance is small.

    A quadratic assignment by two-opt, from the given order and from random ones.
    """
    wanted = _square(similarity, "similarity")
    if len(wanted) != codebook.n_classes:
        raise UserError(f"similarity must be ({codebook.n_classes}, {codebook.n_classes}): got {wanted.shape}")
    wanted = _without_diagonal((wanted + wanted.T) / 2)
    distances = codebook.distances.astype(np.float64)
    rng = np.random.default_rng(random_state)
    n_restarts = min(_RESTARTS, _WORK // len(wanted) ** 3)
    starts = [np.arange(len(wanted)), *(rng.permutation(len(wanted)) for _ in range(n_restarts))]
    orders = [_swap_until_best(wanted, distances, start) for start in starts]
    best = min(orders, key=lambda order: float((wanted * distances[np.ix_(order, order)]).sum()))
    return replace(codebook, codewords=codebook.codewords[best])


def _swap_until_best(wanted: Matrix, distances: Matrix, order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Two-opt: each class in turn trades codewords with its best partner, until nobody gains.

    `mixed` = wanted @ distances gives the gain of every trade, and a trade changes it by one outer product.
    """
    order, distances = order.copy(), distances[np.ix_(order, order)]
    smallest = 1e-9 * np.abs(wanted).max() * distances.sum()
    mixed = wanted @ distances
    n_idle, first = 0, 0
    while n_idle < len(order):
        own = mixed.diagonal()
        crossed = mixed[first] + mixed[:, first] + 2 * wanted[first] * distances[first]
        change = crossed - own - own[first]  # half the change of the sum, for every partner
        second = int(change.argmin())
        n_idle += 1
        if change[second] < -smallest:
            swap, swapped = [first, second], [second, first]
            mixed += np.outer(wanted[:, first] - wanted[:, second], distances[second] - distances[first])
            mixed[:, swap] = mixed[:, swapped]
            distances[swap] = distances[swapped]
            distances[:, swap] = distances[:, swapped]
            order[swap] = order[swapped]
            n_idle = 0
        first = (first + 1) % len(order)
    return order


def _square(matrix: ArrayLike, name: str) -> Matrix:
    square = np.asarray(matrix, np.float64)
    if square.ndim != 2 or square.shape[0] != square.shape[1] or not np.isfinite(square).all():
        raise UserError(f"{name} must be a square matrix (classes, classes) of numbers: got shape {square.shape}")
    return square


def _without_diagonal(matrix: Matrix) -> Matrix:
    return matrix * (1 - np.eye(len(matrix)))
