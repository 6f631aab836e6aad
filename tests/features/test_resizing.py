import numpy as np
import pytest
from PIL import Image

from drlh.features.extractor import centre, squash


def ramp(height, width):
    """Every pixel tells its row and column."""
    rows, columns = np.mgrid[:height, :width].astype(np.uint8)
    return np.stack([rows, columns, rows], axis=2)


def test_a_picture_of_the_wanted_size_is_left_as_it_is():
    picture = ramp(5, 7)
    assert squash(picture, 5, 7, Image.Resampling.BICUBIC) is picture


def test_squash_changes_proportions():
    assert squash(ramp(10, 30), 6, 4, Image.Resampling.BICUBIC).shape == (6, 4, 3)


def test_centre_cuts_the_middle_of_a_wide_picture():
    cut = centre(ramp(8, 20), 8, 8, Image.Resampling.BILINEAR)
    assert cut.shape == (8, 8, 3)
    assert cut[0, :, 1].tolist() == list(range(6, 14))
    assert cut[:, 0, 0].tolist() == list(range(8))


@pytest.mark.parametrize("how", [Image.Resampling.BILINEAR, Image.Resampling.BICUBIC])
@pytest.mark.parametrize("shape", [(20, 40), (77, 31), (300, 301), (9, 9)])
def test_centre_equals_resizing_everything_and_cutting_the_middle_out(shape, how):
    picture = np.random.default_rng(0).integers(0, 256, (*shape, 3), dtype=np.uint8)
    height, width = (max(60, 60 * side // min(shape)) for side in shape)
    whole = np.asarray(Image.fromarray(picture).resize((width, height), how))
    top, left = round((height - 50) / 2), round((width - 50) / 2)
    np.testing.assert_array_equal(centre(picture, 60, 50, how), whole[top : top + 50, left : left + 50])


def test_the_ends_of_a_very_long_picture_cost_nothing():
    picture = np.zeros((1, 60_000, 3), np.uint8)
    picture[:, 29_990:30_010] = 9
    cut = centre(picture, 256, 224, Image.Resampling.BILINEAR)  # all of it would be 256 × 15,360,000
    assert cut.shape == (224, 224, 3)
    assert (cut == 9).all()
