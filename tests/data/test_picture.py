from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from drlh.core.errors import UserError
from drlh.data import read_picture


def test_a_grey_file_becomes_rgb(tmp_path: Path) -> None:
    Image.new("L", (3, 2), 7).save(tmp_path / "grey.png")
    assert np.array_equal(read_picture(tmp_path / "grey.png"), np.full((2, 3, 3), 7, np.uint8))


def test_a_file_that_is_no_picture_is_named(tmp_path: Path) -> None:
    (tmp_path / "letter.jpg").write_text("Dear sir or madam")
    with pytest.raises(UserError, match=r"letter\.jpg is not a readable picture: Pillow does not know its format"):
        read_picture(tmp_path / "letter.jpg")
    with pytest.raises(UserError, match=r"nowhere\.jpg cannot be read: No such file"):
        read_picture(tmp_path / "nowhere.jpg")
