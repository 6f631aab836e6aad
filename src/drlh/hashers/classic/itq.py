"""Iterative quantization: rotate the principal components until their signs lose little."""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import Codes, round_to_codes
from drlh.core.errors import UserError
from drlh.core.progress import Progress, quiet
from drlh.hashers.base import Features, Hasher, RandomState


class ITQ(Hasher):
    """Iterative quantization, unsupervised.

    **Idea.** Keep the leading principal components, one for each bit. Their signs are a poor code, because the
    components differ in variance; so find the rotation that brings the points closest to the corners of the
    cube. Two steps alternate: round to the nearest corner, then solve the orthogonal Procrustes problem.

    **Reference.** Y. Gong, S. Lazebnik, Iterative quantization: a Procrustean approach to learning binary codes,
    CVPR 2011, equations (2) and (3).

    **Differences.** With more bits than components (`n_bits` above the number of features or of training
    images) the rotation becomes a matrix with orthonormal rows, found by the same Procrustes step; the paper
    stops at as many bits as features.

    Parameters
    ----------
    n_bits : int, default=32
        Length of the code.
    n_iterations : int, default=50
        Rounds of the two steps (the paper's 50).
    random_state : int, Generator, RandomState or None, default=None
        Seed of the initial rotation.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
        Mean of the training images.
    projection_ : ndarray of shape (n_features, n_bits)
        Principal directions times the rotation.
    quantization_error_ : float
        Mean squared distance between rotated training images and their codes.
    n_features_in_ : int
        Number of features.
    """

    def __init__(self, n_bits: int = 32, *, n_iterations: int = 50, random_state: RandomState = None) -> None:
        self.n_bits = n_bits
        self.n_iterations = n_iterations
        self.random_state = random_state

    def _fit(
        self, features: Features, labels: NDArray[Any] | None, rng: np.random.Generator, progress: Progress
    ) -> None:
        rounds: Any = self.n_iterations
        if not (isinstance(rounds, Integral) and int(rounds) >= 0):
            raise UserError(f"n_iterations of ITQ must be a whole number of at least 0: got {rounds!r}")
        self.mean_ = features.mean(axis=0)
        components = principal_directions(features - self.mean_, self.n_bits)
        points = (features - self.mean_) @ components
        start = procrustes(rng.standard_normal((points.shape[1], self.n_bits)))
        rotation = improve_rotation(points, start, self.n_iterations, progress)
        self.projection_ = components @ rotation
        self.quantization_error_ = quantization_error(points @ rotation)

    def _encode(self, features: Features) -> Codes:
        return round_to_codes((features - self.mean_) @ self.projection_)


def principal_directions(centred: Features, at_most: int) -> Features:
    """The leading eigenvectors of the covariance as columns, `(n_features, min(at_most, n_features))`."""
    _, vectors = np.linalg.eigh(centred.T @ centred)
    leading = vectors[:, ::-1][:, :at_most]
    # An eigenvector's sign is the solver's whim: the largest entry positive makes it the same everywhere.
    largest = np.abs(leading).argmax(axis=0)
    flip = np.where(leading[largest, np.arange(leading.shape[1])] < 0, -1.0, 1.0)
    return np.asarray(leading * flip)


def improve_rotation(points: Features, rotation: Features, n_iterations: int, progress: Progress = quiet) -> Features:
    """`n_iterations` rounds of the two steps, from `rotation` `(n_components, n_bits)`."""
    for done in range(n_iterations):
        corners = np.where(points @ rotation > 0, 1.0, -1.0)
        rotation = procrustes(points.T @ corners)
        progress(done + 1, n_iterations, "ITQ rotations")
    return rotation


def procrustes(target: Features) -> Features:
    """The matrix with orthonormal rows (or columns) nearest to `target`."""
    left, _, right = np.linalg.svd(target, full_matrices=False)
    return np.asarray(left @ right)


def quantization_error(points: Features) -> float:
    """Mean squared distance between points and their corners, the objective of equation (2) for each image."""
    corners = np.where(points > 0, 1.0, -1.0)
    return float(np.square(corners - points).sum(axis=1).mean())
