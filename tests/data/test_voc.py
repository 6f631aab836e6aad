"""A small VOC2007 in the official layout: four pictures for training, two for testing."""

from collections.abc import Callable
from pathlib import Path

import pytest

from drlh.core.errors import UserError
from drlh.data import load
from drlh.data.voc import CLASSES

Write = Callable[[Path, int], Path]
MARKS = {  # 1 there, 0 there but difficult, -1 (all others) not there
    "trainval": {
        "000005": {"chair": 1},
        "000007": {"car": 1, "person": 0},
        "000009": {"horse": 1},
        "000012": {"car": 0},
    },
    "test": {"000001": {"dog": 1, "person": 1}, "000002": {"train": 1}},
}


@pytest.fixture
def root(tmp_path: Path, write_picture: Write) -> Path:
    root = tmp_path / "VOCdevkit" / "VOC2007"
    main = root / "ImageSets" / "Main"
    main.mkdir(parents=True)
    (root / "Annotations").mkdir()
    for part, pictures in MARKS.items():
        (main / f"{part}.txt").write_text("".join(f"{picture}\n" for picture in pictures))
        for name in CLASSES:
            lines = (f"{picture} {marks.get(name, -1):2d}\n" for picture, marks in pictures.items())
            (main / f"{name}_{part}.txt").write_text("".join(lines))
        for picture, marks in pictures.items():
            write_picture(root / "JPEGImages" / f"{picture}.jpg", 50)
            things = "".join(f"<object><name>{name}</name></object>" for name in marks)
            (root / "Annotations" / f"{picture}.xml").write_text(f"<annotation>{things}</annotation>")
    return root


def named(labels: list[int]) -> set[str]:
    return {name for name, label in zip(CLASSES, labels) if label}


def test_training_rows_then_test_rows_with_several_classes_each(root: Path) -> None:
    dataset = load("voc2007", directory=root.parent.parent)
    assert dataset.classes == CLASSES
    wanted = [set(marks) for part in MARKS.values() for marks in part.values()]
    assert [named(row) for row in dataset.labels.tolist()] == wanted
    assert dataset.test is not None
    assert dataset.test.tolist() == [False] * 4 + [True] * 2
    assert dataset.images is not None
    assert dataset.images.name(4) == "000001.jpg"
    assert dataset.images.read(4).shape == (4, 4, 3)


def test_annotations_stand_in_for_the_lists_of_classes(root: Path) -> None:
    from_lists = load(root)
    for path in (root / "ImageSets" / "Main").glob("*_*.txt"):
        path.unlink()
    assert load(root).labels.tolist() == from_lists.labels.tolist()


def test_train_and_val_stand_in_for_trainval(root: Path) -> None:
    main = root / "ImageSets" / "Main"
    whole = load(root)
    for path in sorted(main.glob("*trainval.txt")):
        lines = path.read_text().splitlines(keepends=True)
        path.with_name(path.name.replace("trainval", "train")).write_text("".join(lines[:1]))
        path.with_name(path.name.replace("trainval", "val")).write_text("".join(lines[1:]))
        path.unlink()
    assert load(root).labels.tolist() == whole.labels.tolist()


def test_the_test_part_alone_is_a_data_set(root: Path) -> None:
    for path in (root / "ImageSets" / "Main").glob("*trainval.txt"):
        path.unlink()
    dataset = load(root)
    assert len(dataset) == 2
    assert dataset.test is not None
    assert dataset.test.all()


def test_a_listed_picture_that_is_missing_is_named_or_left_out(root: Path) -> None:
    (root / "JPEGImages" / "000009.jpg").unlink()
    with pytest.raises(UserError, match=r"000009\.jpg \(row 2\) is listed but missing"):
        load(root)
    dataset = load(root, skip_bad=True)
    assert len(dataset) == 5
    assert "000009" in dataset.left_out[0]


def test_lists_that_do_not_fit_are_named(root: Path) -> None:
    path = root / "ImageSets" / "Main" / "cow_test.txt"
    path.write_text("000001 -1\n")
    with pytest.raises(UserError, match=r"cow_test\.txt lists other pictures"):
        load(root)
    path.write_text("000001 -1\n000002 maybe\n")
    with pytest.raises(UserError, match=r"cow_test\.txt line 2: wanted a picture and 1, 0 or -1"):
        load(root)
    path.unlink()
    with pytest.raises(UserError, match=r"cow_test\.txt is missing"):
        load(root)


@pytest.mark.parametrize("text", ["<annotation>", "<annotation><object><name>unicorn</name></object></annotation>"])
def test_a_broken_annotation_is_named(root: Path, text: str) -> None:
    for path in (root / "ImageSets" / "Main").glob("*_*.txt"):
        path.unlink()
    (root / "Annotations" / "000007.xml").write_text(text)
    with pytest.raises(UserError, match=r"000007\.xml \(row 1\) cannot be read as a VOC annotation"):
        load(root)
