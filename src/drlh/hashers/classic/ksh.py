"""Supervised hashing with kernels: codes whose inner products approximate the similarity matrix."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import csr_array

from drlh.core.progress import Progress
from drlh.hashers.base import Features, RandomState
from drlh.hashers.classic.kernel import KernelHasher


class KSH(KernelHasher):
    """Supervised hashing with kernels.

    **Idea.** The inner product of two codes of -1/+1 should be `n_bits` for similar images and `-n_bits` for
    others. Bits are learned one after the other, each for the residual of the earlier ones. A bit starts
    at the best linear function of the kernel values, an eigenvector, and is refined by accelerated gradient ascent
    with a sigmoid in place of the sign.

    **Reference.** W. Liu, J. Wang, R. Ji, Y.-G. Jiang, S.-F. Chang, Supervised hashing with kernels, CVPR 2012: greedy
    optimization of the residue matrix, by spectral relaxation and then sigmoid smoothing. Constants are those of the
    authors' code; statements about the paper's experiments have not been checked against its text.

    **Differences.** The matrix is never formed: images of the same labels have the same row, so products with it go
    through the distinct sets of labels. The kernel values are whitened first, which does not change the spectral start,
    and gets the gradient ascent further in twenty steps than in five hundred without. A step that would raise the cost
    drops the momentum instead, so the cost falls at every step; a bit ends when a step gains less than 1 % or after 100
    steps (the authors: 500, and a tolerance that depends on the number of images). The kernel's variance is 0.3 times
    the mean squared distance to the anchors (the authors: 1), chosen on a hold-out of training images of CIFAR-10 and
    VOC 2007. Up to 10,000 labelled images are used (the authors: 1,000 to 2,000): of 44,000 images of CIFAR-10, 1,000
    gave far worse codes on a hold-out.

    Parameters
    ----------
    n_bits : int, default=32
        Length of the code.
    n_anchors : int, default=300
        Training images the kernel compares with; all where there are fewer.
    n_labelled : int, default=10000
        Training images whose labels are used, at most, sampled at random.
    bandwidth : float, default=0.3
        Variance of the kernel over the mean squared distance to the anchors.
    n_iterations : int, default=100
        Gradient steps for each bit, at most.
    tolerance : float, default=1e-2
        A bit is finished when a step gains a smaller share of its cost.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the anchors and of the sample of labelled images.

    Attributes
    ----------
    residual_ : ndarray of shape (n_bits + 1,)
        Squared norm of the residual after each bit, over that at the start.
    anchors_, variance_, kernel_mean_, projection_, offset_
        The kernel and the hyperplanes: see `KernelHasher`.
    classes_ : ndarray of shape (n_classes,)
        The class ids, in the order of the label columns.
    n_features_in_ : int
        Number of features.
    """

    def __init__(
        self,
        n_bits: int = 32,
        *,
        n_anchors: int = 300,
        n_labelled: int = 10_000,
        bandwidth: float = 0.3,
        n_iterations: int = 100,
        tolerance: float = 1e-2,
        random_state: RandomState = None,
    ) -> None:
        self.n_bits = n_bits
        self.n_anchors = n_anchors
        self.n_labelled = n_labelled
        self.bandwidth = bandwidth
        self.n_iterations = n_iterations
        self.tolerance = tolerance
        self.random_state = random_state

    def _fit(
        self, features: Features, labels: NDArray[Any] | None, rng: np.random.Generator, progress: Progress
    ) -> None:
        assert labels is not None  # supervised
        self._check_counts("n_anchors", "n_labelled", "n_iterations")
        self._check_positive("bandwidth", "tolerance")
        kernel = self._fit_kernel(features, rng)
        rows = rng.permutation(len(kernel))[: self.n_labelled]
        directions = whitening(kernel[rows])
        inputs = kernel[rows] @ directions
        residual = PairResidual(labels[rows], self.n_bits)
        weights = np.empty((inputs.shape[1], self.n_bits))
        norms = [1.0]
        for bit in range(self.n_bits):
            weights[:, bit] = learn_bit(inputs, residual, self.n_iterations, self.tolerance)
            norms.append(norms[-1] + residual.subtract(signs_of(inputs @ weights[:, bit])))
            progress(bit + 1, self.n_bits, "KSH bits")
        self.projection_ = directions @ weights
        self.offset_ = np.zeros(self.n_bits)
        self.residual_ = np.array(norms)


class PairResidual:
    """`n_bits S - sum of s s^T` over the bits learned so far; `S` is 1 where images share a label, else -1."""

    def __init__(self, labels: NDArray[Any], n_bits: int) -> None:
        sets, members = np.unique(labels, axis=0, return_inverse=True)
        rows = np.arange(len(labels) + 1)
        self.members = csr_array((np.ones(len(labels)), members.ravel(), rows), shape=(len(labels), len(sets)))
        self.images = self.members.T.tocsr()
        self.similarity_matrix = similarity_matrix(sets)
        self.n_bits = n_bits
        self.signs = np.zeros((len(labels), 0))

    def times(self, values: Features) -> Features:
        """Product with `values`, `(n,)` or `(n, k)`."""
        similar = self.members @ (self.similarity_matrix @ (self.images @ values))
        earlier = self.signs @ (self.signs.T @ values)
        return np.asarray(self.n_bits * (2 * similar - values.sum(axis=0)) - earlier)

    def gain(self, values: Features) -> float:
        """`y^T R y`, by which a bit lowers the residual."""
        return float(values @ self.times(values))

    def subtract(self, signs: Features) -> float:
        """Subtracts a bit; returns the change of the squared norm as a share of its initial value."""
        n = len(signs)
        change = n**2 - 2 * self.gain(signs)
        self.signs = np.column_stack([self.signs, signs])
        return change / (self.n_bits * n) ** 2


def similarity_matrix(sets: NDArray[Any]) -> Features:
    """1 where two of the distinct ids `(u,)` or label rows `(u, n_classes)` share a label, else 0, `(u, u)`."""
    if sets.ndim == 1:
        return np.eye(len(sets))
    rows = sets.astype(np.float64)
    shared = rows @ rows.T
    return np.minimum(shared, 1, out=shared)


def whitening(kernel: Features) -> Features:
    """Directions `(n_anchors, rank)` in which the kernel values `(n, n_anchors)` have unit variance."""
    values, vectors = np.linalg.eigh(kernel.T @ kernel / len(kernel))
    large = values >= 1e-6 * values[-1]
    # Kernel values are at most 1: a variance below 1e-12 is rounding and must not be scaled to 1.
    return np.asarray(vectors[:, large] / np.sqrt(np.maximum(values[large], 1e-12)))


def signs_of(values: Features) -> Features:
    return np.where(values > 0, 1.0, -1.0)


def learn_bit(inputs: Features, residual: PairResidual, n_iterations: int, tolerance: float) -> Features:
    """Weights `(rank,)` of the next bit for whitened inputs `(n, rank)`: the better of refined and spectral."""
    start = spectral_start(inputs, residual)
    refined, _ = refine(inputs, residual, start, n_iterations, tolerance)
    gains = [residual.gain(signs_of(inputs @ weights)) for weights in (start, refined)]
    return refined if gains[1] > gains[0] else start


def spectral_start(inputs: Features, residual: PairResidual) -> Features:
    """The unit vector whose linear function has the largest gain."""
    last = inputs.shape[1] - 1
    _, vectors = eigh(inputs.T @ residual.times(inputs), subset_by_index=(last, last))
    leading = vectors[:, 0]
    # An eigenvector's sign is arbitrary: making the largest entry positive makes it the same with every solver.
    return np.asarray(leading * np.sign(leading[np.abs(leading).argmax()]))


def refine(
    inputs: Features, residual: PairResidual, start: Features, n_iterations: int, tolerance: float
) -> tuple[Features, list[float]]:
    """Nesterov's gradient descent on `-y^T R y` with `y = tanh(inputs w / 2)`: (weights, falling costs)."""
    best = previous = start
    costs = [_cost(inputs, residual, start)]
    step, age = 0.0, 0  # age: steps since the momentum was last dropped
    for _ in range(n_iterations):
        ahead = best + age / (age + 3) * (best - previous)
        cost, gradient = _slope(inputs, residual, ahead)
        step = 2 * step or 1 / max(float(np.linalg.norm(gradient)), 1e-300)  # at first a move of length 1
        candidate, value, step = _descend(inputs, residual, ahead, cost, gradient, step)
        if value > costs[-1] and age:
            previous, age = best, 0
            continue
        if value >= costs[-1]:
            break
        previous, best, age = best, candidate, age + 1
        costs.append(value)
        if costs[-2] - value <= tolerance * abs(value):
            break
    return best, costs


def _descend(
    inputs: Features, residual: PairResidual, point: Features, cost: float, gradient: Features, step: float
) -> tuple[Features, float, float]:
    """(point, cost, step) by backtracking: the step is halved until the cost falls by half of the predicted."""
    squared_slope = float(gradient @ gradient)
    for _ in range(60):
        moved = point - step * gradient
        value = _cost(inputs, residual, moved)
        if value <= cost - step * squared_slope / 2:
            return moved, value, step
        step /= 2
    return point, cost, step


def _cost(inputs: Features, residual: PairResidual, weights: Features) -> float:
    return -residual.gain(np.tanh(inputs @ weights / 2))


def _slope(inputs: Features, residual: PairResidual, weights: Features) -> tuple[float, Features]:
    """Cost and gradient; the derivative of `tanh(z / 2)` is `(1 - tanh^2) / 2`."""
    values = np.tanh(inputs @ weights / 2)
    products = residual.times(values)
    return -float(values @ products), -inputs.T @ (products * (1 - np.square(values)))
