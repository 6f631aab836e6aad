"""Columns of a segment: lists in two arrays against lists of Python, names and labels in their compact form."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from drlh.index.details import Detail, Details
from drlh.index.local.columns import Ragged, StoredDetails, find_sorted, join, join_details, store_details

lists = st.lists(st.lists(st.integers(0, 9), max_size=4), min_size=1, max_size=8)


def ragged(values: list[list[int]]) -> Ragged:
    flat = np.array([value for one in values for value in one], np.int64)
    return Ragged(flat, np.cumsum([len(one) for one in values]))


def plain(lists: Ragged) -> list[list[int]]:
    return [lists[row].tolist() for row in range(len(lists))]


@given(lists, lists, st.data())
def test_taking_and_joining_are_those_of_plain_lists(
    left: list[list[int]], right: list[list[int]], data: object
) -> None:
    rows = data.draw(st.lists(st.integers(0, len(left) - 1), max_size=10))  # type: ignore[attr-defined]
    assert plain(ragged(left)) == left
    assert len(ragged(left).take(np.arange(0))) == 0
    assert plain(ragged(left).take(np.array(rows, np.int64))) == [left[row] for row in rows]
    assert plain(join([ragged(left), ragged(right)])) == left + right


def test_details_come_back_by_id_from_their_arrays() -> None:
    several = np.array([[1, 0, 1], [0, 0, 0]], np.uint8)
    stored = store_details(Details(np.array(["b\udcff.jpg", "ä.jpg"]), several, ("x", "y", "z")), np.array([9, 4]))
    again = StoredDetails.from_arrays(stored.arrays(), stored.classes)
    assert find_sorted(again.ids, np.array([4, 5, 9, 2**40])).tolist() == [0, -1, 1, -1]
    assert again.describe(np.array([0, 1])) == [Detail("ä.jpg", ()), Detail("b\udcff.jpg", ("x", "z"))]


def test_classes_of_joined_details_are_matched_by_name() -> None:
    left = store_details(Details(np.array(["a", "b"]), np.array([0, 1]), ("cat", "dog")), np.array([1, 8]))
    right = store_details(Details(np.array(["c", "d"]), np.array([1, 0]), ("dog", "eel")), np.array([3, 2**40]))
    joined = join_details([left, right])
    assert joined.describe(np.arange(4)) == [
        Detail("a", ("cat",)),
        Detail("c", ("eel",)),
        Detail("b", ("dog",)),
        Detail("d", ("dog",)),
    ]
