"""The kernel against plain loops: drawn lengths, addresses, k, widths, radii and labels, at every level.

`DRLH_FUZZ` is the number of draws. test_sanitizers.py runs this file on a kernel that checks every access.
"""

import os

import numpy as np
import pytest
from tests.hamming.brute_force import distances, draw, sorted_rows

from drlh.hamming import engine
from drlh.hamming.counting import Marks, add_counts
from drlh.hamming.scan import nearest_by_two_keys, nearest_rows, some_within

DRAWS = range(int(os.environ.get("DRLH_FUZZ", "40")))
WIDTHS = (4, 8, 16, 32, 1, 2, 3, 5, 6, 7, 12, 20, 24, 40, 64, 72)


def drawn_sizes(rng: np.random.Generator) -> tuple[int, int, int]:
    """Numbers of queries and codes, and the width; lengths around whole groups and blocks of the kernel too."""
    n = int(rng.choice([rng.integers(1, 12), rng.integers(1, 200), 64 * rng.integers(1, 9) + rng.integers(-1, 2)]))
    return int(rng.choice([1, 2, 5, 70])), max(1, n), int(rng.choice(WIDTHS))


@pytest.mark.parametrize("seed", DRAWS)
def test_the_nearest_are_those_of_a_sort(level: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_queries, n, width = drawn_sizes(rng)
    queries, codes = draw(rng, min(n_queries, 1 + 2000 // n), width), draw(rng, n, width)
    k = int(rng.choice([1, n, rng.integers(1, n + 1)]))
    truth = distances(queries, codes)
    found, rows = nearest_rows(queries, codes, k)
    np.testing.assert_array_equal(rows, sorted_rows(truth, k))
    np.testing.assert_array_equal(found, np.take_along_axis(truth, rows, axis=1))


@pytest.mark.parametrize("seed", DRAWS)
def test_the_nearest_by_two_keys_are_those_of_a_sort(level: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_queries, n, width = drawn_sizes(rng)
    detail_width = int(rng.choice(WIDTHS))
    queries, codes = draw(rng, min(n_queries, 1 + 2000 // n), width), draw(rng, n, width)
    query_details, details = draw(rng, len(queries), detail_width), draw(rng, n, detail_width)
    k = int(rng.integers(1, n + 1))
    first, second = distances(queries, codes), distances(query_details, details)
    found = nearest_by_two_keys(queries, codes, query_details, details, k)
    np.testing.assert_array_equal(found.rows, sorted_rows(10_000 * first + second, k))
    np.testing.assert_array_equal(found.distances, np.take_along_axis(first, found.rows, axis=1))
    np.testing.assert_array_equal(found.detail_distances, np.take_along_axis(second, found.rows, axis=1))


@pytest.mark.parametrize("seed", DRAWS)
def test_all_within_a_radius_are_those_of_a_comparison(level: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_queries, n, width = drawn_sizes(rng)
    queries, codes = draw(rng, min(n_queries, 1 + 2000 // n), width), draw(rng, n, width)
    radius = int(rng.integers(0, 8 * width + 1))
    truth = distances(queries, codes)
    owners, wanted = np.nonzero(truth <= radius)
    found = some_within(queries, codes, radius, len(wanted))
    assert found is not None
    bounds, apart, rows = found
    np.testing.assert_array_equal(rows, wanted)
    np.testing.assert_array_equal(apart, truth[owners, wanted])
    np.testing.assert_array_equal(np.diff(bounds), np.bincount(owners, minlength=len(queries)))
    if len(wanted):
        assert some_within(queries, codes, radius, len(wanted) - 1) is None


@pytest.mark.parametrize("seed", DRAWS)
def test_the_counts_are_those_of_a_loop(level: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_queries, n, width = drawn_sizes(rng)
    queries, codes = draw(rng, min(n_queries, 1 + 2000 // n), width), draw(rng, n, width)
    shared, n_words = bool(rng.integers(2)), int(rng.integers(1, 4))
    high = 2**63 if shared else 3
    query_words = rng.integers(0, high, (len(queries), n_words if shared else 1)).astype(np.uint64)
    words = rng.integers(0, high, (n, n_words if shared else 1)).astype(np.uint64)
    n_grades = int(rng.integers(2, 40)) if shared else 2
    counts = np.ones((len(queries), n_grades, 8 * width + 1), np.int64)
    truth = counts.copy()
    for row, apart in enumerate(distances(queries, codes)):
        for item in range(n):
            common = (query_words[row] & words[item]).tolist()
            grade = sum(word.bit_count() for word in common) if shared else int(query_words[row, 0] == words[item, 0])
            truth[row, min(grade, n_grades - 1), apart[item]] += 1
    add_counts(counts, queries, codes, Marks(query_words, shared), Marks(words, shared))
    np.testing.assert_array_equal(counts, truth)


@pytest.mark.parametrize("width", [4, 8, 16, 32])
@pytest.mark.parametrize("n_queries", [1, 3, 5])
@pytest.mark.parametrize("near", [False, True])
def test_codes_that_do_not_fit_the_cache_are_read_in_streams_with_the_same_answer(
    level: str, width: int, n_queries: int, near: bool
) -> None:
    rng = np.random.default_rng(width)
    n = (8 << 20) // width + 12_345
    codes = rng.integers(0, 2 if near else 256, (n, width), np.uint8)  # few bits differ: everything ties
    queries = codes[rng.integers(0, n, n_queries)]
    found, rows = nearest_rows(queries, codes, 1500)
    for query, row_distances, row_numbers in zip(queries, found, rows, strict=True):
        truth = np.bitwise_count(codes ^ query).sum(axis=1, dtype=np.int64)
        order = np.argsort(truth, kind="stable")[:1500]
        np.testing.assert_array_equal(row_numbers, order)
        np.testing.assert_array_equal(row_distances, truth[order])


def test_many_queries_pass_over_many_blocks_with_the_answers_of_each_alone(level: str) -> None:
    rng = np.random.default_rng(0)
    codes, queries = rng.integers(0, 256, (70_000, 8), np.uint8), rng.integers(0, 256, (131, 8), np.uint8)
    together = nearest_rows(queries, codes, 100)
    for row in range(0, 131, 13):
        alone = nearest_rows(queries[row : row + 1], codes, 100)
        np.testing.assert_array_equal(together[0][row], alone[0][0])
        np.testing.assert_array_equal(together[1][row], alone[1][0])


def test_wrong_sizes_are_refused_before_anything_is_read(level: str) -> None:
    kernel, number = engine.kernel, engine.LEVELS[level]
    codes, room = np.zeros((10, 8), np.uint8), np.empty((1, 3), np.int64)
    with pytest.raises(ValueError, match="no level 99"):
        kernel.nearest(99, codes[:1], codes, 8, 3, room, room)
    for queries, width, k, message in (
        (codes[:1], 7, 3, "no codes of 7 bytes"),
        (codes[:1], 0, 3, "no codes of 0 bytes"),
        (codes[:1], 8, 0, "from 1 to 10"),
        (codes[:1], 8, 11, "from 1 to 10"),
        (codes[:2], 8, 3, "distances must be 2 times 3"),
    ):
        with pytest.raises(ValueError, match=message):
            kernel.nearest(number, queries, codes, width, k, room, room.copy())
    with pytest.raises((ValueError, BufferError), match="contiguous"):
        kernel.nearest(number, codes[:1], codes[:, ::2], 4, 3, room, room.copy())
    with pytest.raises(ValueError, match="every code needs a detail code"):
        kernel.nearest_by_two(number, codes[:1], codes, 8, codes[:1], codes[:9], 8, 3, room, room, room)
    wide = np.zeros((3, 4096), np.uint8)
    with pytest.raises(ValueError, match="too long together"):
        kernel.nearest_by_two(number, wide[:1], wide, 4096, wide[:1], wide, 4096, 3, room, room, room)
    with pytest.raises(ValueError, match="too large a radius"):
        kernel.within(number, codes[:1], codes, 8, 2**31, 5)
    marks, counts = np.zeros((10, 1), np.uint64), np.zeros((1, 2, 49), np.int64)
    with pytest.raises(ValueError, match="marks must be"):
        kernel.count_levels(number, codes[:1], codes, 8, False, 1, marks[:1], marks[:9], 2, 49, counts)
    with pytest.raises(ValueError, match="bits set past bit 47"):
        kernel.count_levels(number, ~codes[:1], codes, 8, False, 1, marks[:1], marks, 2, 49, counts)
