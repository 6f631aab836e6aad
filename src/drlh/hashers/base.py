"""The contract of every hasher.

A hasher is a scikit-learn transformer: `__init__` only stores, `fit(X, y)` learns, `transform(X)` gives 0/1
codes `(n, n_bits)` as a pure function of each row. A method fills in `_fit` and `_encode`.
"""

import operator
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from drlh.core.codes import Codes
from drlh.core.errors import UserError
from drlh.core.progress import Progress, quiet

if TYPE_CHECKING:  # scikit-learn has no types: without these, a type checker would accept any attribute of a hasher

    class _Estimator:
        """What a hasher inherits from scikit-learn."""

        n_features_in_: int
        feature_names_in_: NDArray[Any]

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **parameters: Any) -> Self: ...
        def fit_transform(self, X: ArrayLike, y: ArrayLike | None = None, **fit_parameters: Any) -> "Codes": ...
        def set_output(self, *, transform: str | None = None) -> Self: ...
        def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]: ...
        def get_metadata_routing(self) -> Any: ...
        def __sklearn_tags__(self) -> Tags: ...
        @classmethod
        def _get_param_names(cls) -> list[str]: ...

else:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

    class _Estimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
        pass


Features = NDArray[np.float64]
RandomState = int | np.random.Generator | np.random.RandomState | None

_AT_ONCE = 8192, 2**25  # most rows and most values of a block of transform, so that float64 copies stay small


