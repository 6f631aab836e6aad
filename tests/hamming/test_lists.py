"""Distinct codes with lists of numbers: the answers of a sort over all numbers, at every level."""

import numpy as np
import pytest
from tests.hamming.brute_force import draw

from drlh.core.codes import hamming_distances
from drlh.hamming import engine
from drlh.hamming.lists import nearest_in_lists


def drawn_lists(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(distinct codes, ends, numbers), as an index lays them out."""
    n, width = int(rng.integers(1, 300)), int(rng.choice([4, 6, 8, 16]))
    pool = draw(rng, int(rng.integers(1, 40)), width)
    owners = rng.integers(0, len(pool), n)
    codes, first, which = np.unique(pool[owners], axis=0, return_index=True, return_inverse=True)
    by_first = np.argsort(first)
    place = np.argsort(by_first)[which.ravel()]
    order = np.argsort(place, kind="stable")
    numbers = np.sort(rng.choice(10_000, n, replace=False))[order]
    return codes[by_first], np.cumsum(np.bincount(place)).astype(np.int64), numbers


@pytest.mark.parametrize("seed", range(60))
def test_the_nearest_numbers_are_those_of_a_sort(level: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    distinct, ends, numbers = drawn_lists(rng)
    queries = draw(rng, int(rng.choice([1, 3, 70])), distinct.shape[1])
    k = int(rng.choice([1, len(numbers), rng.integers(1, len(numbers) + 1)]))
    apart = np.repeat(hamming_distances(queries, distinct).astype(np.int64), np.diff(ends, prepend=0), axis=1)
    for stored in (numbers.astype(np.uint32), numbers.astype(np.int64) + 2**50):
        distances, found = nearest_in_lists(queries, distinct, ends, stored, k)
        for row in range(len(queries)):
            order = np.lexsort((stored, apart[row]))[:k]
            np.testing.assert_array_equal(found[row], stored[order])
            np.testing.assert_array_equal(distances[row], apart[row][order])


def test_ends_that_lead_out_of_bounds_are_refused(level: str) -> None:
    codes, numbers, room = np.zeros((3, 8), np.uint8), np.arange(9, dtype=np.uint32), np.empty(9, np.int64)
    for ends in ([3, 6, 10], [-4, 6, 9], [5, 2, 9], [1, 2, 3]):
        with pytest.raises(ValueError, match="ends must ascend"):
            engine.kernel.nearest_in_lists(
                engine.LEVELS[level], codes[:1], codes, 8, np.array(ends), numbers, 4, 9, room, room.copy()
            )
    with pytest.raises(ValueError, match="at least k of them"):
        engine.kernel.nearest_in_lists(
            engine.LEVELS[level], codes[:1], codes, 8, np.array([3, 6, 9]), numbers, 4, 10, room, room
        )
