import numpy as np
import pytest

from drlh.data import ArrayImages, DataSet, SomeImages, subset
from drlh.errors import UserError


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
