"""Pictures found again by the names of hits: files, and rows of named data sets."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from drlh.core.errors import UserError
from drlh.data import load
from drlh.report.pictures import Pictures


def test_a_row_of_a_named_set_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    images = load("digits").images
    assert images is not None
    for pictures in (Pictures(), Pictures("digits")):
        found = pictures.find("digits/17")
        assert found is not None
        np.testing.assert_array_equal(found, images.read(17))


def test_a_file_of_that_name_goes_before_a_set(tmp_path: Path) -> None:
    (tmp_path / "digits").mkdir()
    Image.fromarray(np.full((4, 4, 3), 7, np.uint8)).save(tmp_path / "digits" / "17", "png")
    found = Pictures(tmp_path).find("digits/17")
    assert found is not None
    assert found.shape == (4, 4, 3)


@pytest.mark.parametrize("name", ["digits/1797", "digits/x", "cifar10/0", "nowhere/1.png", "broken.png", ""])
def test_what_is_not_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("DRLH_CACHE", str(tmp_path / "cache"))
    (tmp_path / "broken.png").write_bytes(b"not a picture")
    assert Pictures(tmp_path).find(name) is None


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a folder or a data set's name"):
        Pictures(tmp_path / "nowhere")
