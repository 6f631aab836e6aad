"""Describes a data set in plain numbers, and checks whether its pictures can be read."""

from typing import Any

import numpy as np

from drlh.core.errors import UserError
from drlh.core.progress import Progress, quiet
from drlh.data.base import ArrayImages, DataSet, Images
from drlh.data.some_images import SomeImages


def describe(dataset: DataSet) -> dict[str, Any]:
    """Rows, classes with their counts, what there is to work with: ready for JSON."""
    multilabel = dataset.is_multilabel
    counts = dataset.labels.sum(axis=0, dtype=np.int64) if multilabel else _counts(dataset)
    return {
        "name": dataset.name,
        "rows": len(dataset),
        "test_rows": None if dataset.test is None else int(dataset.test.sum()),
        "n_classes": len(dataset.classes),
        "classes": [{"name": name, "rows": int(count)} for name, count in zip(dataset.classes, counts)],
        "multilabel": multilabel,
        "labels_per_row": float(counts.sum() / max(1, len(dataset))),
        "images": dataset.images is not None,
        "picture_shape": _picture_shape(dataset.images),
        "n_features": None if dataset.features is None else int(dataset.features.shape[1]),
        "extractor": dataset.extractor,
        "notes": list(dataset.notes),
        "left_out": list(dataset.left_out),
    }


def _counts(dataset: DataSet) -> Any:
    return np.bincount(dataset.labels, minlength=len(dataset.classes))


def _picture_shape(images: Images | None) -> list[int] | None:
    """Height, width and channels where all pictures have the same; None for files, which may differ."""
    base = images.images if isinstance(images, SomeImages) else images
    return [int(length) for length in base.pixels.shape[1:]] if isinstance(base, ArrayImages) else None


def check_images(dataset: DataSet, progress: Progress = quiet) -> list[str]:
    """Reads every picture and returns one sentence for each that cannot be read."""
    sentences: list[str] = []
    images = dataset.images
    if images is None:
        return sentences
    for row in range(len(images)):
        try:
            images.read(row)
        except UserError as error:
            sentences.append(str(error))
        progress(row + 1, len(images), "checking pictures")
    return sentences