class Hasher(_Estimator):
    """Features (and labels) → codes. See the module's first lines for the contract."""

    supervised: ClassVar[bool] = False
    multilabel: ClassVar[bool] = True
    parameters_elsewhere: ClassVar[Mapping[str, str]] = {}  # what people may expect here → the method that has it
    encoding_parameters: ClassVar[tuple[str, ...]] = ()  # those that `fit` does not read

    n_bits: int
    random_state: RandomState

    def __new__(cls, *args: Any, **parameters: Any) -> Self:
        """Refuses parameters that the method does not have, in a sentence that says which it has."""
        refuse_unknown(cls, parameters)
        made: Self = super().__new__(cls)
        return made

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters by name."""
        refuse_unknown(type(self), parameters)
        super().set_params(**parameters)
        return self

    def fit(self, X: ArrayLike, y: ArrayLike | None = None, *, progress: Progress = quiet) -> Self:
        """Learn from features `(n, n_features)` and, where the method is supervised, labels.

        Labels are class ids `(n,)` or multi-hot `(n, n_classes)`; images are similar when they share one.
        """
        self._check_n_bits()
        if self.supervised:
            if y is None:
                raise UserError(
                    f"{type(self).__name__} learns from labels, so requires y to be passed, "
                    "but the target y is None; pass class ids or a multi-hot matrix"
                )
            features, y = self._validated(X, y, dtype=np.float64, multi_output=True, ensure_min_samples=2)
            labels = self._read_labels(np.asarray(y))
        else:
            features, labels = self._validated(X, dtype=np.float64, ensure_min_samples=2), None
        self._fit(features, labels, generator(self.random_state), progress)
        return self

    def transform(self, X: ArrayLike) -> Codes:
        """Codes of 0/1, `(n, n_bits)` uint8: each row's code depends on that row and the model alone."""
        check_is_fitted(self)
        rows = self._validated(X, dtype=(np.float64, np.float32), reset=False)
        codes = np.empty((len(rows), self.n_bits), np.uint8)
        step = max(1, min(_AT_ONCE[0], _AT_ONCE[1] // rows.shape[1]))
        for start in range(0, len(rows), step):
            block = slice(start, start + step)
            codes[block] = self._encode(rows[block].astype(np.float64, copy=False))
        return codes

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """Mean average precision when each row of X is searched among all the other rows of X.

        Two rows are relevant to each other when they share a label; rows at the same Hamming distance count with the
        mean over their orders. Labels are class ids `(n,)` or multi-hot `(n, n_classes)`.
        """
        from drlh.evaluate.counts import count_levels
        from drlh.evaluate.ranking import average_precisions_of

        codes, labels = np.asarray(self.transform(X)), np.asarray(y)
        if len(codes) < 2 or len(labels) != len(codes):
            raise UserError(f"score needs at least 2 rows, each with its labels: got {len(codes)} and {len(labels)}")
        if labels.ndim == 1:
            labels = np.unique(labels, return_inverse=True)[1]  # whatever `fit` takes as a class
        counts = count_levels(codes, labels, codes, labels)
        counts.total[:, 0] -= 1  # no row finds itself
        counts.relevant[:, 0] -= labels.any(axis=1) if labels.ndim == 2 else 1
        return float(average_precisions_of(counts).mean())

    @property
    def _n_features_out(self) -> int:
        """For `get_feature_names_out` and `set_output`."""
        return self.n_bits

    @abstractmethod
    def _fit(
        self, features: Features, labels: NDArray[Any] | None, rng: np.random.Generator, progress: Progress
    ) -> None:
        """Learn. `labels` are ids 0..n_classes-1 `(n,)` or multi-hot `(n, n_classes)`; None if unsupervised."""

    @abstractmethod
    def _encode(self, features: Features) -> Codes:
        """Codes of validated features."""

    def _validated(self, *arrays: Any, **rules: Any) -> Any:
        """scikit-learn's checks; what they refuse is a person's mistake like any other."""
        try:
            return validate_data(self, *arrays, **rules)
        except ValueError as error:
            raise UserError(" ".join(str(error).split())) from error

    def _check_n_bits(self) -> None:
        try:
            whole = operator.index(self.n_bits)
        except TypeError:
            whole = 0
        if whole < 1:
            name = type(self).__name__
            raise UserError(f"n_bits of {name} must be a whole number of at least 1: got {self.n_bits!r}")

    def _read_labels(self, y: NDArray[Any]) -> NDArray[Any]:
        """Checks the labels' shape, notes the classes, and numbers them from 0."""
        name = type(self).__name__
        if y.ndim == 1:
            check_classification_targets(y)
            self.classes_, labels = np.unique(y, return_inverse=True)
            if len(self.classes_) < 2:
                raise UserError(
                    f"{name} needs at least 2 classes to tell apart: got 1 class ({self.classes_[0]!r}); "
                    "add images of another class or choose an unsupervised method such as ITQ"
                )
            return labels.astype(np.int64)
        if not self.multilabel:
            raise UserError(f"{name} takes one label for each image: got labels of shape {y.shape}; pass class ids")
        if y.ndim != 2 or y.shape[1] < 2 or not np.isin(y, (0, 1)).all():
            raise UserError(
                f"labels of {name} must be class ids (n,) or a 0/1 matrix (n, n_classes) with at least 2 classes: "
                f"got shape {y.shape} and values such as {y.flat[0]!r}"
            )
        self.classes_ = np.arange(y.shape[1])
        return y.astype(np.uint8)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.supervised
        tags.target_tags.multi_output = self.multilabel
        tags.transformer_tags.preserves_dtype = []
        return tags


def refuse_unknown(cls: type[_Estimator], parameters: Iterable[str]) -> None:
    """Refuses a parameter that an estimator does not have; names the method that has it, or the nearest name."""
    known = cls._get_param_names()
    for name in parameters:
        if name in known:
            continue
        other = getattr(cls, "parameters_elsewhere", {}).get(name)
        close = get_close_matches(name, known, 1)
        hint = f" (the method {other} has)" if other else f" (did you mean {close[0]}?)" if close else ""
        raise UserError(f"{cls.__name__} has no parameter {name!r}{hint}; it takes {', '.join(known)}")


def generator(random_state: RandomState) -> np.random.Generator:
    """One stream of random numbers from whatever scikit-learn users pass as `random_state`."""
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31 - 1))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise UserError(
            "random_state must be None, a whole number of at least 0, a Generator or a RandomState: "
            f"got {random_state!r}"
        ) from error
