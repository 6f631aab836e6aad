"""Supervised discrete hashing: codes from which the labels can be read linearly, found bit by bit."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from drlh.core.progress import Progress
from drlh.hashers.base import Features, RandomState
from drlh.hashers.classic.kernel import KernelHasher


class SDH(KernelHasher):
    """Supervised discrete hashing.

    **Idea.** A good code lets a linear classifier read the labels. Three steps alternate: the classifier of the
    present codes, a kernel regression that predicts them from features, and the codes themselves, which stay
    discrete: with all other bits fixed, the best value of one bit is known in closed form. New images get the
    signs of the kernel regression.

    **Reference.** F. Shen, C. Shen, W. Liu, H. T. Shen, Supervised discrete hashing, CVPR 2015: the objective with the
    squared loss, and its three steps, of which the codes' is discrete cyclic coordinate descent. Constants are those
    of the authors' code; they have not been checked against the paper's text.

    **Differences.** The kernel's variance follows the data (0.3 times the mean squared distance to the anchors,
    chosen on a hold-out of training images of CIFAR-10 and VOC 2007; the authors' 0.4^2 is for features of unit
    length). The kernel is centred and the regression has a free intercept, where the authors' code adds a constant
    feature. The regression's small ridge is counted in the objective, so that no step can raise it; a bit whose two
    values are equally good stays. Images with several labels regress their multi-hot row.

    Parameters
    ----------
    n_bits : int, default=32
        Length of the code.
    n_anchors : int, default=1000
        Training images the kernel compares with; all where there are fewer.
    bandwidth : float, default=0.3
        Variance of the kernel over the mean squared distance to the anchors.
    nu : float, default=1e-5
        Weight of the regression against the labels.
    lam : float, default=1.0
        Ridge penalty of the classifier.
    ridge : float, default=1e-2
        Ridge penalty of the regression.
    n_iterations : int, default=5
        Rounds of the three steps.
    n_sweeps : int, default=10
        Passes over the bits in a round, at most.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the anchors and of the initial codes.

    Attributes
    ----------
    objective_ : ndarray of shape (n_iterations + 1,)
        Value of the objective at the start and after each round.
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
        n_anchors: int = 1000,
        bandwidth: float = 0.3,
        nu: float = 1e-5,
        lam: float = 1.0,
        ridge: float = 1e-2,
        n_iterations: int = 5,
        n_sweeps: int = 10,
        random_state: RandomState = None,
    ) -> None:
        self.n_bits = n_bits
        self.n_anchors = n_anchors
        self.bandwidth = bandwidth
        self.nu = nu
        self.lam = lam
        self.ridge = ridge
        self.n_iterations = n_iterations
        self.n_sweeps = n_sweeps
        self.random_state = random_state

    def _fit(
        self, features: Features, labels: NDArray[Any] | None, rng: np.random.Generator, progress: Progress
    ) -> None:
        assert labels is not None  # the contract of a supervised method
        self._check_counts("n_anchors", "n_iterations", "n_sweeps")
        self._check_positive("bandwidth", "nu", "lam", "ridge")
        kernel = self._fit_kernel(features, rng)
        targets = np.eye(len(self.classes_))[labels] if labels.ndim == 1 else labels.astype(np.float64)
        factor = cho_factor(kernel.T @ kernel + self.ridge * np.eye(kernel.shape[1]), overwrite_a=True)
        signs = np.where(rng.standard_normal((len(kernel), self.n_bits)) > 0, 1.0, -1.0)
        weights, predicted, value = self._regress(kernel, factor, signs, targets)
        history = [value]
        for done in range(self.n_iterations):
            signs = discrete_step(signs, targets, weights, predicted, self.nu, self.n_sweeps)
            weights, predicted, value = self._regress(kernel, factor, signs, targets)
            history.append(value)
            progress(done + 1, self.n_iterations, "SDH rounds")
        self.objective_ = np.array(history)

    def _regress(
        self, kernel: Features, factor: Any, signs: Features, targets: Features
    ) -> tuple[Features, Features, float]:
        """(classifier's weights, signs the kernel predicts, objective) for these signs `(n, n_bits)`."""
        weights = classifier(signs, targets, self.lam)
        self.projection_, self.offset_ = regression(kernel, factor, signs)
        predicted = kernel @ self.projection_ + self.offset_
        ridges = self.lam * np.square(weights).sum() + self.nu * self.ridge * np.square(self.projection_).sum()
        return weights, predicted, loss(signs, targets, weights, predicted, self.nu) + float(ridges)


def classifier(signs: Features, targets: Features, lam: float) -> Features:
    """Ridge regression of targets `(n, n_classes)` on signs `(n, n_bits)`: weights `(n_bits, n_classes)`."""
    n_bits = signs.shape[1]
    return np.asarray(np.linalg.solve(signs.T @ signs + lam * np.eye(n_bits), signs.T @ targets), np.float64)


def regression(kernel: Features, factor: Any, signs: Features) -> tuple[Features, Features]:
    """Ridge regression of signs on the centred kernel, intercept free: (projection, offset).

    `factor` is the Cholesky factor of `kernel^T kernel + ridge`; the offset is the mean as the kernel has mean 0.
    """
    return np.asarray(cho_solve(factor, kernel.T @ signs)), signs.mean(axis=0)


def discrete_step(
    signs: Features, targets: Features, weights: Features, predicted: Features, nu: float, n_sweeps: int
) -> Features:
    """Signs `(n, n_bits)` whose `loss` is at most that of the given ones: each bit in turn at its best value.

    With the other bits fixed, what is left of the loss of bit k is `-2 b_k (pull_k - sum_j b_j w_j . w_k)`.
    """
    pull = targets @ weights.T + nu * predicted
    overlaps = weights @ weights.T
    np.fill_diagonal(overlaps, 0)
    signs = signs.copy()
    for _ in range(n_sweeps):
        changed = False
        for bit in range(signs.shape[1]):
            wanted = pull[:, bit] - signs @ overlaps[:, bit]
            flip = wanted * signs[:, bit] < 0
            signs[flip, bit] *= -1
            changed |= bool(flip.any())
        if not changed:
            break
    return signs


def loss(signs: Features, targets: Features, weights: Features, predicted: Features, nu: float) -> float:
    """`||targets - signs weights||^2 + nu ||signs - predicted||^2`, the part of the objective that codes decide."""
    return float(np.square(targets - signs @ weights).sum() + nu * np.square(signs - predicted).sum())
