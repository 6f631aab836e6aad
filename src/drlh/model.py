"""A model at work: the extractor and the hasher that a model file holds, built once and kept."""

import inspect
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from drlh.core.codes import Packed, pack
from drlh.core.errors import UserError
from drlh.core.files import file_digest
from drlh.core.progress import Progress, quiet
from drlh.data.base import DataSet
from drlh.data.picture import Picture, read_picture
from drlh.data.some_images import subset
from drlh.features.extractor import Extractor
from drlh.features.making import extractor_from
from drlh.hashers.methods import DEFAULT_METHOD, find_method, make_hasher
from drlh.hashers.model_file import read_model_file, save_hasher

if TYPE_CHECKING:
    from PIL import Image

    from drlh.hashers.base import Hasher
    from drlh.hashers.training.agents import Trace

    Item = str | Path | Image.Image | Picture

Row = NDArray[Any]  # (n_features,)


class HoldsCodes(Protocol):
    """What an index says of the codes it holds."""

    n_bits: int
    notes: dict[str, Any]


class Model:
    """A fitted hasher with the features it was fitted on: pictures or features in, codes out.

    `Model.fit` learns one and `Model.load` reads one from a file; both keep the extractor and the network they build.

    Parameters
    ----------
    hasher : Hasher
        A fitted hasher.
    notes : mapping, optional
        How it came about, as a model file keeps it: `data`, `classes`, `extractor` (the settings of the features),
        `supervised`, `labels` and `split`.

    Attributes
    ----------
    hasher : Hasher
        The fitted hasher.
    notes : dict
        See the parameter.
    method : str
        The method's name, as `drlh methods` lists it.
    n_bits : int
        Length of the codes.
    n_features : int
        Length of the feature rows it takes.
    classes : tuple of str
        The names of the classes it was fitted on; empty where it does not know them.
    sha256 : str or None
        Digest of its file; None until it is saved or where it was not loaded from one.
    path : Path or None
        Where it was loaded from or saved to.
    n_train : int or None
        Number of images it was fitted on; None where it was loaded.
    """

    def __init__(self, hasher: "Hasher", notes: Mapping[str, Any] | None = None) -> None:
        self.hasher = hasher
        self.notes: dict[str, Any] = dict(notes or {})
        self.method = find_method(type(hasher).__name__).name
        self.n_bits = int(hasher.n_bits)
        self.n_features = int(hasher.n_features_in_)
        self.classes = tuple(str(name) for name in self.notes.get("classes") or ())
        self.path: Path | None = None
        self.sha256: str | None = None
        self.n_train: int | None = None

    @classmethod
    def fit(
        cls,
        data: str | Path | DataSet,
        method: str = DEFAULT_METHOD,
        n_bits: int = 32,
        *,
        features: str | None = None,
        protocol: str | None = None,
        n_query: int | None = None,
        n_train: int | None = None,
        seed: int = 0,
        resume_from: str | Path | None = None,
        progress: Progress = quiet,
        **parameters: Any,
    ) -> Self:
        """Learns codes for a data set.

        Parameters
        ----------
        data : str, Path or DataSet
            A data set's name, an image folder, a table, a file of features, or a loaded data set.
        method : str
            A name of `drlh methods`.
        n_bits : int
            Length of the codes.
        features : str, optional
            What is made of pictures, for example `lite0`; a sensible default where the data holds no features.
        protocol : str, optional
            Learn from the training rows of this protocol alone; from all rows unless given.
        n_query, n_train : int, optional
            Sizes of the protocol's split.
        seed : int
            Seed of the split and of the method.
        resume_from : str or Path, optional
            A directory for checkpoints: an interrupted fit resumes there, bit-identical to an uninterrupted one.
        progress : callable
            Called with (done, total, what) as work goes on.
        **parameters
            Parameters of the method.
        """
        hasher = make_hasher(method, n_bits, random_state=seed, **parameters)
        options = _resume_options(hasher, method, resume_from)
        dataset = data if isinstance(data, DataSet) else _opened(data, features, hasher, progress)
        if dataset.features is None:
            raise UserError(f"{dataset.name} holds pictures and no features: name some, for example features='lite0'")
        notes = _notes_of(dataset, hasher)
        if protocol is not None:
            dataset, notes["split"] = _training_rows(dataset, protocol, seed, n_query, n_train)
        assert dataset.features is not None  # looked at above
        hasher.fit(dataset.features, dataset.labels, progress=progress, **options)
        model = cls(hasher, notes)
        model.n_train = len(dataset)
        return model

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The model in a file that `save` or `drlh fit` wrote."""
        found = read_model_file(path)
        model = cls(found.hasher, found.notes)
        model.path, model.sha256 = Path(path), file_digest(path)
        return model

    def save(self, path: str | Path) -> None:
        """Writes the model to one file, replacing it at once."""
        save_hasher(path, self.hasher, self.notes)
        self.path, self.sha256 = Path(path), file_digest(path)

    def encode(self, items: "Item | Sequence[Item] | ArrayLike") -> Packed:
        """Packed codes, ready for `Index.search`.

        Parameters
        ----------
        items : pictures or features
            Paths, PIL images or uint8 arrays (height, width, 3), one or several; or features (n, n_features).

        Returns
        -------
        Packed
            (n, ceil(n_bits / 8)) bytes; `drlh.unpack` makes 0/1 of them.
        """
        return pack(self.hasher.transform(self.features_of(items)))

    def features_of(self, items: "Item | Sequence[Item] | ArrayLike") -> NDArray[Any]:
        """Features (n, n_features) of pictures; features stay as they are. See `encode` for what `items` may be."""
        pictures = _pictures(items)
        if pictures is not None:
            return self.extractor(pictures)
        return self.check_features(np.asarray(items))

    def walk(self, item: "Item | ArrayLike") -> "Trace":
        """The walk of one picture or feature row across the cube, step by step; of the methods that walk."""
        if not self.walks:
            raise UserError(f"{self.method} makes its codes in one go: only drlh and drlh-paper walk")
        row = np.asarray(item)[None] if _is_row(item) else item
        features = self.features_of(row)
        if len(features) != 1:
            raise UserError(f"walk takes one picture: got {len(features)}")
        walker: Any = self.hasher
        trace: Trace = walker.walk(features[0])
        return trace

    @property
    def walks(self) -> bool:
        """Whether the method's codes are found by a walk."""
        return hasattr(self.hasher, "walk")

    @property
    def reads_pictures(self) -> bool:
        """Whether the model knows how its features are made, and so takes pictures."""
        return bool(self.notes.get("extractor"))

    @cached_property
    def extractor(self) -> Extractor:
        """What makes the features that the hasher was fitted on; built when first asked for."""
        settings = self.notes.get("extractor")
        if not settings:
            raise UserError(
                "this model cannot read pictures, for it was fitted on features of unknown origin: give it features, "
                "or fit it on pictures or on a file of `drlh features`"
            )
        return extractor_from(settings)

    def check_features(self, features: NDArray[Any]) -> NDArray[Any]:
        """`features` if they are rows as the hasher takes them."""
        if features.ndim != 2 or features.shape[1] != self.n_features:
            raise UserError(f"the model takes features of shape (n, {self.n_features}): got {features.shape}")
        return features

    def check_index(self, index: HoldsCodes, name: str = "this index") -> None:
        """Refuses an index that holds the codes of another model; one that knows of none passes."""
        known = index.notes.get("model_sha256") in (None, self.sha256)
        if not known or index.n_bits != self.n_bits:
            model = self.path or "this model"
            raise UserError(f"the codes of {name} were not made with {model}: take the model that made them")


