"""The page of a search: thumbnails inside, missing pictures, hostile names, and pictures found by the names of hits."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from drlh.core.errors import UserError
from drlh.data import load
from drlh.report.search_page import NamedPictures, search_page


def result(photo: Path, *names: str) -> dict[str, Any]:
    hits = [{"rank": 1, "id": 0, "name": name, "labels": ["cat & dog"], "distance": 3} for name in names]
    return {"photo": str(photo), "code": "00", "hits": hits}


def test_the_page_holds_a_thumbnail_for_the_photo_and_each_hit(tmp_path: Path) -> None:
    Image.fromarray(np.zeros((900, 300, 3), np.uint8)).save(tmp_path / "a.png")
    page = search_page([result(tmp_path / "a.png", "a.png", "gone.png")], NamedPictures(tmp_path))
    assert page.count("<img") == 2
    assert page.count("no picture") == 1
    assert "cat &amp; dog · 3" in page
    assert "http" not in page
    assert len(page) < 10_000


def test_names_cannot_write_into_the_page(tmp_path: Path) -> None:
    page = search_page([result(tmp_path / "<b>.png", '"><script>alert(1)</script>.png')], NamedPictures())
    assert "<script" not in page
    assert "<b>" not in page


def test_a_row_of_a_named_set_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    images = load("digits").images
    assert images is not None
    for pictures in (NamedPictures(), NamedPictures("digits")):
        found = pictures.find("digits/17")
        assert found is not None
        np.testing.assert_array_equal(found, images.read(17))


def test_a_file_of_that_name_goes_before_a_set(tmp_path: Path) -> None:
    (tmp_path / "digits").mkdir()
    Image.fromarray(np.full((4, 4, 3), 7, np.uint8)).save(tmp_path / "digits" / "17", "png")
    found = NamedPictures(tmp_path).find("digits/17")
    assert found is not None
    assert found.shape == (4, 4, 3)


@pytest.mark.parametrize("name", ["digits/1797", "digits/x", "cifar10/0", "nowhere/1.png", "broken.png", ""])
def test_what_is_not_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("DRLH_CACHE", str(tmp_path / "cache"))
    (tmp_path / "broken.png").write_bytes(b"not a picture")
    assert NamedPictures(tmp_path).find(name) is None


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a folder or a data set's name"):
        NamedPictures(tmp_path / "nowhere")
