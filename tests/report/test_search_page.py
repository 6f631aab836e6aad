"""The page of a search: thumbnails inside, missing pictures, hostile names."""

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from drlh.report.pictures import Pictures
from drlh.report.search_page import search_page


def result(photo: Path, *names: str) -> dict[str, Any]:
    hits = [{"rank": 1, "id": 0, "name": name, "labels": ["cat & dog"], "distance": 3} for name in names]
    return {"photo": str(photo), "code": "00", "hits": hits}


def test_the_page_holds_a_thumbnail_for_the_photo_and_each_hit(tmp_path: Path) -> None:
    Image.fromarray(np.zeros((900, 300, 3), np.uint8)).save(tmp_path / "a.png")
    page = search_page([result(tmp_path / "a.png", "a.png", "gone.png")], Pictures(tmp_path))
    assert page.count("<img") == 2
    assert page.count("no picture") == 1
    assert "cat &amp; dog · 3" in page
    assert "http" not in page
    assert len(page) < 10_000


def test_names_cannot_write_into_the_page(tmp_path: Path) -> None:
    page = search_page([result(tmp_path / "<b>.png", '"><script>alert(1)</script>.png')], Pictures())
    assert "<script" not in page
    assert "<b>" not in page
