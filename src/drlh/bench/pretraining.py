"""Teaches a CNN to classify a data set, whole or the training part of a protocol, and writes its weights."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.core.errors import UserError
from drlh.core.files import is_writer
from drlh.core.progress import Progress, quiet
from drlh.data.base import DataSet
from drlh.evaluate.protocols import get_protocol
from drlh.hashers.deep.pretrain import accuracy, pretrain
from drlh.networks.backbone import save_cnn

Rows = NDArray[np.int64]


def pretrain_backbone(
    dataset: DataSet,
    backbone: str,
    path: str | Path,
    *,
    weights: str | Path | None = None,
    seed: int = 0,
    recipe: dict[str, Any] | None = None,
    split: dict[str, Any] | None = None,
    resume_from: str | Path | None = None,
    progress: Progress = quiet,
) -> dict[str, Any]:
    """Teaches a backbone to classify rows of pixels and writes its weights; test rows or queries only measure it."""
    if dataset.features is None:
        raise UserError(f"{dataset.name} holds images: give it the pixels that {backbone} takes as features")
    train, test = _train_and_test(dataset, split)
    pixels, labels = dataset.features, dataset.labels
    network = pretrain(
        pixels[train], labels[train], len(dataset.classes), backbone, weights=weights, seed=seed,
        resume_from=resume_from, progress=progress, **(recipe or {}),
    )  # fmt: skip
    result: dict[str, Any] = {
        "file": str(path),
        "backbone": backbone,
        "data": dataset.name,
        "split": split,
        "seed": seed,
        "recipe": network.recipe,
        "n_train": len(train),
        "n_test": len(test),
        "seconds": round(network.seconds, 1),
    }
    if len(test):
        result["test_accuracy"] = accuracy(network, pixels[test], labels[test])
        result["test_accuracy_mirrored"] = accuracy(network, pixels[test], labels[test], mirrored=True)
    if is_writer():
        save_cnn(path, network.body, result)
    return result


def _train_and_test(dataset: DataSet, split: dict[str, Any] | None) -> tuple[Rows, Rows]:
    """The rows to learn from, and those that only measure: a split's queries, or the publisher's test rows."""
    if split:
        protocol = get_protocol(split["protocol"])
        rows = protocol.split(dataset.labels, dataset.test, split["seed"], split["n_query"], split["n_train"])
        return rows.train, rows.query
    held_out = np.zeros(len(dataset), np.bool_) if dataset.test is None else dataset.test
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)
