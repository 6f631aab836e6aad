"""Distances between relaxed codes, differentiable."""

from torch import Tensor


def soft_hamming(left: Tensor, right: Tensor) -> Tensor:
    """(n, m) Hamming distances of relaxed signs in [-1, 1], (n, n_bits) and (m, n_bits): exact at -1 and +1."""
    distances: Tensor = (left.shape[1] - left @ right.T) / 2
    return distances


def squared_distances(left: Tensor, right: Tensor) -> Tensor:
    """(n, m) squared Euclidean distances of (n, d) and (m, d)."""
    lengths = left.square().sum(dim=1)[:, None] + right.square().sum(dim=1)[None]
    return (lengths - 2 * left @ right.T).clamp(min=0)
