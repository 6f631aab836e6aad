"""GIST (Oliva & Torralba 2001): how strongly each part of a picture answers to each scale and orientation.

The construction is the standard one: a grey 32 × 32 picture stretched to 0..255, local contrast evened out,
4 scales × 8 orientations of Gabor transfer functions on the picture mirrored outwards by 32 pixels, and the mean
response in each field of a 4 × 4 grid: 512 numbers.

A Fourier transform of 96 × 96 for each of 32 filters would compute nine times more responses than are used, and
most of each transfer function is zero. So the transforms are written as small matrix products that touch only
the frequencies a filter passes and only the 32 × 32 responses that count. Coordinates have their origin in the
middle of the picture: a response at -n then shares its sums of cosines and sines with the one at +n.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from drlh.data.picture import Picture
from drlh.features.extractor import Extractor, Features, centre

Matrix = NDArray[np.float32]

SIZE = 32  # of the grey picture
SCALES, ORIENTATIONS, GRID = 4, 8, 4
_EDGE = 5  # mirrored pixels around the picture for the contrast filter
_CUTOFF = 4 / np.sqrt(np.log(2))  # of the contrast filter: half height at 4 cycles a picture
_EXTENSION = 32  # mirrored pixels around the picture for the Gabor filters
_PERIOD = SIZE + 2 * _EXTENSION
_FREQUENCIES = np.arange(-_PERIOD // 2, _PERIOD // 2)
_NEGLIGIBLE = 1e-6  # of a transfer function whose largest value is 1


class Gist(Extractor):
    """512 features in the order scale (fine to coarse), orientation, row and column of the grid."""

    name = "gist"
    n_features = SCALES * ORIENTATIONS * GRID * GRID
    batch = 16  # keeps the work of one thread within its cache

    def __init__(self) -> None:
        self.settings = {"name": "gist", "version": 1}

    def prepare(self, picture: Picture) -> Matrix:
        small = centre(picture, SIZE, SIZE, Image.Resampling.BILINEAR)
        grey: Matrix = small.mean(axis=2, dtype=np.float32)
        return grey

    def features(self, prepared: Sequence[Matrix]) -> Features:
        spectrum = _spectrum(_even_contrast(_stretch(np.stack(prepared))))
        means = [_grid_means(_responses(spectrum, band)) for band in _bands()]
        return np.stack(means, axis=1).reshape(len(prepared), -1)


def _stretch(grey: Matrix) -> Matrix:
    """(n, 32, 32), each from 0 to 255; a picture of one colour becomes zero."""
    grey = grey - grey.min(axis=(1, 2), keepdims=True)
    highest: Matrix = np.maximum(grey.max(axis=(1, 2), keepdims=True), np.float32(1e-3))
    return grey * (np.float32(255) / highest)


def _even_contrast(grey: Matrix) -> Matrix:
    """Subtracts the local mean of the log picture and divides by its local deviation."""
    blur = _blur()
    inside = slice(_EDGE, _EDGE + SIZE)
    mirrored = _mirror(SIZE, _EDGE)
    padded = np.log1p(grey)[:, mirrored][:, :, mirrored]
    detail = padded - blur @ padded @ blur.T
    variance = blur[inside] @ (detail * detail) @ blur[inside].T
    even: Matrix = detail[:, inside, inside] / (np.float32(0.2) + np.sqrt(np.abs(variance)))
    return even


def _spectrum(pictures: Matrix) -> Matrix:
    """(n, 2, 96, 96): real and imaginary part of the transform of the mirrored pictures, origin in the middle."""
    cosines, sines, joint = _analysis()
    along = np.concatenate([pictures @ cosines.T, pictures @ sines.T], axis=1)  # (n, 64, 96)
    spectrum: Matrix = joint @ along[:, None]
    return spectrum.reshape(len(pictures), 2, _PERIOD, _PERIOD)


class Band(NamedTuple):
    """A filter where it passes anything: its frequencies (rows, columns), gain and the sums back to space."""

    rows: slice
    columns: slice
    gain: Matrix
    down: Matrix  # (32, rows): cosines then sines at 0.5 … 15.5 pixels below the middle
    across: Matrix  # (columns, 32)


def _responses(spectrum: Matrix, band: Band) -> Matrix:
    """(n, 2, 2, 16, 16): magnitudes below and above, right and left of the middle, counted away from it."""
    passed = spectrum[:, :, band.rows, band.columns] * band.gain
    half = SIZE // 2
    sums = (band.down @ passed @ band.across).reshape(-1, 2, 2, half, 2, half)  # n, re/im, cos/sin, y, cos/sin, x
    cos_cos, cos_sin = sums[:, :, 0, :, 0], sums[:, :, 0, :, 1]
    sin_cos, sin_sin = sums[:, :, 1, :, 0], sums[:, :, 1, :, 1]
    # The response is the sum of these times (1 or ±i) down and (1 or ±i) across, signs by the side of the middle.
    same, crossed = cos_cos - sin_sin, cos_cos + sin_sin
    turn, counter_turn = cos_sin + sin_cos, sin_cos - cos_sin
    out = np.empty((len(sums), 2, 2, half, half), np.float32)
    out[:, 0, 0] = _magnitude(same[:, 0] - turn[:, 1], same[:, 1] + turn[:, 0])
    out[:, 0, 1] = _magnitude(crossed[:, 0] - counter_turn[:, 1], crossed[:, 1] + counter_turn[:, 0])
    out[:, 1, 0] = _magnitude(crossed[:, 0] + counter_turn[:, 1], crossed[:, 1] - counter_turn[:, 0])
    out[:, 1, 1] = _magnitude(same[:, 0] + turn[:, 1], same[:, 1] - turn[:, 0])
    return out


def _magnitude(real: Matrix, imaginary: Matrix) -> Matrix:
    real *= real
    imaginary *= imaginary
    real += imaginary
    return np.sqrt(real, out=real)


def _grid_means(responses: Matrix) -> Matrix:
    """(n, 4, 4) from magnitudes counted away from the middle."""
    near_far = (responses.reshape(-1, (SIZE // 2) ** 2) @ _fields()).reshape(-1, 2, 2, 2, 2)
    side, distance = np.array([1, 1, 0, 0]), np.array([1, 0, 0, 1])  # rows of the grid from the top
    return near_far[:, side[:, None], side, distance[:, None], distance]


@cache
def _fields() -> Matrix:
    """(256, 4): the mean over the near or far eight rows and columns of a quarter picture."""
    one_axis = np.repeat(np.eye(2), SIZE // 4, axis=0) / (SIZE // 4)
    return np.kron(one_axis, one_axis).astype(np.float32)


@cache
def _blur() -> Matrix:
    """(42, 42): the contrast filter's periodic Gaussian low-pass along one axis."""
    size = SIZE + 2 * _EDGE
    gain = np.exp(-((np.fft.fftfreq(size, 1 / size) / _CUTOFF) ** 2))
    return np.fft.ifft(gain[:, None] * np.fft.fft(np.eye(size), axis=0), axis=0).real.astype(np.float32)


