"""Codes in buckets: the answers of whole codes, at every level, for one query and many, with one thread and several."""

import numpy as np
import pytest
from tests.hamming.brute_force import sorted_rows
from tests.index.brute_force import random_codes, repeated_codes

from drlh.core.codes import hamming_distances
from drlh.hamming import engine
from drlh.hamming.buckets import N_BUCKETS, into_buckets, nearest_in_buckets, rows_within_buckets, whole_codes
from drlh.hamming.engine import using
from drlh.hamming.scan import pad

KINDS = {
    "random": random_codes(3000, 48),
    "alike": random_codes(3000, 48) & np.array([3, 0, 255, 1, 0, 7], np.uint8),
    "repeated": repeated_codes(3000, 48),
    "one": random_codes(1, 48),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("threads", [1, 3])
def test_the_nearest_go_by_distance_and_number(
    level: str, kind: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("drlh.hamming.engine._LITTLE", 100)
    codes, queries = pad(KINDS[kind]), pad(np.vstack([random_codes(80, 48, 1), KINDS[kind][:1]]))
    numbers = np.random.default_rng(0).permutation(len(codes)).astype(np.uint32)  # of each code
    by_number = hamming_distances(queries, codes[np.argsort(numbers)]).astype(np.int64)
    order, rest, starts = into_buckets(codes)
    for n_queries in (1, 2, 81):
        for k in {1, min(100, len(codes)), len(codes)}:
            with using(threads=threads):
                distances, found = nearest_in_buckets(queries[-n_queries:], rest, starts, numbers[order], k)
            np.testing.assert_array_equal(found, sorted_rows(by_number[-n_queries:], k))
            np.testing.assert_array_equal(distances, np.take_along_axis(by_number[-n_queries:], found, axis=1))


@pytest.mark.parametrize("radius", [0, 5, 20, 48])
def test_all_within_a_radius_are_those_of_a_comparison(
    level: str, radius: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("drlh.hamming.buckets._BLOCK", 700)
    codes = pad(np.vstack([KINDS["random"], KINDS["alike"]]))
    order, rest, starts = into_buckets(codes)
    for query in (codes[17:18], pad(random_codes(1, 48, 1))):
        truth = hamming_distances(query, codes[order])[0]
        distances, rows = rows_within_buckets(query, rest, starts, radius)
        np.testing.assert_array_equal(rows, np.flatnonzero(truth <= radius))
        np.testing.assert_array_equal(distances, truth[rows])


def test_whole_codes_come_back() -> None:
    codes = pad(KINDS["alike"])
    order, rest, starts = into_buckets(codes)
    np.testing.assert_array_equal(whole_codes(rest, starts, np.arange(len(codes))), codes[order])
    np.testing.assert_array_equal(whole_codes(rest, starts, np.array([5, 2999])), codes[order[[5, 2999]]])


def test_starts_that_lead_out_of_bounds_are_refused(level: str) -> None:
    codes, room = np.zeros((10, 4), np.uint8), np.empty(1, np.int64)
    query, numbers = np.zeros((1, 8), np.uint8), np.arange(10, dtype=np.uint32)
    good = np.full(N_BUCKETS + 1, 10)
    good[0] = 0
    for wrong in (good[:-1], good + 1, np.where(np.arange(N_BUCKETS + 1) == 7, 11, good), -good):
        with pytest.raises(ValueError, match="starts"):
            engine.kernel.nearest_in_buckets(
                engine.LEVELS[level], query, codes, wrong, numbers, 0, 1, 1, room, room.copy()
            )
    with pytest.raises(ValueError, match="a number of 4 bytes for each code"):
        engine.kernel.nearest_in_buckets(engine.LEVELS[level], query, codes, good, numbers[:9], 0, 1, 1, room, room)
    engine.kernel.nearest_in_buckets(engine.LEVELS[level], query, codes, good, numbers, 0, 1, 1, room, room.copy())
    assert room.tolist() == [0]
