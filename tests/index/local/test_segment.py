"""Segments: the choice of layout, and lists merged by (distance, id) at any size of id."""

import numpy as np
import pytest
from tests.index.brute_force import BruteForce, random_codes, repeated_codes

from drlh.hamming.scan import pad
from drlh.index.local.compaction import make_segment


@pytest.mark.parametrize("first", [0, 2**31, 2**62])
def test_lists_of_large_ids_are_merged_as_small_ones_are(first: int) -> None:
    truth, packed = BruteForce(), repeated_codes(200, 48)
    ids = np.random.default_rng(0).permutation(200) + first
    truth.add(packed, ids)
    segment = make_segment(pad(packed), ids)
    assert segment.ends is not None
    assert segment.ids.itemsize == (4 if first < 2**32 - 200 else 8)
    queries = random_codes(6, 48, 1)
    distances, found = segment.nearest(pad(queries), 30)
    assert [list(zip(*row)) for row in zip(distances.tolist(), found.tolist())] == truth.search(queries, 30)


@pytest.mark.parametrize(("n_distinct", "lists"), [(1, True), (40, True), (70, False)])
def test_the_layout_follows_the_number_of_distinct_codes(n_distinct: int, lists: bool) -> None:
    codes = pad(random_codes(n_distinct, 48))[np.arange(100) % n_distinct]
    segment = make_segment(codes, np.arange(100))
    assert (segment.ends is not None) is lists
    assert len(segment.codes) == (n_distinct if lists else 100)
    back, ids = segment.rows()
    np.testing.assert_array_equal(back, codes)
    np.testing.assert_array_equal(ids, np.arange(100))
    assert segment.holds(np.array([0, 99, 100, 2**50])).tolist() == [True, True, False, False]
