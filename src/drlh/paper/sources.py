"""Which data plays which role in the tables, and how each process opens it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from drlh.core.errors import UserError
from drlh.core.files import cache_directory, digest, file_digest
from drlh.core.progress import Progress, quiet
from drlh.data import DataSet, load
from drlh.data.catalog import find_set, how_to_get
from drlh.evaluate.protocols import labels_digest
from drlh.features import make_extractor, with_features
from drlh.paper.tables import CNN_ROLES, Panel

BACKBONE = "cnn-small"
# Role → the named set that plays it where no file is given, and the features its pictures get.
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

    def open(self, progress: Progress = quiet) -> DataSet:
        dataset = load(self.data)
        if dataset.features is None or self.label:
            if not self.features:
                raise UserError(f"{self.data} holds no features: add its feature files, or give a file of features")
            extractor = make_extractor(self.features, weights=self.weights)
            dataset = with_features(dataset, extractor, progress=progress)
        return replace(dataset, name=f"{dataset.name}-{self.label}") if self.label else dataset


@dataclass(frozen=True)
class AtHand:
    """What the user has: files by role, and a CNN's weights."""

    files: Mapping[str, str]
    weights: Path | None = None
    quick: bool = False

    def find(self, panel: Panel, seed: int, progress: Progress = quiet) -> Source:
        """The source of a panel; what is missing is told as a UserError."""
        if panel.role in CNN_ROLES:
            return self._cnn(panel, seed, progress)
        name, features = ROLES[panel.role]
        if panel.role in self.files:
            return Source(self.files[panel.role], features)
        if find_set(name) is None:
            raise UserError(f"{name} is not at hand: {how_to_get(name)}, or give --data {panel.role}=FILE")
        return Source(name, features)

    def _cnn(self, panel: Panel, seed: int, progress: Progress) -> Source:
        """The same CNN: as it came, taught to classify the training images, or to be taught with the codes."""
        if self.weights is None:
            raise UserError(f"it needs a CNN to begin with: give --weights FILE, made by drlh pretrain for {BACKBONE}")
        pictures = self.files.get("pictures", "digits" if self.quick else ROLES["pictures"][0])
        _refuse_seen(self.weights, pictures, panel, seed)
        pixels = Source(pictures, ROLES["pictures"][1], label=panel.role)
        if panel.role == "cnn-joint":
            return pixels
        weights = (
            self.weights if panel.role == "cnn-pretrained" else finetuned(pixels, panel, seed, self.weights, progress)
        )
        return Source(pictures, BACKBONE, str(weights), panel.role)


def _refuse_seen(weights: Path, pictures: str, panel: Panel, seed: int) -> None:
    """A CNN that was taught on the same pictures must have seen this split's training images alone."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(weights, "numpy") as file:
            header = json.loads((file.metadata() or {}).get("drlh", "{}"))
    except (SafetensorError, OSError) as error:
        raise UserError(f"{weights} is not a file of drlh pretrain: {error}") from error
    notes = header.get("notes", {})
    wanted = {"protocol": panel.protocol, "seed": seed, "n_query": panel.n_query, "n_train": panel.n_train}
    if notes.get("data") == load(pictures).name and notes.get("split") != wanted:
        raise UserError(
            f"{weights} was taught on pictures of {notes['data']}, maybe queries of {panel.protocol}, seed {seed}; "
            f"teach it on others, or with drlh pretrain --protocol {panel.protocol} --seed {seed}"
        )


def parse_files(given: list[str] | None) -> dict[str, str]:
    """`--data cifar10=FILE.npz` → {"cifar10": "FILE.npz"}."""
    files: dict[str, str] = {}
    for item in given or []:
        role, equals, path = item.partition("=")
        if not equals or role not in ROLES:
            raise UserError(f"--data takes ROLE=FILE, where ROLE is one of {', '.join(ROLES)}: got {item!r}")
        files[role] = path
    return files


def finetuned(pixels: Source, panel: Panel, seed: int, weights: Path, progress: Progress) -> Path:
    """A file of the CNN after learning to classify the panel's training images, made once."""
    from drlh.stages import pretrain_backbone

    dataset = pixels.open(progress)
    split = {"protocol": panel.protocol, "seed": seed, "n_query": panel.n_query, "n_train": panel.n_train}
    tag = digest(file_digest(weights), labels_digest(dataset.labels), repr(sorted(split.items())))[:10]
    path = cache_directory() / "experiments" / f"{BACKBONE}-finetuned-seed{seed}-{tag}.safetensors"
    if not path.exists():
        pretrain_backbone(dataset, BACKBONE, path, weights=weights, seed=seed, split=split, progress=progress)
    return path
