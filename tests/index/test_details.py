"""Names and labels in their compact form."""

import numpy as np
import pytest

from drlh.core.errors import UserError
from drlh.index.details import Detail, Details, from_arrays, join_details, store


def test_details_come_back_by_id_from_their_arrays() -> None:
    several = np.array([[1, 0, 1], [0, 0, 0]], np.uint8)
    stored = store(Details(np.array(["b\udcff.jpg", "ä.jpg"]), several, ("x", "y", "z")), np.array([9, 4]))
    again = from_arrays(stored.arrays(), stored.classes)
    assert again.find(np.array([4, 5, 9, 2**40])).tolist() == [0, -1, 1, -1]
    assert again.describe(np.array([0, 1])) == [Detail("ä.jpg", ()), Detail("b\udcff.jpg", ("x", "z"))]


def test_classes_of_joined_details_are_matched_by_name() -> None:
    left = store(Details(np.array(["a", "b"]), np.array([0, 1]), ("cat", "dog")), np.array([1, 8]))
    right = store(Details(np.array(["c", "d"]), np.array([1, 0]), ("dog", "eel")), np.array([3, 2**40]))
    joined = join_details([left, right])
    assert joined.describe(np.arange(4)) == [
        Detail("a", ("cat",)),
        Detail("c", ("eel",)),
        Detail("b", ("dog",)),
        Detail("d", ("dog",)),
    ]


def test_names_and_labels_must_be_as_many() -> None:
    with pytest.raises(UserError, match="got 2 and 1"):
        Details(np.array(["a", "b"]), np.array([0]), ("cat",))
