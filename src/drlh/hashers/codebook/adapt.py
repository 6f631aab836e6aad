"""Codebook adaptation: codewords of classes that are often confused move nearer.

Equidistant codewords say that a cat is as far from a dog as from a ship. The agent's own class probabilities say
otherwise, and a ranking gains when a doubtful cat lies between the two. So codewords are moved, bit by bit, until their
agreements match a target made from how often the agent takes one class for another.
"""

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


def agreement_target(confusion: Matrix, *, strength: float, separation: float) -> Matrix:
    """(C, C): the agreement s_c . s_c' / b wanted of each two codewords, 1 on the diagonal.

    `confusion` is the mean of p p^T over images. Off the diagonal the mean is -`separation` / (C - 1), the most that
    many codewords can be apart being -1 / (C - 1); the most confused pair is `strength` above it.
    """
    n_classes = len(confusion)
    scale = np.sqrt(confusion.diagonal())
    closeness = np.sqrt(confusion / np.outer(scale, scale))
    off = ~np.eye(n_classes, dtype=bool)
    closeness = closeness - closeness[off].mean()
    target = strength * closeness / max(closeness[off].max(), 1e-6) - separation / (n_classes - 1)
    target = np.clip(target, -1, 0.8)
    np.fill_diagonal(target, 1)
    return np.asarray(target)


def move_codewords(
    signs: Matrix, target: Matrix, rng: np.random.Generator, *, n_starts: int = 6, n_sweeps: int = 30
) -> Matrix:
    """(C, b) signs whose agreements come near `target`: flips that lower the squared error, from several starts."""
    best, least = signs, np.inf
    for start in range(n_starts):
        begin = signs if start == 0 else np.where(rng.random(signs.shape) < 0.1, -signs, signs)
        moved = _descend(begin.copy(), target, rng, n_sweeps)
        error = float(np.square(moved @ moved.T / signs.shape[1] - target).sum())
        if error < least - 1e-12:
            best, least = moved, error
    return best


def _descend(signs: Matrix, target: Matrix, rng: np.random.Generator, n_sweeps: int) -> Matrix:
    n_classes, n_bits = signs.shape
    for _ in range(n_sweeps):
        changed = False
        for row in rng.permutation(n_classes):
            error = signs @ signs[row] / n_bits - target[row]
            for bit in rng.permutation(n_bits):
                change = -2 * signs[row, bit] * signs[:, bit] / n_bits
                change[row] = 0
                if change @ (change + 2 * error) < -1e-12:
                    signs[row, bit] *= -1
                    error += change
                    changed = True
        if not changed:
            break
    return signs
