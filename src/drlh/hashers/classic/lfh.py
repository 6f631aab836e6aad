"""Latent factor hashing: codes whose inner products predict who shares a label, then a linear way to them."""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from drlh.core.codes import Codes, round_to_codes, signs
from drlh.core.errors import UserError
from drlh.core.progress import Progress
from drlh.hashers.base import Features, Hasher, RandomState

_ROWS_AT_ONCE = 8192  # the regression works in blocks, so that no second copy of the features is made


class LFH(Hasher):
    """Latent factor hashing, supervised by pairs.

    **Idea.** Every training image gets a real vector u, and two images share a label with probability
    sigma(u_i . u_j / 2). The vectors that explain the labels best are found by raising a lower bound of the
    posterior, and their signs are the codes. A ridge regression from features to these codes hashes new images.

    **Reference.** P. Zhang, W. Zhang, W.-J. Li, M. Guo, Supervised hashing with latent factor models, SIGIR 2014:
    the stochastic version, which in each round looks at the similarities to a sample of the images ("columns") and
    moves all the others.

    **Differences.** (1) The ridge is 0.5 for each image on features of variance 1, where the authors' program has
    1 / n_features: too little to keep the regression from learning 5,000 images of 512 features by heart. (2) At
    least 100 columns a round instead of `n_bits`: among 12 columns some of ten classes are missing. (3) The vectors
    start at random instead of at the principal components, so that any number of bits will do. (4) A bit's
    threshold is where as many training images lie above it as have the bit in their codes, instead of at the mean.
    (5) The regression is to the signs; the authors' program regresses to the vectors. All five were chosen on a
    hold-out of training images.

    Parameters
    ----------
    n_bits : int, default=32
        Length of the code.
    n_iterations : int, default=50
        Rounds of the optimisation.
    n_columns : int or None, default=None
        Images sampled in each round, at most half of all; None is 100, or 2 `n_bits` if that is more.
    beta : float, default=30.0
        `beta / n_bits` is the prior variance of the latent vectors.
    ridge : float, default=0.5
        Ridge penalty of the regression for each training image.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the initial vectors and of the samples.

    Attributes
    ----------
    projection_ : ndarray of shape (n_features, n_bits)
        Weights of the regression.
    thresholds_ : ndarray of shape (n_bits,)
        A bit is 1 where its projection is above the threshold.
    classes_ : ndarray of shape (n_classes,)
        The class ids, in the order of the label columns.
    n_features_in_ : int
        Number of features.
    """

    supervised = True

    def __init__(
        self,
        n_bits: int = 32,
        *,
        n_iterations: int = 50,
        n_columns: int | None = None,
        beta: float = 30.0,
        ridge: float = 0.5,
        random_state: RandomState = None,
    ) -> None:
        self.n_bits = n_bits
        self.n_iterations = n_iterations
        self.n_columns = n_columns
        self.beta = beta
        self.ridge = ridge
        self.random_state = random_state

    def _fit(
        self, features: Features, labels: NDArray[Any] | None, rng: np.random.Generator, progress: Progress
    ) -> None:
        assert labels is not None  # the method is supervised
        self._check_parameters()
        n_columns = min(self._columns(), len(features) // 2)
        vectors = rng.standard_normal((len(features), self.n_bits))
        for done in range(self.n_iterations):
            order = rng.permutation(len(features))
            columns, rows = order[:n_columns], order[n_columns:]
            similar = share_a_label(labels[rows], labels[columns])
            vectors[rows] = raise_posterior(vectors[rows], vectors[columns], similar, self.beta / self.n_bits)
            progress(done + 1, self.n_iterations, "LFH rounds")
        codes = round_to_codes(vectors)
        self.projection_ = ridge_regression(features, signs(codes), self.ridge)
        self.thresholds_ = matching_thresholds(features @ self.projection_, codes)

    def _encode(self, features: Features) -> Codes:
        return round_to_codes(features @ self.projection_ - self.thresholds_)

    def _columns(self) -> Any:
        return max(100, 2 * self.n_bits) if self.n_columns is None else self.n_columns

    def _check_parameters(self) -> None:
        for name, count in (("n_iterations", self.n_iterations), ("n_columns", self._columns())):
            if not (isinstance(count, Integral) and int(count) >= 1):
                raise UserError(f"{name} of LFH must be a whole number of at least 1: got {count!r}")
        for name in ("beta", "ridge"):
            value = getattr(self, name)
            if not (isinstance(value, int | float | np.number) and 0 < value < np.inf):
                raise UserError(f"{name} of LFH must be a number above 0: got {value!r}")


def share_a_label(labels: NDArray[Any], others: NDArray[Any]) -> NDArray[np.bool_]:
    """Which pairs share a label, `(n, n_others)`; labels are ids `(n,)` or multi-hot `(n, n_classes)`."""
    if labels.ndim == 1:
        return np.asarray(labels[:, None] == others)
    return np.asarray(labels.astype(np.float32) @ others.T.astype(np.float32) > 0)


def raise_posterior(rows: Features, columns: Features, similar: NDArray[np.bool_], variance: float) -> Features:
    """Moves vectors `(n, n_bits)` towards a larger log posterior given the `columns` `(q, n_bits)`, which stay.

    For each row u that is 2 sum_j (s_j t_j - log(1 + exp t_j)) - |u|^2 / (2 variance), with t_j = u . u_j / 2: every
    pair counts twice, once in each order. Its curvature is at most the one below, since sigma (1 - sigma) <= 1/4, so
    the step to the top of the bounding parabola never lowers it.
    """
    gradient = (similar - expit(rows @ columns.T / 2)) @ columns - rows / variance
    curvature = columns.T @ columns / 8 + np.eye(rows.shape[1]) / variance
    return np.asarray(rows + np.linalg.solve(curvature, gradient.T).T)


def ridge_regression(features: Features, targets: NDArray[Any], ridge: float) -> Features:
    """Weights `(n_features, n_bits)` from centred features to targets, penalised as if features had variance 1."""
    mean = features.mean(axis=0)
    gram = np.zeros((features.shape[1], features.shape[1]))
    moments = np.zeros((features.shape[1], targets.shape[1]))
    for start in range(0, len(features), _ROWS_AT_ONCE):
        block = features[start : start + _ROWS_AT_ONCE] - mean
        gram += block.T @ block
        moments += block.T @ targets[start : start + _ROWS_AT_ONCE]
    scale = np.sqrt(np.diag(gram) / len(features))
    # What is left of a constant column after centring is rounding, not to be blown up.
    scale[scale <= 1e-10 * np.abs(mean)] = 1.0
    penalised = gram / np.outer(scale, scale) + ridge * len(features) * np.eye(len(gram))
    return np.asarray(np.linalg.solve(penalised, moments / scale[:, None]) / scale[:, None])


def matching_thresholds(values: Features, codes: Codes) -> Features:
    """For each bit the number with as many values above it as codes have the bit, `(n_bits,)`.

    It lies midway between two values: none of them is so near that rounding could carry it across.
    """
    n_below = np.clip((codes == 0).sum(axis=0), 1, len(codes) - 1)  # an image on either side, whatever the codes
    ordered, bits = np.sort(values, axis=0), np.arange(codes.shape[1])
    return np.asarray((ordered[n_below - 1, bits] + ordered[n_below, bits]) / 2)
