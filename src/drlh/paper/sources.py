"""Which data plays which role in the tables, what of it is available, and how each process opens it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from drlh.core.errors import UserError
from drlh.core.files import cache_directory, digest, file_digest
from drlh.core.progress import Progress, quiet
from drlh.data import DataSet, load
from drlh.data.catalog import find_set, how_to_get
from drlh.data.picture import Picture
from drlh.evaluate.protocols import labels_digest
from drlh.features import make_extractor, with_features
from drlh.features.extractor import Extractor, Features
from drlh.paper.tables import CNN_ROLES, Panel

BACKBONE = "cnn-small"
# Role → the named set that plays it where no file is given, and the features that its pictures get.
ROLES: dict[str, tuple[str, str]] = {
    "digits": ("digits", "gray8"),
    "gist": ("cifar10", "gist"),
    "cifar10": ("cifar10", "lite0"),
    "nuswide": ("nuswide21", ""),
    "nuswide-cnn": ("nuswide21", "lite0"),
    "voc": ("voc2007", "lite0"),
    "pictures": ("cifar10", "pixels32"),
}


@dataclass(frozen=True)
class Source:
    """A data set that a worker can open by itself."""

    data: str
    features: str = ""
    weights: str | None = None  # of the network that makes the features
    label: str = ""  # added to the data set's name, where features alone do not tell two sources apart

    def open(self, progress: Progress = quiet, *, compute: bool = True) -> DataSet:
        """The data set with its features; without `compute`, features that are not in the cache raise `NotComputed`."""
        dataset = load(self.data)
        if dataset.features is None or self.label:
            if not self.features:
                raise UserError(f"{self.data} holds no features: add its feature files, or give a file of features")
            if self.weights is not None and not compute and not Path(self.weights).exists():
                raise NotComputed(f"{BACKBONE} is to be fine-tuned for {self.data}")
            extractor = make_extractor(self.features, weights=self.weights)
            if not compute and self.data != "digits":  # digits are read, there is nothing to compute
                extractor = _CacheOnly(extractor, self.data)
            dataset = with_features(dataset, extractor, progress=progress)
        return replace(dataset, name=f"{dataset.name}-{self.label}") if self.label else dataset


class NotComputed(Exception):
    """Something that a run would compute first; its text says what."""


class _CacheOnly(Extractor):
    """An extractor that stands for another one and computes nothing: features come from the cache or not at all."""

    def __init__(self, base: Extractor, data: str) -> None:
        self.name, self.n_features, self.settings, self.batch = base.name, base.n_features, base.settings, base.batch
        self._data = data

    def prepare(self, picture: Picture) -> Any:
        raise NotComputed(f"features {self.name} of {self._data} are to be computed")

    def features(self, prepared: Sequence[Any]) -> Features:
        raise AssertionError("nothing was prepared")


@dataclass(frozen=True)
class AvailableData:
    """What there is to run on: files by role, and a CNN's weights."""

    files: Mapping[str, str]
    weights: Path | None = None
    quick: bool = False

    def find(self, panel: Panel, seed: int) -> Source:
        """The source of a panel; a UserError says what is missing."""
        if panel.role in CNN_ROLES:
            return self._cnn(panel, seed)
        name, features = ROLES[panel.role]
        if panel.role in self.files:
            return Source(self.files[panel.role], features)
        if find_set(name) is None:
            raise UserError(f"{name} is not available: {how_to_get(name)}, or give a file for {panel.role}")
        return Source(name, features)

    def _cnn(self, panel: Panel, seed: int) -> Source:
        """The same CNN: as it came, fine-tuned to classify the training images, or to learn with the codes."""
        if self.weights is None:
            raise UserError(f"it needs the weights of a CNN to begin with, made by drlh pretrain for {BACKBONE}")
        pictures = self.files.get("pictures", "digits" if self.quick else ROLES["pictures"][0])
        _refuse_other_split(self.weights, pictures, panel, seed)
        if panel.role == "cnn-joint":
            return Source(pictures, ROLES["pictures"][1], label=panel.role)
        tuned = panel.role == "cnn-finetuned"
        weights = finetuned_file(pictures, panel, seed, self.weights) if tuned else self.weights
        return Source(pictures, BACKBONE, str(weights), panel.role)

    def prepare(self, source: Source, panel: Panel, seed: int, progress: Progress = quiet) -> None:
        """Fine-tunes the CNN of a source that needs it, once."""
        if source.weights is None or self.weights is None or Path(source.weights).exists():
            return
        from drlh.bench.pretraining import pretrain_backbone

        pixels = Source(source.data, ROLES["pictures"][1], label=panel.role).open(progress)
        options: dict[str, Any] = {"weights": self.weights, "seed": seed, "split": _split_of(panel, seed)}
        pretrain_backbone(pixels, BACKBONE, source.weights, **options, progress=progress)


def _split_of(panel: Panel, seed: int) -> dict[str, Any]:
    return {"protocol": panel.protocol, "seed": seed, "n_query": panel.n_query, "n_train": panel.n_train}


def finetuned_file(pictures: str, panel: Panel, seed: int, weights: Path) -> Path:
    """The file of the CNN after learning to classify the panel's training images."""
    split = repr(sorted(_split_of(panel, seed).items()))
    tag = digest(file_digest(weights), labels_digest(load(pictures).labels), split)[:10]
    return cache_directory() / "experiments" / f"{BACKBONE}-finetuned-seed{seed}-{tag}.safetensors"


def _refuse_other_split(weights: Path, pictures: str, panel: Panel, seed: int) -> None:
    """A CNN that was pretrained on the same pictures must have learned from this split's training images alone."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(weights, "numpy") as file:
            header = json.loads((file.metadata() or {}).get("drlh", "{}"))
    except (SafetensorError, OSError) as error:
        raise UserError(f"{weights} is not a file of drlh pretrain: {error}") from error
    notes = header.get("notes", {})
    if notes.get("data") == load(pictures).name and notes.get("split") != _split_of(panel, seed):
        raise UserError(
            f"{weights} was pretrained on pictures of {notes['data']}, maybe queries of {panel.protocol}, seed {seed}; "
            f"pretrain it on others, or under the protocol {panel.protocol} with seed {seed}"
        )


def parse_files(given: list[str] | None) -> dict[str, str]:
    """`["cifar10=FILE.npz"]` → {"cifar10": "FILE.npz"}."""
    files: dict[str, str] = {}
    for item in given or []:
        role, equals, path = item.partition("=")
        if not equals or role not in ROLES:
            raise UserError(f"a file of data is given as ROLE=FILE, ROLE one of {', '.join(ROLES)}: got {item!r}")
        files[role] = path
    return files