def _resume_options(hasher: "Hasher", method: str, resume_from: str | Path | None) -> dict[str, Any]:
    if resume_from is None:
        return {}
    if "resume_from" not in inspect.signature(hasher.fit).parameters:
        raise UserError(f"{method} keeps no checkpoints, so it cannot resume: leave resume_from out")
    return {"resume_from": resume_from}


def _opened(data: str | Path, features: str | None, hasher: "Hasher", progress: Progress) -> DataSet:
    from drlh.features.extraction import load_features

    return load_features(str(data), features, backbone=getattr(hasher, "backbone", None), progress=progress)


def _notes_of(dataset: DataSet, hasher: "Hasher") -> dict[str, Any]:
    from drlh.evaluate.protocols import labels_digest

    return {
        "data": dataset.name,
        "supervised": hasher.supervised,
        "classes": list(dataset.classes),
        "extractor": dataset.extractor,
        "labels": labels_digest(dataset.labels),
        "split": None,
    }


def _training_rows(
    dataset: DataSet, protocol: str, seed: int, n_query: int | None, n_train: int | None
) -> tuple[DataSet, dict[str, Any]]:
    """The training rows of a protocol's split, and what a model file says of it."""
    from drlh.evaluate.protocols import get_protocol, split_digest

    rows = get_protocol(protocol).split(dataset.labels, dataset.test, seed, n_query, n_train)
    asked = {"protocol": protocol, "seed": seed, "n_query": n_query, "n_train": n_train}
    return subset(dataset, rows.train), asked | {"digest": split_digest(rows)}


def _pictures(items: Any) -> list[Picture] | None:
    """`items` as pictures, None where they are features."""
    if _is_picture(items):
        items = [items]
    if isinstance(items, np.ndarray) and items.ndim == 4:
        return list(items)
    if isinstance(items, Sequence) and items and all(_is_picture(item) for item in items):
        return [_picture(item) for item in items]
    return None


def _is_picture(item: Any) -> bool:
    return isinstance(item, str | Path) or hasattr(item, "convert") or (isinstance(item, np.ndarray) and item.ndim == 3)


def _is_row(item: Any) -> bool:
    return not _is_picture(item) and np.ndim(item) == 1 and not isinstance(item[0], str | Path)


def _picture(item: Any) -> Picture:
    if isinstance(item, str | Path):
        return read_picture(item)
    return item if isinstance(item, np.ndarray) else np.asarray(item.convert("RGB"))
