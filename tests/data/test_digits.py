import numpy as np

from drlh.data import load


def test_digits_are_8_by_8_grey_pictures_from_0_to_255() -> None:
    digits = load("digits")
    assert len(digits) == 1797
    assert digits.classes == tuple("0123456789")
    assert np.bincount(digits.labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert digits.images is not None
    first = digits.images.read(0)
    assert first.shape == (8, 8, 3)
    assert first.dtype == np.uint8
    assert max(digits.images.read(row).max() for row in range(20)) == 255
