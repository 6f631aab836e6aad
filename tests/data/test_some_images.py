from pathlib import Path

import numpy as np
import pytest

from drlh.core.errors import UserError
from drlh.data import ArrayImages, DataSet, FileImages, SomeImages, subset
from drlh.data.some_images import apart


@pytest.fixture
def dataset() -> DataSet:
    pixels = np.arange(5 * 2 * 2, dtype=np.uint8).reshape(5, 2, 2)
    return DataSet(
        name="five",
        labels=np.array([0, 1, 0, 1, 1]),
        classes=("a", "b"),
        images=ArrayImages(pixels, "five"),
        features=np.arange(10, dtype=np.float32).reshape(5, 2),
        test=np.array([False, False, False, True, True]),
        notes=("a note",),
    )


def test_subset_takes_labels_pictures_features_and_test_rows_alike(dataset: DataSet) -> None:
    some = subset(dataset, [3, 0])
    assert some.labels.tolist() == [1, 0]
    assert some.features is not None
    assert some.features.tolist() == [[6, 7], [0, 1]]
    assert some.test is not None
    assert some.test.tolist() == [True, False]
    assert some.images is not None
    assert some.images.name(0) == "five/3"
    assert some.images.read(0)[:, :, 0].tolist() == [[12, 13], [14, 15]]
    assert (some.classes, some.notes) == (dataset.classes, dataset.notes)


def test_subset_by_mask_equals_subset_by_row_numbers(dataset: DataSet) -> None:
    by_mask = subset(dataset, dataset.labels == 1)
    by_rows = subset(dataset, [1, 3, 4])
    assert by_mask.labels.tolist() == by_rows.labels.tolist()
    assert [by_mask.images.name(row) for row in range(3)] == ["five/1", "five/3", "five/4"]  # type: ignore[union-attr]


def test_subset_of_a_subset_looks_straight_at_the_first_images(dataset: DataSet) -> None:
    twice = subset(subset(dataset, [4, 2, 0]), [1])
    assert isinstance(twice.images, SomeImages)
    assert twice.images.images is dataset.images
    assert twice.images.name(0) == "five/2"


@pytest.mark.parametrize("rows", [[5], [-1], [[0, 1]], np.array([True, False])])
def test_rows_that_do_not_exist_are_refused(dataset: DataSet, rows: object) -> None:
    with pytest.raises(UserError):
        subset(dataset, rows)  # type: ignore[arg-type]


def test_rows_apart_keep_their_names_and_leave_the_rest_behind(dataset: DataSet) -> None:
    assert dataset.images is not None
    whole = SomeImages(dataset.images, np.array([4, 2, 0, 1]))
    some = apart(whole, np.array([1, 3]))
    again = apart(some, np.array([1]))
    assert isinstance(again, ArrayImages)
    assert (len(some), len(again.pixels)) == (2, 1)
    assert [some.name(0), some.name(1), again.name(0)] == ["five/2", "five/1", "five/1"]
    assert again.read(0).tolist() == dataset.images.read(1).tolist()


def test_files_apart_are_called_by_their_own_row_numbers(tmp_path: Path) -> None:
    (tmp_path / "c.png").write_bytes(b"not a picture")
    some = apart(FileImages(tmp_path, ["a.png", "b.png", "c.png"]), np.array([2, 0]))
    assert isinstance(some, FileImages)
    assert some.names == ["c.png", "a.png"]
    with pytest.raises(UserError, match=r"c\.png \(row 2\) is not a readable picture: Pillow does not know its format"):
        some.read(0)
    with pytest.raises(UserError, match=r"a\.png \(row 0\) cannot be read"):
        some.read(1)


def test_a_stamp_changes_with_the_picture(tmp_path: Path, dataset: DataSet) -> None:
    (tmp_path / "a.png").write_bytes(b"one")
    images = FileImages(tmp_path, ["a.png", "gone.png"])
    before = images.stamp(0)
    assert before == SomeImages(images, np.array([1, 0])).stamp(1)
    (tmp_path / "a.png").write_bytes(b"three")
    assert images.stamp(0) != before
    assert images.stamp(1) == b""
    assert dataset.images is not None
    assert dataset.images.stamp(0) != dataset.images.stamp(1)
