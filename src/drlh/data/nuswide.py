"""NUS-WIDE in its official layout, reduced to the pictures that carry one of the 21 most frequent concepts.

ImageList/Imagelist.txt                 one path a line, `actor\\0001_2124494179.jpg`
Groundtruth/AllLabels/Labels_sky.txt    0 or 1 a line, one file for each of the 81 concepts
Low_Level_Features/                     optional: its files are listed in `nuswide_features.py`
Flickr/                                 optional: the pictures
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from drlh.core.errors import UserError
from drlh.data.bad_rows import BadRows
from drlh.data.base import DataSet, FileImages
from drlh.data.lines import lines_of
from drlh.data.nuswide_features import read_features

N_CONCEPTS = 21
EXPECTED_ROWS = 195_834


def read(root: Path, skip_bad: bool = False) -> DataSet:
    names = image_names(root / "ImageList" / "Imagelist.txt")
    classes, labels = _frequent_concepts(root / "Groundtruth" / "AllLabels", len(names))
    rows = np.flatnonzero(labels.any(axis=1))
    bad = BadRows(skip_bad)
    features = read_features(root, names, rows, bad)
    images = FileImages(root / "Flickr", [names[row] for row in rows]) if (root / "Flickr").is_dir() else None
    if features is None and images is None:
        raise UserError(
            f"{root} has labels but neither the features (Low_Level_Features) nor the pictures (Flickr); "
            "add one of them"
        )
    dataset = DataSet("nuswide21", labels[rows], classes, images, features, _test_rows(root, names, rows))
    return _with_note(bad.drop_from(dataset), len(rows))


def image_names(path: Path) -> list[str]:
    """Paths below Flickr/; the published lists were written on Windows."""
    return [line.replace("\\", "/") for line in lines_of(path)]


def _frequent_concepts(directory: Path, n: int) -> tuple[tuple[str, ...], NDArray[np.uint8]]:
    """The names of the most frequent concepts, sorted, and their 0/1 columns (n, 21)."""
    paths = sorted(directory.glob("Labels_*.txt"))
    if len(paths) < N_CONCEPTS:
        raise UserError(f"{directory} has {len(paths)} files Labels_*.txt, and {N_CONCEPTS} or more are needed")
    columns = np.stack([_read_column(path, n) for path in paths])
    most_frequent = np.argsort(-columns.sum(axis=1, dtype=np.int64), kind="stable")[:N_CONCEPTS]
    chosen = np.sort(most_frequent)
    classes = tuple(paths[place].stem.removeprefix("Labels_") for place in chosen)
    return classes, np.ascontiguousarray(columns[chosen].T)


def _read_column(path: Path, n: int) -> NDArray[np.uint8]:
    raw = np.frombuffer(path.read_bytes(), np.uint8)
    values = raw[raw > ord(" ")] - ord("0")
    if (values > 1).any():
        place = np.flatnonzero(raw > ord(" "))[np.flatnonzero(values > 1)[0]]
        line = 1 + int((raw[:place] == ord("\n")).sum())
        raise UserError(f"{path} line {line}: wanted 0 or 1, got {chr(raw[place])!r}")
    if len(values) != n:
        raise UserError(f"{path} has {len(values)} labels, and Imagelist.txt {n} pictures; they must agree")
    return values


def _test_rows(root: Path, names: list[str], rows: NDArray[np.int64]) -> NDArray[np.bool_] | None:
    path = root / "ImageList" / "TestImagelist.txt"
    if not path.is_file():
        return None
    test = set(image_names(path))
    return np.array([names[row] in test for row in rows], np.bool_)


def _with_note(dataset: DataSet, n_rows: int) -> DataSet:
    if n_rows == EXPECTED_ROWS:
        return dataset
    return replace(
        dataset,
        notes=(
            f"{n_rows:,} pictures carry one of the {N_CONCEPTS} concepts where the published set has "
            f"{EXPECTED_ROWS:,}: results are not comparable with papers",
        ),
    )
