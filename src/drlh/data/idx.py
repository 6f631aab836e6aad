"""IDX files, the format of MNIST and its relatives, plain or gzipped."""

import gzip
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.core.errors import UserError
from drlh.data.bad_rows import BadRows
from drlh.data.base import ArrayImages, DataSet

FASHION_CLASSES = (
    "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot",
)  # fmt: skip
FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)


def read(root: Path, skip_bad: bool = False) -> DataSet:
    """Four IDX files; the classes are named by their numbers, or as clothes where the directory says fashion."""
    if "fashion" in root.resolve().name.lower():
        return read_fashion(root, skip_bad)
    labels = _read_labels(root)
    classes = tuple(str(number) for number in range(int(labels.max(initial=-1)) + 1))
    return _read(root, labels, root.resolve().name, classes, skip_bad)


def read_fashion(root: Path, skip_bad: bool = False) -> DataSet:
    return _read(root, _read_labels(root), "fashion-mnist", FASHION_CLASSES, skip_bad)


def _read(root: Path, labels: NDArray[np.int64], name: str, classes: tuple[str, ...], skip_bad: bool) -> DataSet:
    train, test = (_read_idx(_wanted(root, FILES[which]), n_axes=3) for which in (0, 2))
    if train.shape[1:] != test.shape[1:] or len(train) + len(test) != len(labels):
        raise UserError(
            f"the IDX files in {root} do not belong together: pictures {train.shape} and {test.shape} "
            f"with {len(labels)} labels; take all four from one publisher"
        )
    bad = BadRows(skip_bad)
    for row in np.flatnonzero(labels >= len(classes)):
        bad.add(row, f"{root} row {row} has class id {labels[row]}, which is not one of 0 to {len(classes) - 1}")
    images = ArrayImages(np.concatenate([train, test]), name)
    return bad.drop_from(DataSet(name, labels, classes, images, test=np.arange(len(labels)) >= len(train)))


def _read_labels(root: Path) -> NDArray[np.int64]:
    parts = [_read_idx(_wanted(root, FILES[which]), n_axes=1) for which in (1, 3)]
    return np.concatenate(parts).astype(np.int64)


def _existing(root: Path, name: str) -> Path | None:
    """The file as it is published, unpacked, or with the dot some archives put into its name."""
    for stem in (name, name.replace("-idx", ".idx")):
        for path in (root / stem, root / f"{stem}.gz"):
            if path.is_file():
                return path
    return None


def _wanted(root: Path, name: str) -> Path:
    path = _existing(root, name)
    if path is None:
        raise UserError(f"{root / name} (or {name}.gz) is missing: put the four IDX files into {root}")
    return path


def _read_idx(path: Path, *, n_axes: int) -> NDArray[np.uint8]:
    raw = _read_bytes(path)
    header = 4 + 4 * n_axes
    if len(raw) < header or raw[:4] != bytes([0, 0, 8, n_axes]):
        raise UserError(f"{path} is not an IDX file of bytes with {n_axes} axes; download it anew")
    shape = tuple(int(length) for length in np.frombuffer(raw, ">u4", n_axes, 4))
    if len(raw) - header != int(np.prod(shape, dtype=np.int64)):
        raise UserError(f"{path} has {len(raw) - header:,} bytes where its head promises {shape}; download it anew")
    values: NDArray[Any] = np.frombuffer(raw, np.uint8, offset=header)
    return values.reshape(shape)


def _read_bytes(path: Path) -> bytes:
    try:
        if path.suffix != ".gz":
            return path.read_bytes()
        with gzip.open(path) as file:
            return file.read()
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path} cannot be read: {error}; download it anew") from error
