"""The contract of every hasher, and its model file.

A hasher is a scikit-learn transformer: `__init__` only stores, `fit(X, y)` learns, `transform(X)` gives 0/1
codes `(n, n_bits)` as a pure function of each row. A method fills in `_fit` and `_encode`.
"""

import json
import operator
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from drlh.core.codes import Codes
from drlh.core.errors import UserError
from drlh.core.files import atomic_path, check_format
from drlh.core.progress import Progress, quiet

Features = NDArray[np.float64]
RandomState = int | np.random.Generator | np.random.RandomState | None

_AT_ONCE = 8192, 2**25  # most rows and most values of a block of transform, so that float64 copies stay small


class Hasher(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Features (and labels) → codes. See the module's first lines for the contract."""

    supervised: ClassVar[bool] = False
    multilabel: ClassVar[bool] = True

    n_bits: int
    random_state: RandomState

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


def generator(random_state: RandomState) -> np.random.Generator:
    """One stream of random numbers from whatever scikit-learn users pass as `random_state`."""
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31 - 1))
    return np.random.default_rng(random_state)


FORMAT, VERSION = "drlh-model", 1


def save_hasher(path: str | Path, method: str, hasher: Hasher, notes: Mapping[str, Any] | None = None) -> None:
    """One safetensors file: the arrays, and in its header the method, parameters and `notes` as JSON.

    Everything learned is an attribute that ends in an underscore: an array, a mapping of arrays, or plain JSON.
    """
    from safetensors.numpy import save_file

    check_is_fitted(hasher)
    arrays: dict[str, NDArray[Any]] = {}
    values: dict[str, Any] = {}
    for name, value in vars(hasher).items():
        if not name.endswith("_"):
            continue
        if isinstance(value, np.ndarray) and value.dtype.kind not in "OUS":
            arrays[name] = np.asarray(value, order="C")
        elif isinstance(value, np.ndarray):
            values[name] = {"text": [str(item) for item in value.tolist()]}
        elif isinstance(value, Mapping):
            arrays |= {f"{name}.{key}": np.asarray(item, order="C") for key, item in value.items()}
        else:
            values[name] = {"value": value}
    parameters = {key: _plain(value) for key, value in hasher.get_params(deep=False).items()}
    header = {"format": FORMAT, "version": VERSION, "method": method, "parameters": parameters, "values": values}
    # One entry only: safetensors writes several in any order, and equal models should be equal bytes.
    metadata = {"drlh": json.dumps(header | {"notes": dict(notes or {})})}
    with atomic_path(path) as temporary:
        save_file(arrays, temporary, metadata)


def _plain(value: Any) -> Any:
    """A parameter as JSON; a generator or a callback is not part of a model and becomes None."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, str | int | float | bool | list | tuple | dict) else None


def read_model(path: str | Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """(header, arrays) of a model file, or one sentence that says why it is not one."""
    from safetensors import SafetensorError, safe_open

    if not Path(path).is_file():
        raise UserError(f"{path} is not a file: wanted a model made by `drlh fit`")
    try:
        with safe_open(path, "numpy") as file:
            metadata = dict(file.metadata() or {})
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
    except (SafetensorError, OSError) as error:
        raise UserError(f"{path} is damaged or not a model made by `drlh fit`: {error}") from error
    header = json.loads(metadata.get("drlh", "{}"))
    check_format(header, path, format_name=FORMAT, version=VERSION)
    return header, arrays


def restore(hasher: Hasher, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Hasher:
    """Gives an unfitted hasher what `read_model` found."""
    for name, value in header["values"].items():
        setattr(hasher, name, np.array(value["text"]) if "text" in value else value["value"])
    for name, array in arrays.items():
        owner, _, key = name.partition(".")
        if key:
            mapping = getattr(hasher, owner, {})
            setattr(hasher, owner, mapping | {key: array})
        else:
            setattr(hasher, name, array)
    return hasher
