"""What the kernel methods share: random anchors, RBF kernel values, and bits that are signs of their projections."""

from collections.abc import Iterator
from numbers import Integral, Real
from typing import ClassVar

import numpy as np

from drlh.core.codes import Codes, round_to_codes
from drlh.core.errors import UserError
from drlh.hashers.base import Features, Hasher

_ROWS_AT_ONCE = 8192  # blocks of rows, so that no second copy of all features is needed


class KernelHasher(Hasher):
    """A bit is the side of a hyperplane in the space of centred kernel values `exp(-d^2 / 2v)` to the anchors.

    The variance `v` is `bandwidth` times the mean squared distance between training images and anchors, so that it
    follows the scale of the features. A method calls `_fit_kernel` and learns `projection_` and `offset_`.

    Attributes
    ----------
    anchors_ : ndarray of shape (n_anchors, n_features)
        Training images the kernel compares with.
    variance_ : float
        Variance of the kernel.
    kernel_mean_ : ndarray of shape (n_anchors,)
        Mean kernel values of the training images.
    projection_ : ndarray of shape (n_anchors, n_bits)
        Normals of the hyperplanes.
    offset_ : ndarray of shape (n_bits,)
        Offsets of the hyperplanes.
    """

    supervised: ClassVar[bool] = True

    n_anchors: int
    bandwidth: float
    projection_: Features
    offset_: Features

    def _fit_kernel(self, features: Features, rng: np.random.Generator) -> Features:
        """Samples anchors among the images; returns the centred kernel `(n, min(n_anchors, n))`."""
        self.anchors_ = features[rng.permutation(len(features))[: self.n_anchors]]
        kernel = squared_distances(features, self.anchors_)
        # Equal images differ by rounding alone: a variance that small would turn the rounding into a kernel.
        rounding = max(1e-20 * float(np.square(self.anchors_).sum(axis=1).mean()), 1e-300)
        self.variance_ = max(self.bandwidth * float(kernel.mean()), rounding)
        similarities(kernel, self.variance_)
        self.kernel_mean_ = kernel.mean(axis=0)
        kernel -= self.kernel_mean_
        return kernel

    def _encode(self, features: Features) -> Codes:
        kernel = similarities(squared_distances(features, self.anchors_), self.variance_)
        kernel -= self.kernel_mean_
        return round_to_codes(kernel @ self.projection_ + self.offset_)

    def _check_counts(self, *names: str) -> None:
        for name, value in self._values(names):
            if not isinstance(value, Integral) or int(value) < 1:
                raise UserError(f"{name} must be a whole number of at least 1: got {value!r}")

    def _check_positive(self, *names: str) -> None:
        for name, value in self._values(names):
            if not isinstance(value, Real) or not 0 < float(value) < np.inf:
                raise UserError(f"{name} must be a number above 0: got {value!r}")

    def _values(self, names: tuple[str, ...]) -> Iterator[tuple[str, object]]:
        return ((f"{name} of {type(self).__name__}", getattr(self, name)) for name in names)


def squared_distances(features: Features, anchors: Features) -> Features:
    """Euclidean distances squared, `(n, n_anchors)`."""
    centre = anchors.mean(axis=0)  # features far from 0 would lose digits in the product
    anchors = anchors - centre
    distances = np.empty((len(features), len(anchors)))
    for start in range(0, len(features), _ROWS_AT_ONCE):
        rows = features[start : start + _ROWS_AT_ONCE] - centre
        block = np.matmul(rows, -2 * anchors.T, out=distances[start : start + _ROWS_AT_ONCE])
        block += np.square(rows).sum(axis=1)[:, None]
        block += np.square(anchors).sum(axis=1)
    return np.maximum(distances, 0, out=distances)


def similarities(distances: Features, variance: float) -> Features:
    """RBF kernel values of squared distances, computed in place."""
    distances /= -2 * variance
    return np.exp(distances, out=distances)