@cache
def _analysis() -> tuple[Matrix, Matrix, Matrix]:
    """Cosines (96, 32), sines (96, 32) and both arranged to transform the second axis (192, 64)."""
    angles = 2 * np.pi / _PERIOD * np.outer(_FREQUENCIES, np.arange(_PERIOD) - (_PERIOD - 1) / 2)
    fold = np.eye(SIZE)[_mirror(SIZE, _EXTENSION)]  # (96, 32): the mirrored picture from the picture
    cosines, sines = np.cos(angles) @ fold, np.sin(angles) @ fold
    joint = np.block([[cosines, -sines], [-sines, -cosines]])
    # In blocks of 32 rows, products too small for the library to spread over threads of its own: the cores are
    # busy with other pictures.
    blocks = joint.reshape(-1, SIZE, 2 * SIZE)
    return cosines.astype(np.float32), sines.astype(np.float32), blocks.astype(np.float32)


@cache
def _bands() -> list[Band]:
    return [_band(scale, number) for scale in range(SCALES) for number in range(ORIENTATIONS)]


def _band(scale: int, number: int) -> Band:
    gain = transfer_function(scale, number)
    gain[gain < _NEGLIGIBLE] = 0  # also where it would make numbers so small that arithmetic slows down
    rows, columns = _extent(gain.max(axis=1)), _extent(gain.max(axis=0))
    # 1 / 96² makes the sums the inverse transform.
    gain = gain[rows, columns] / _PERIOD**2
    return Band(rows, columns, gain.astype(np.float32), _synthesis(rows), _synthesis(columns).T)


def transfer_function(scale: int, number: int) -> NDArray[np.float64]:
    """(96, 96) over frequencies -48 … 47 a period, rows down and columns across, largest value 1.

    The lobe lies 0.3 / 1.85^scale cycles a pixel from the origin at the angle -π · number / 8.
    """
    across, down = np.meshgrid(_FREQUENCIES, _FREQUENCIES)
    radius = np.hypot(across, down) / _PERIOD / (0.3 / 1.85**scale)
    angle = np.arctan2(down, across) + np.pi * number / ORIENTATIONS
    angle = np.where(angle > np.pi, angle - 2 * np.pi, angle)
    sharpness = 16 * ORIENTATIONS**2 / 32**2
    gain: NDArray[Any] = np.exp(-3.5 * (radius - 1) ** 2 - 2 * np.pi * sharpness * angle**2)
    return gain


def _extent(gains: NDArray[np.float64]) -> slice:
    places = np.flatnonzero(gains)
    return slice(int(places[0]), int(places[-1]) + 1)


def _synthesis(frequencies: slice) -> Matrix:
    angles = 2 * np.pi / _PERIOD * np.outer(np.arange(SIZE // 2) + 0.5, _FREQUENCIES[frequencies])
    return np.concatenate([np.cos(angles), np.sin(angles)]).astype(np.float32)


def _mirror(size: int, edge: int) -> NDArray[np.int64]:
    """The pixel at each place of a line mirrored outwards by `edge`."""
    return np.pad(np.arange(size), edge, mode="symmetric")
