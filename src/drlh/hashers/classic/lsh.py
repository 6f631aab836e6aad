"""Random hyperplanes: the floor every learned code has to clear."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import Codes, round_to_codes
from drlh.core.progress import Progress
from drlh.hashers.base import Features, Hasher, RandomState


class LSH(Hasher):
    """Locality-sensitive hashing by random hyperplanes, a control.

    **Idea.** Centre the features and project them on Gaussian random directions; a bit is the side of the
    hyperplane. The chance that two images differ in a bit is their angle divided by pi. Nothing is learned but
    the mean.

    **Reference.** M. Charikar, Similarity estimation techniques from rounding algorithms, STOC 2002, section 3.

    **Differences.** The features are centred on the training mean first: features after a ReLU all lie on one
    side of most hyperplanes otherwise.

    Parameters
    ----------
    n_bits : int, default=32
        Length of the code.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the directions.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
        Mean of the training images.
    directions_ : ndarray of shape (n_features, n_bits)
        Normals of the hyperplanes.
    n_features_in_ : int
        Number of features.
    """

    def __init__(self, n_bits: int = 32, *, random_state: RandomState = None) -> None:
        self.n_bits = n_bits
        self.random_state = random_state

    def _fit(
        self, features: Features, labels: NDArray[Any] | None, rng: np.random.Generator, progress: Progress
    ) -> None:
        self.mean_ = features.mean(axis=0)
        self.directions_ = rng.standard_normal((features.shape[1], self.n_bits))

    def _encode(self, features: Features) -> Codes:
        return round_to_codes((features - self.mean_) @ self.directions_)
