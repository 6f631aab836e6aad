"""Pictures of any size brought to one size, as the publishers of the networks do it."""

import numpy as np
from PIL import Image

from drlh.data.base import Picture


def squash(picture: Picture, height: int, width: int, how: Image.Resampling) -> Picture:
    """The whole picture at (height, width), whatever its proportions were."""
    if picture.shape[:2] == (height, width):
        return picture
    return np.asarray(Image.fromarray(picture).resize((width, height), how))


def centre(picture: Picture, shorter: int, size: int, how: Image.Resampling) -> Picture:
    """The shorter side brought to `shorter`, proportions kept; then the (size, size) square in the middle."""
    height, width = picture.shape[:2]
    scaled = [max(shorter, shorter * side // min(height, width)) for side in (height, width)]
    whole = squash(picture, scaled[0], scaled[1], how)
    # Halves round to even, as in the reference code: an odd margin's extra row goes where it puts it.
    top, left = (round((side - size) / 2) for side in scaled)
    return whole[top : top + size, left : left + size]
