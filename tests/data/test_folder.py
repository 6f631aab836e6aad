import os
from collections.abc import Callable
from pathlib import Path

import pytest

from drlh.core.errors import UserError
from drlh.data import list_pictures, load

Write = Callable[[Path, int], Path]


def test_each_sub_folder_is_a_class_and_files_are_sorted(tmp_path: Path, write_picture: Write) -> None:
    for name in ("zebra/b.png", "zebra/a.JPG", "ant/deep/er/x.bmp", "ant/c.webp", "ant/d.TIFF"):
        write_picture(tmp_path / "zoo" / name, 10)
    (tmp_path / "zoo" / "ant" / "notes.txt").write_text("no picture")
    (tmp_path / "zoo" / "ant" / ".hidden.png").write_text("no picture")
    dataset = load(tmp_path / "zoo")
    assert dataset.name == "zoo"
    assert dataset.classes == ("ant", "zebra")
    assert dataset.labels.tolist() == [0, 0, 0, 1, 1]
    assert dataset.images is not None
    names = [dataset.images.name(row) for row in range(5)]
    assert names == ["ant/c.webp", "ant/d.TIFF", "ant/deep/er/x.bmp", "zebra/a.JPG", "zebra/b.png"]
    assert dataset.notes == ()


@pytest.mark.parametrize("ending", ["jpg", "jpeg", "png", "bmp", "gif", "webp", "tif", "tiff", "ppm"])
def test_every_ending_is_read(tmp_path: Path, write_picture: Write, ending: str) -> None:
    write_picture(tmp_path / "class" / f"picture.{ending}", 77)
    dataset = load(tmp_path)
    assert dataset.images is not None
    assert dataset.images.read(0).shape == (4, 4, 3)
    assert abs(int(dataset.images.read(0)[2, 2, 0]) - 77) <= 2


def test_loose_pictures_and_empty_folders_are_told(tmp_path: Path, write_picture: Write) -> None:
    write_picture(tmp_path / "class" / "a.png", 1)
    write_picture(tmp_path / "loose.png", 1)
    (tmp_path / "scripts").mkdir()
    dataset = load(tmp_path)
    assert dataset.classes == ("class",)
    assert "outside any class folder, are not in the set: 1" in dataset.notes[0]
    assert "scripts" in dataset.notes[1]


def test_loose_pictures_make_an_unlabelled_set(tmp_path: Path, write_picture: Write) -> None:
    write_picture(tmp_path / "loose.png", 1)
    write_picture(tmp_path / "also.png", 1)
    dataset = load(tmp_path)
    assert dataset.classes == ("unlabelled",)
    assert [dataset.name_of(row) for row in range(2)] == ["also.png", "loose.png"]
    assert "no labels" in dataset.notes[0]


def test_a_folder_without_pictures_says_what_is_wanted(tmp_path: Path) -> None:
    (tmp_path / "class").mkdir()
    with pytest.raises(UserError, match="wanted one sub-folder for each class"):
        load(tmp_path)


def test_a_linked_class_folder_counts_and_a_loop_ends(tmp_path: Path, write_picture: Write) -> None:
    write_picture(tmp_path / "elsewhere" / "a.png", 1)
    (tmp_path / "set").mkdir()
    os.symlink(tmp_path / "elsewhere", tmp_path / "set" / "class")
    os.symlink(tmp_path / "set", tmp_path / "elsewhere" / "loop")
    assert list_pictures(tmp_path / "set" / "class") == ["a.png"]
    assert len(load(tmp_path / "set")) == 1
