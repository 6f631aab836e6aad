import numpy as np
from PIL import Image

from drlh.features.resize import centre, squash


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


def test_centre_keeps_proportions_and_leaves_a_margin():
    cut = centre(ramp(20, 40), 10, 6, Image.Resampling.BILINEAR)
    whole = np.asarray(Image.fromarray(ramp(20, 40)).resize((20, 10), Image.Resampling.BILINEAR))
    np.testing.assert_array_equal(cut, whole[2:8, 7:13])


def test_centre_of_a_very_thin_picture_is_still_a_square():
    assert centre(ramp(1, 200), 32, 32, Image.Resampling.BILINEAR).shape == (32, 32, 3)
