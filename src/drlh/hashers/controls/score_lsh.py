"""Random projections of a classifier's posteriors: what its doubts are worth beside its decision."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import Codes, round_to_codes
from drlh.core.progress import Progress
from drlh.hashers.base import Features, Hasher, RandomState
from drlh.hashers.classic.itq import procrustes
from drlh.hashers.controls.posterior import PosteriorMixin


class ScoreLSH(PosteriorMixin, Hasher):
    """Locality-sensitive hashing of a linear classifier's posteriors, a control.

    **Idea.** The posteriors of a classifier say more than its decision: an image between two classes should lie
    between them. Random hyperplanes turn the posteriors into bits; nothing but the classifier is learned.

    **Reference.** A. Sablayrolles, M. Douze, N. Usunier, H. Jégou, How should we evaluate supervised hashing?,
    ICASSP 2017, the row "LSH" of table 1.

    **Differences.** The directions are a random rotation, or with more bits than classes a random tight frame, as in
    the authors' program; that has thresholds at the medians, here the posteriors are centred on their mean over the
    training images. With several labels each has a probability of its own. The classifier is linear on the features;
    the authors' program puts radial basis functions before it, and gives the labelled images of the database their
    true class.

    Parameters
    ----------
    n_bits : int, default=32
        Length of the code.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the directions and of the images held out to choose the classifier's penalty.

    Attributes
    ----------
    mean_ : ndarray of shape (n_classes,)
        Mean posterior of the training images.
    directions_ : ndarray of shape (n_classes, n_bits)
        Directions on which centred posteriors are projected.
    weights_, bias_, one_label_, strength_
        The classifier: see `PosteriorMixin`.
    classes_ : ndarray of shape (n_classes,)
        The class ids, in the order of the label columns.
    n_features_in_ : int
        Number of features.
    """

    supervised: ClassVar[bool] = True

    def __init__(self, n_bits: int = 32, *, random_state: RandomState = None) -> None:
        self.n_bits = n_bits
        self.random_state = random_state

    def _fit(
        self, features: Features, labels: NDArray[Any] | None, rng: np.random.Generator, progress: Progress
    ) -> None:
        assert labels is not None  # supervised
        self._fit_posterior(features, labels, rng, progress)
        self.mean_ = self.predict_posterior(features).mean(axis=0)
        self.directions_ = procrustes(rng.standard_normal((len(self.mean_), self.n_bits)))

    def _encode(self, features: Features) -> Codes:
        return round_to_codes((self.predict_posterior(features) - self.mean_) @ self.directions_)
