"""Spectral hashing: the lowest notes of a box around the data."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import Codes, round_to_codes
from drlh.core.progress import Progress
from drlh.hashers.base import Features, Hasher, RandomState
from drlh.hashers.classic.itq import principal_directions


class SH(Hasher):
    """Spectral hashing, unsupervised.

    **Idea.** The best balanced and uncorrelated codes of a neighbourhood graph are its Laplacian's eigenvectors,
    rounded. If the data fill a box evenly, these are known functions: cosines along the sides of the box, the
    slower the better. So put a box along the principal directions, list its cosines from the lowest frequency
    upwards, and let a bit be the sign of one of them.

    **Reference.** Y. Weiss, A. Torralba, R. Fergus, Spectral hashing, NIPS 2008, the section on the extension to
    new points; the box is that of the authors' published program, from the smallest to the largest value.

    **Differences.** None in what is computed. The program lists at most `ceil((n_bits + 1) side / longest side) - 1`
    cosines along each side; no other can be among the `n_bits` slowest, so here that bound is left out. As in the
    paper, a point outside the box meets the same cosines, which run on.

    Parameters
    ----------
    n_bits : int, default=32
        Length of the code.
    random_state : int, Generator, RandomState or None, default=None
        Not used: nothing is random.

    Attributes
    ----------
    directions_ : ndarray of shape (n_features, n_directions)
        Principal directions, the sides of the box.
    corner_ : ndarray of shape (n_directions,)
        Smallest value of the training images along each direction.
    sides_ : ndarray of shape (n_bits,)
        The direction of each bit's cosine.
    frequencies_ : ndarray of shape (n_bits,)
        The frequency of each bit's cosine.
    n_features_in_ : int
        Number of features.
    """

    def __init__(self, n_bits: int = 32, *, random_state: RandomState = None) -> None:
        self.n_bits = n_bits
        self.random_state = random_state

    def _fit(
        self, features: Features, labels: NDArray[Any] | None, rng: np.random.Generator, progress: Progress
    ) -> None:
        self.directions_ = principal_directions(features - features.mean(axis=0), self.n_bits)
        points = features @ self.directions_
        self.corner_ = points.min(axis=0)
        self.sides_, self.frequencies_ = slowest_cosines(points.max(axis=0) - self.corner_, self.n_bits)

    def _encode(self, features: Features) -> Codes:
        points = features @ self.directions_ - self.corner_
        return round_to_codes(np.cos(points[:, self.sides_] * self.frequencies_))


def slowest_cosines(lengths: Features, n_bits: int) -> tuple[NDArray[np.int64], Features]:
    """(side, frequency) of the `n_bits` slowest cosines `cos(k pi x / length)`, k = 1, 2, ..., `(n_bits,)` each.

    They are the eigenfunctions along one side with the smallest eigenvalues. Those along several sides at once are
    products of these, their bits follow from the others', and the paper leaves them out. Ties go to the earlier side.
    """
    # A side without length carries nothing: its cosines come last, and where every side is such, all bits are 1.
    longest = lengths.max() or 1.0
    lengths = np.maximum(lengths, np.finfo(np.float64).eps * longest)
    frequencies = np.pi * np.arange(1, n_bits + 1) / lengths[:, None]
    slowest = np.argsort(frequencies, axis=None, kind="stable")[:n_bits]
    return slowest // n_bits, frequencies.ravel()[slowest]
