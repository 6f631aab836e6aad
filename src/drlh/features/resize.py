"""Pictures of any size brought to one size, as the publishers of the networks do it."""

import numpy as np
from PIL import Image

from drlh.data.base import Picture

_LONGEST = 16  # times the shorter side


def squash(picture: Picture, height: int, width: int, how: Image.Resampling) -> Picture:
    """The whole picture at (height, width), whatever its proportions were."""
    if picture.shape[:2] == (height, width):
        return picture
    return np.asarray(Image.fromarray(picture).resize((width, height), how))


def centre(picture: Picture, shorter: int, size: int, how: Image.Resampling) -> Picture:
    """The shorter side brought to `shorter`, proportions kept; then the (size, size) square in the middle."""
    short = min(picture.shape[:2])
    # The ends of a very long picture would be computed at any cost of memory and then cut off.
    picture = _middle(picture, _LONGEST * short, _LONGEST * short)
    height, width = (shorter * side // short for side in picture.shape[:2])
    return _middle(squash(picture, height, width, how), size, size)


def _middle(picture: Picture, height: int, width: int) -> Picture:
    """At most `height` rows and `width` columns; the odd one of a margin lies where torchvision has it."""
    top, left = (max(0, round((side - wanted) / 2)) for side, wanted in zip(picture.shape, (height, width)))
    return picture[top : top + height, left : left + width]
