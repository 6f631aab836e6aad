"""The picture itself as features: `pixelsN` in colour, `grayN` in grey, on an N × N raster."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from drlh.core.errors import UserError
from drlh.data.picture import Picture
from drlh.features.extractor import Extractor, Features, squash

_LARGEST = 512


class Pixels(Extractor):
    """Every picture is resized to `size` × `size` (bicubic) and divided by 255.

    `pixels32` gives 3072 features (row, column, channel), `gray8` the 64 means over the channels: on the 8 × 8
    digits exactly their pixels. `pixels` is short for `pixels32`, `gray` for `gray32`.
    """

    def __init__(self, size: int, *, colour: bool) -> None:
        self.size = size
        self.colour = colour
        self.name = f"{'pixels' if colour else 'gray'}{size}"
        self.n_features = size * size * (3 if colour else 1)
        self.settings = {"name": self.name, "version": 1}

    def prepare(self, picture: Picture) -> NDArray[np.uint8]:
        return squash(picture, self.size, self.size, Image.Resampling.BICUBIC)

    def features(self, prepared: Sequence[NDArray[np.uint8]]) -> Features:
        stack = np.stack(prepared).astype(np.float32)
        values = stack if self.colour else stack.sum(axis=3) / np.float32(3)
        return values.reshape(len(stack), -1) / np.float32(255)


def pixels_named(name: str) -> Pixels | None:
    """`pixels`, `pixels16`, `gray8` …; None for another kind of name."""
    match = re.fullmatch(r"(pixels|gray)(\d{0,4})", name)
    if match is None:
        return None
    size = int(match[2] or 32)
    if not 1 <= size <= _LARGEST:
        raise UserError(f"{name}: the raster must be 1 to {_LARGEST} pixels wide: got {size}")
    return Pixels(size, colour=match[1] == "pixels")
