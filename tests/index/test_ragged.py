"""Lists in two arrays against lists of Python."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from drlh.index.ragged import Ragged, join

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
