"""Some rows of a data set as a data set of their own."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from drlh.core.errors import UserError
from drlh.data.base import ArrayImages, DataSet, FileImages, Images
from drlh.data.picture import Picture


class SomeImages(Images):
    """A view of other images: row `i` here is row `rows[i]` there."""

    def __init__(self, images: Images, rows: NDArray[np.int64]) -> None:
        # A view of a view would cost one more step for every picture.
        viewed = images if isinstance(images, SomeImages) else None
        self.images: Images = viewed.images if viewed else images
        self.rows: NDArray[np.int64] = viewed.rows[rows] if viewed else rows

    def __len__(self) -> int:
        return len(self.rows)

    def name(self, row: int) -> str:
        return self.images.name(int(self.rows[row]))

    def raw(self, row: int) -> bytes:
        return self.images.raw(int(self.rows[row]))

    def decode(self, row: int, raw: bytes) -> Picture:
        return self.images.decode(int(self.rows[row]), raw)

    def stamp(self, row: int) -> bytes:
        return self.images.stamp(int(self.rows[row]))


def apart(images: Images, rows: NDArray[np.int64]) -> Images:
    """Some rows without the rest, small enough to be sent to another process; they keep their names and numbers."""
    if isinstance(images, SomeImages):
        return apart(images.images, images.rows[rows])
    if isinstance(images, ArrayImages):
        numbers = [int(images.numbers[row]) for row in rows]
        return ArrayImages(np.ascontiguousarray(images.pixels[rows]), images.prefix, numbers)
    if isinstance(images, FileImages):
        numbers = [int(images.numbers[row]) for row in rows]
        return FileImages(images.root, [images.names[row] for row in rows], numbers)
    return SomeImages(images, rows)


def subset(dataset: DataSet, rows: ArrayLike) -> DataSet:
    """Some rows of a data set; pictures are viewed, not copied.

    Parameters
    ----------
    dataset : the whole.
    rows : row numbers (m,), in the order wanted, or a mask (n,).
    """
    index = _row_numbers(np.asarray(rows), len(dataset))
    return replace(
        dataset,
        labels=dataset.labels[index],
        images=None if dataset.images is None else SomeImages(dataset.images, index),
        features=None if dataset.features is None else dataset.features[index],
        names=None if dataset.names is None else dataset.names[index],
        test=None if dataset.test is None else dataset.test[index],
    )


def _row_numbers(rows: NDArray[Any], n: int) -> NDArray[np.int64]:
    if rows.dtype == np.bool_:
        if rows.shape != (n,):
            raise UserError(f"a mask of rows must have one entry for each of the {n} rows: got shape {rows.shape}")
        return np.flatnonzero(rows)
    index = rows.astype(np.int64)
    if index.ndim != 1 or (index.size and (index.min() < 0 or index.max() >= n)):
        raise UserError(f"row numbers must be a list of numbers from 0 to {n - 1}: got {rows}")
    return index
