"""The predicted class as a code: what a classifier's decision alone is worth."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import Codes, round_to_codes
from drlh.core.progress import Progress
from drlh.hashers.base import Features, Hasher, RandomState
from drlh.hashers.codebook.codebook import make_codebook
from drlh.hashers.controls.posterior import PosteriorMixin


class OneHot(PosteriorMixin, Hasher):
    """The codeword of the class that a linear classifier predicts, a control.

    **Idea.** Supervised hashing is judged by whether images of one class lie near each other; a classifier's decision,
    written in a few bits, does that without learning a code at all. A method that ranks worse than this has lost more
    to its code than the classifier's mistakes cost.

    **Reference.** A. Sablayrolles, M. Douze, N. Usunier, H. Jégou, How should we evaluate supervised hashing?,
    ICASSP 2017, the row "one-hot" of table 1.

    **Differences.** Codewords that lie far apart stand for the classes, so that the code may have any length that
    tells the classes apart. With several labels a bit is the sign of the sum of the codewords of all labels with a
    posterior above one half, the most probable label counting once and a half, and alone where there is none above;
    the paper has one label only. The classifier is linear on the features; the authors' program puts radial basis
    functions before it, and gives the labelled images of the database their true class.

    Parameters
    ----------
    n_bits : int, default=32
        Length of the code, at least log2 of the number of classes.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the codewords and of the images held out to choose the classifier's penalty.

    Attributes
    ----------
    codewords_ : ndarray of shape (n_classes, n_bits)
        The codeword of each class, -1/+1.
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
        # First of all: too few bits for the classes are told before the classifier has taken its time.
        self.codewords_ = make_codebook(len(self.classes_), self.n_bits, random_state=rng).signs
        self._fit_posterior(features, labels, rng, progress)

    def _encode(self, features: Features) -> Codes:
        posterior = self.predict_posterior(features)
        votes = (posterior > 0.5).astype(np.float64)
        votes[np.arange(len(votes)), posterior.argmax(axis=1)] += 0.5
        return round_to_codes(votes @ self.codewords_)
