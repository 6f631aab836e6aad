"""Uploaded pictures: looked at before they are decoded, and refused where they are too large, broken or no pictures."""

import io
import warnings
from typing import BinaryIO

from PIL import Image, UnidentifiedImageError

from drlh.core.errors import UserError
from drlh.data.picture import Picture, decode_picture
from drlh.serve.options import Limits
from drlh.serve.refusals import Refusal

# Those of an image folder. Pillow knows more, and some of them run other programs.
FORMATS = ("JPEG", "PNG", "BMP", "GIF", "WEBP", "TIFF", "PPM")


def read_upload(file: BinaryIO, limits: Limits) -> tuple[bytes, Picture]:
    """(the bytes, the picture) of an uploaded file."""
    with file:
        file.seek(0)
        raw = file.read()
    check_header(raw, limits)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of Pillow, on odd metadata
            return raw, decode_picture(raw, "the uploaded file")
    except UserError as error:
        raise Refusal(422, "the uploaded file begins as a picture but is broken or cut short: send it again") from error


def check_header(raw: bytes, limits: Limits) -> None:
    if not raw:
        raise Refusal(422, "the uploaded file is empty: send a picture")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(io.BytesIO(raw), formats=FORMATS) as image:
                width, height = image.size
    except UnidentifiedImageError as error:
        raise Refusal(415, f"the uploaded file is no picture of a known kind ({', '.join(FORMATS)})") from error
    except Image.DecompressionBombError as error:
        raise Refusal(413, f"the picture has more than the {limits.pixels:,} pixels allowed") from error
    except (OSError, ValueError, SyntaxError) as error:
        raise Refusal(422, "the uploaded file begins as a picture but is broken or cut short: send it again") from error
    if width * height > limits.pixels:
        raise Refusal(413, f"the picture has {width} x {height} pixels, more than the {limits.pixels:,} allowed")
