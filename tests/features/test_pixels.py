import numpy as np
import pytest
from PIL import Image

from drlh.core.errors import UserError
from drlh.features import make_extractor


def test_pixels_of_a_small_picture_are_its_bytes_divided_by_255(pictures):
    rows = make_extractor("pixels")(pictures[:3])
    assert rows.dtype == np.float32
    assert rows.shape == (3, 3072)
    np.testing.assert_allclose(rows[1], pictures[1].ravel() / 255, rtol=1e-6)


def test_pixels_of_other_sizes_are_resized_bicubically(pictures):
    row = make_extractor("pixels16")([pictures[8]])[0]
    small = Image.fromarray(pictures[8]).resize((16, 16), Image.Resampling.BICUBIC)
    np.testing.assert_allclose(row, np.asarray(small).ravel() / 255, rtol=1e-6)


def test_gray8_of_an_8x8_grey_picture_gives_back_its_64_values():
    grey = np.random.default_rng(0).integers(0, 256, (8, 8), dtype=np.uint8)
    row = make_extractor("gray8")([np.repeat(grey[:, :, None], 3, axis=2)])[0]
    assert row.shape == (64,)
    np.testing.assert_allclose(row, grey.ravel() / 255, rtol=1e-6)


def test_gray_is_the_mean_of_the_channels(pictures):
    row = make_extractor("gray32")([pictures[0]])[0]
    np.testing.assert_allclose(row, pictures[0].mean(axis=2).ravel() / 255, rtol=1e-5)


def test_short_names_mean_a_raster_of_32():
    assert make_extractor("pixels").settings == make_extractor("pixels32").settings
    assert make_extractor("gray").n_features == 32 * 32


@pytest.mark.parametrize("name", ["pixels0", "gray513", "pixels-3", "pixels32x", "raster8"])
def test_impossible_rasters_are_refused(name):
    with pytest.raises(UserError, match=name):
        make_extractor(name)
