"""The line no code of a linear classifier is expected to pass: its posteriors, ranked as they are."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, check_X_y

from drlh.core.errors import UserError
from drlh.core.progress import Progress, quiet
from drlh.hashers.base import Features, RandomState, generator
from drlh.hashers.controls.posterior import PosteriorMixin


class Topline(PosteriorMixin, BaseEstimator):  # type: ignore[misc]
    """Ranking by the inner product of posteriors, a reference line: it makes no codes.

    **Idea.** If an image's class is only known by its posterior, two images share a class with probability
    `p_query · p_image`: the ranking that loses nothing to a code. It is the same at every length.

    **Reference.** A. Sablayrolles, M. Douze, N. Usunier, H. Jégou, How should we evaluate supervised hashing?,
    ICASSP 2017, the row "topline" of table 1.

    **Differences.** With several labels the inner product is the expected number of labels that two images share. The
    classifier is linear on the features; the authors' program puts radial basis functions before it, and gives the
    labelled images of the database their true class.

    Parameters
    ----------
    random_state : int, Generator, RandomState or None, default=None
        Seed of the images held out to choose the classifier's penalty.

    Attributes
    ----------
    weights_, bias_, one_label_, strength_
        The classifier: see `PosteriorMixin`.
    classes_ : ndarray of shape (n_classes,)
        The class ids, in the order of the label columns.
    """

    def __init__(self, *, random_state: RandomState = None) -> None:
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, *, progress: Progress = quiet) -> Self:
        """Learn from features `(n, n_features)` and labels, class ids `(n,)` or multi-hot `(n, n_classes)`."""
        try:
            features, labels = check_X_y(X, y, dtype=(np.float64, np.float32), multi_output=True)
        except ValueError as error:
            raise UserError(" ".join(str(error).split())) from error
        self.classes_ = np.arange(labels.shape[-1])
        if labels.ndim == 1:
            self.classes_, labels = np.unique(labels, return_inverse=True)
        self._fit_posterior(features, labels, generator(self.random_state), progress)
        return self

    def query_vectors(self, X: ArrayLike) -> Features:
        """Posteriors `(n, n_classes)`: the larger the inner product of two, the nearer the images."""
        check_is_fitted(self)
        return self.predict_posterior(np.asarray(X))

    def database_vectors(self, X: ArrayLike) -> Features:
        """As `query_vectors`."""
        return self.query_vectors(X)

    def accuracy(self, X: ArrayLike, y: NDArray[Any]) -> dict[str, float]:
        """The share of images whose class is predicted; with several labels, of the labels, under a name of its own."""
        posterior = self.query_vectors(X)
        if self.one_label_:
            return {"accuracy": float((self.classes_[posterior.argmax(axis=1)] == y).mean())}
        return {"mean_label_accuracy": float(((posterior > 0.5) == y).mean())}
