"""scikit-learn's digits: 1,797 pictures of 8x8, ten classes, no download."""

from pathlib import Path

import numpy as np

from drlh.data.base import ArrayImages, DataSet


def read(_: Path, skip_bad: bool = False) -> DataSet:
    from sklearn.datasets import load_digits  # takes a second to import, so only here

    bunch = load_digits()
    # Stored as 0 to 16; 255/16 makes them ordinary grey pictures.
    pixels = np.rint(bunch.images * (255 / 16)).astype(np.uint8)
    classes = tuple(str(digit) for digit in range(10))
    return DataSet("digits", bunch.target.astype(np.int64), classes, images=ArrayImages(pixels, "digits"))
