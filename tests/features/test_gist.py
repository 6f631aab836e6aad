from functools import cache

import numpy as np
import pytest
from PIL import Image

from drlh.features import make_extractor
from drlh.features.gist import transfer_function


def slow_gist(grey):
    """One picture (32, 32), filter by filter, field by field, with whole transforms in double precision."""
    grey = grey - grey.min()
    contrast = slow_contrast(255 * grey / grey.max())
    spectrum = np.fft.fft2(np.pad(contrast, 32, mode="symmetric"))
    features = []
    for scale in range(4):
        for number in range(8):
            response = np.abs(np.fft.ifft2(spectrum * slow_gabor(scale, number)))[32:64, 32:64]
            for row in range(0, 32, 8):
                for column in range(0, 32, 8):
                    features.append(response[row : row + 8, column : column + 8].mean())
    return np.array(features)


def slow_contrast(grey):
    padded = np.pad(np.log(grey + 1), 5, mode="symmetric")
    low_pass = np.empty((42, 42))
    for row in range(42):
        for column in range(42):
            down, across = row - 42 * (row > 20), column - 42 * (column > 20)
            low_pass[row, column] = np.exp(-(down**2 + across**2) * np.log(2) / 4**2)
    detail = padded - np.fft.ifft2(np.fft.fft2(padded) * low_pass).real
    deviation = np.sqrt(np.abs(np.fft.ifft2(np.fft.fft2(detail**2) * low_pass)))
    return (detail / (0.2 + deviation))[5:37, 5:37]


@cache
def slow_gabor(scale, number):
    gain = np.empty((96, 96))
    for row in range(96):
        for column in range(96):
            down, across = row - 96 * (row >= 48), column - 96 * (column >= 48)
            turn = np.angle(np.exp(1j * (np.arctan2(down, across) + np.pi / 8 * number)))
            cycles = np.hypot(down, across) / 96
            gain[row, column] = np.exp(-3.5 * (cycles * 1.85**scale / 0.3 - 1) ** 2 - 2 * np.pi * turn**2)
    return gain


def grating(scale, number):
    """Stripes in the middle of the filter's band."""
    y, x = np.mgrid[:32, :32] - 15.5
    angle = -np.pi * number / 8
    waves = np.cos(2 * np.pi * 0.3 / 1.85**scale * (x * np.cos(angle) + y * np.sin(angle)))
    return np.repeat(np.round(127 + 100 * waves).astype(np.uint8)[:, :, None], 3, axis=2)


def by_filter(features):
    return features.reshape(-1, 4, 8, 4, 4)


def test_gist_equals_the_slow_construction(pictures):
    rows = make_extractor("gist")(pictures[:6])
    assert rows.dtype == np.float32
    assert rows.shape == (6, 512)
    for picture, row in zip(pictures, rows, strict=False):
        wanted = slow_gist(picture.astype(np.float64).mean(axis=2))
        np.testing.assert_allclose(row, wanted, atol=2e-6, rtol=1e-4)


def test_transfer_functions_equal_their_definition_bin_by_bin():
    for scale, number in ((0, 0), (1, 3), (3, 7)):
        shifted = np.fft.fftshift(slow_gabor(scale, number))
        np.testing.assert_allclose(transfer_function(scale, number), shifted, atol=1e-12)


@pytest.mark.parametrize("scale", [0, 1, 2])
def test_stripes_answer_most_to_the_filter_of_their_scale_and_orientation(scale):
    stripes = [grating(scale, number) for number in range(8)]
    strength = by_filter(make_extractor("gist")(stripes)).mean(axis=(3, 4))
    for number in range(8):
        assert np.unravel_index(strength[number].argmax(), (4, 8)) == (scale, number)


def test_the_widest_stripes_answer_most_to_their_orientation_at_their_scale():
    # Wider than the contrast filter's cutoff: what is left of them is no longer the strongest scale.
    strength = by_filter(make_extractor("gist")([grating(3, number) for number in range(8)])).mean(axis=(3, 4))
    assert strength[:, 3].argmax(axis=1).tolist() == list(range(8))


def test_brightness_and_contrast_do_not_matter(pictures):
    dim = [(picture // 4 * 2).astype(np.uint8) for picture in pictures[:4]]
    bright = [picture + np.uint8(100) for picture in dim]
    strong = [picture * np.uint8(2) for picture in dim]
    gist = make_extractor("gist")
    np.testing.assert_allclose(gist(bright), gist(dim), atol=1e-5)
    np.testing.assert_allclose(gist(strong), gist(dim), atol=1e-5)


def test_a_picture_of_one_colour_has_no_structure():
    rows = make_extractor("gist")([np.full((40, 30, 3), 77, np.uint8), np.zeros((32, 32, 3), np.uint8)])
    np.testing.assert_array_equal(rows, 0)


def test_structure_in_one_corner_shows_in_that_corner_of_the_grid():
    picture = np.full((32, 32, 3), 127, np.uint8)
    picture[24:, :8] = grating(0, 2)[24:, :8]
    strength = by_filter(make_extractor("gist")([picture])).mean(axis=(0, 1, 2))
    assert np.unravel_index(strength.argmax(), (4, 4)) == (3, 0)


def test_gist_of_a_wide_picture_is_that_of_its_middle_square():
    rng = np.random.default_rng(1)
    wide = rng.integers(0, 256, (48, 100, 3), dtype=np.uint8)
    small = np.asarray(Image.fromarray(wide).resize((66, 32), Image.Resampling.BILINEAR))[:, 17:49]
    gist = make_extractor("gist")
    np.testing.assert_array_equal(gist([wide]), gist([small]))
