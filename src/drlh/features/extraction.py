"""The features of a whole collection: in memory, as a data set, or in an NPZ file of any length.

`load_features` is the short way from a name or path to a data set with features.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from drlh.core.errors import UserError
from drlh.core.files import NpzWriter, atomic_path
from drlh.core.progress import Progress, quiet
from drlh.data.base import ArrayImages, DataSet, Images
from drlh.data.loading import load
from drlh.data.some_images import subset
from drlh.features.extractor import Extractor, Features
from drlh.features.making import make_extractor
from drlh.features.pipeline import extract_blocks, load_chunk


def load_features(
    data: str | Path,
    features: str | None = None,
    *,
    flip: bool = False,
    weights: str | Path | None = None,
    layer: str | None = None,
    directory: str | Path | None = None,
    backbone: str | None = None,
    skip_bad: bool = False,
    progress: Progress = quiet,
) -> DataSet:
    """A data set with features; its `extractor` says how they were made.

    Parameters
    ----------
    data : a data set's name, an image folder, a CSV or TSV table, or an NPZ file (see `drlh.data.load`).
    features : the extractor's name (see `make_extractor`). By default the data set's own features; else the pixels
        that `backbone` takes; else gray8 for scikit-learn's digits and lite0 for other images.
    flip, weights, layer : of the extractor (see `make_extractor`).
    directory : where a named data set lies, if not in the cache.
    backbone : the CNN that will learn from the pixels.
    skip_bad : leave broken rows out and list them in `left_out`, instead of raising a UserError.
    progress : called with the number of images done.
    """
    dataset = load(data, directory=directory, skip_bad=skip_bad)
    if features is None:
        if dataset.features is not None:
            return dataset
        features = _default_features(dataset, backbone)
    extractor = make_extractor(features, flip=flip, weights=weights, layer=layer)
    return with_features(dataset, extractor, skip_bad=skip_bad, progress=progress)


def _default_features(dataset: DataSet, backbone: str | None) -> str:
    if backbone is not None:
        from drlh.networks.backbone import module_of

        return f"pixels{module_of(backbone).SIZE}"
    is_digits = dataset.name == "digits" and isinstance(dataset.images, ArrayImages)
    return "gray8" if is_digits else "lite0"


@dataclass(frozen=True)
class Extraction:
    """The features of some images, and what became of each row."""

    features: Features  # (n_kept, n_features)
    kept: NDArray[np.int64]  # the rows of the images that were good
    left_out: tuple[str, ...]  # one sentence for each bad row


def extract(
    images: Images,
    extractor: Extractor,
    *,
    cache: Path | None = None,
    chunk: int = 512,
    skip_bad: bool = False,
    threads: int | None = None,
    progress: Progress = quiet,
) -> Extraction:
    """The features of all images in one matrix; the parameters are those of `extract_blocks`."""
    features = np.empty((len(images), extractor.n_features), np.float32)
    kept = np.empty(len(images), np.int64)
    left_out: list[str] = []
    n = 0
    for block in extract_blocks(
        images, extractor, cache=cache, chunk=chunk, skip_bad=skip_bad, threads=threads, progress=progress
    ):
        place = slice(n, n + len(block.rows))
        features[place], kept[place] = block.features, block.rows
        n = place.stop
        left_out += block.left_out
    return Extraction(features[:n], kept[:n], tuple(left_out))


def with_features(
    dataset: DataSet,
    extractor: Extractor,
    *,
    cache: Path | None = None,
    skip_bad: bool = False,
    progress: Progress = quiet,
) -> DataSet:
    """`dataset` with the features of its pictures, without the rows that `skip_bad` leaves out."""
    result = extract(_pictures(dataset), extractor, cache=cache, skip_bad=skip_bad, progress=progress)
    _refuse_nothing(len(result.kept), dataset, result.left_out)
    left_out = (*dataset.left_out, *result.left_out)
    if result.left_out:
        dataset = subset(dataset, result.kept)
    return replace(dataset, features=result.features, extractor=extractor.settings, left_out=left_out)


def extract_to_npz(
    dataset: DataSet,
    extractor: Extractor,
    path: str | Path,
    *,
    cache: Path | None = None,
    chunk: int = 512,
    skip_bad: bool = False,
    threads: int | None = None,
    progress: Progress = quiet,
) -> tuple[str, ...]:
    """Writes a feature file and returns one sentence for each row left out; memory does not grow with the rows.

    Members: `x`, `y`, or `x_train`, `y_train`, `x_test`, `y_test` where the publisher has set test rows apart;
    `names` in the same order; `classes`; `extractor`, the settings as JSON.
    """
    images = _pictures(dataset)
    kept = np.zeros(len(images), np.bool_)
    files: list[tuple[range, Path]] = []  # the chunks on disk, from which the file is put together
    left_out: list[str] = []
    for block in extract_blocks(
        images, extractor, cache=cache, chunk=chunk, skip_bad=skip_bad, threads=threads, progress=progress
    ):
        kept[block.rows] = True
        files.append((block.span, block.path))
        left_out += block.left_out
    _refuse_nothing(int(kept.sum()), dataset, left_out)
    parts = {"": kept}
    if dataset.test is not None:
        parts = {"_train": kept & ~dataset.test, "_test": kept & dataset.test}
    with atomic_path(path) as temporary, NpzWriter(temporary) as writer:
        for suffix, mask in parts.items():
            shape = (int(mask.sum()), extractor.n_features)
            rows = _stored_rows(files, kept, mask, extractor.n_features)
            writer.write_rows(f"x{suffix}", shape, np.dtype(np.float32), rows)
            writer.write(f"y{suffix}", dataset.labels[mask])
        order = np.concatenate([np.flatnonzero(mask) for mask in parts.values()])
        writer.write_texts("names", lambda row: images.name(int(order[row])), len(order))
        writer.write("classes", np.array(dataset.classes, np.str_))
        writer.write("extractor", np.array(json.dumps(extractor.settings)))
    return tuple(left_out)


def _stored_rows(
    files: list[tuple[range, Path]], kept: NDArray[np.bool_], wanted: NDArray[np.bool_], n_features: int
) -> Iterator[Features]:
    """The rows that are `wanted`, chunk by chunk; a chunk's file holds those that were `kept`."""
    for span, path in files:
        rows = slice(span.start, span.stop)
        stored = load_chunk(path, len(span), n_features)
        if stored is None:
            raise UserError(f"{path} was removed while it was in use; start again: the rest is still in the cache")
        yield stored.features[wanted[rows][kept[rows]]]


def _pictures(dataset: DataSet) -> Images:
    if dataset.images is None:
        raise UserError(f"{dataset.name} has ready features and no pictures: use the features as they are")
    return dataset.images


def _refuse_nothing(n_kept: int, dataset: DataSet, left_out: list[str] | tuple[str, ...]) -> None:
    if n_kept == 0:
        why = f"all {len(left_out)} were left out, first: {left_out[0]}" if left_out else "it is empty"
        raise UserError(f"{dataset.name} has no picture to take features from: {why}")
