"""One picture: a file of any format that Pillow knows → RGB pixels."""

import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from drlh.core.errors import UserError

Picture = NDArray[np.uint8]  # (height, width, 3) RGB


def read_picture(path: str | Path) -> Picture:
    """The picture in a file; one that cannot be read is a UserError that names it."""
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from error
    return decode_picture(raw, str(path))


def decode_picture(raw: bytes, what: str) -> Picture:
    """The picture in `raw`; `what` names the file in the error."""
    try:
        with Image.open(io.BytesIO(raw)) as image:
            return np.asarray(image.convert("RGB"))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        unknown = isinstance(error, UnidentifiedImageError)  # its text names an object in memory, new in every run
        why = "Pillow does not know its format" if unknown else error
        raise UserError(f"{what} is not a readable picture: {why}") from error
