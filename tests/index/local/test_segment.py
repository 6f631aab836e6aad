"""Segments: the choice of layout, and lists merged by (distance, id) at any size of id."""

from pathlib import Path

import numpy as np
import pytest
from tests.index.brute_force import BruteForce, random_codes, repeated_codes

from drlh.hamming.engine import LEVELS, using
from drlh.hamming.scan import pad
from drlh.index.details import Details
from drlh.index.local.compaction import make_segment
from drlh.index.local.index import LocalIndex


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


@pytest.fixture
def buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Buckets for the few rows of a test too."""
    if not LEVELS:
        pytest.skip("buckets need the kernel, which was not compiled on this machine")
    monkeypatch.setattr("drlh.hamming.buckets.SMALLEST", 1)


def near_bits(n: int, seed: int = 0) -> np.ndarray:
    """Codes of 48 bits with many ties, and with several in a bucket."""
    return random_codes(n, 48, seed) & np.array([3, 1, 255, 1, 1, 255], np.uint8)


@pytest.mark.usefixtures("buckets")
@pytest.mark.parametrize("engine", ["faiss", *LEVELS])
def test_an_index_in_buckets_answers_as_brute_force_does(engine: str, tmp_path: Path) -> None:
    truth, codes = BruteForce(), near_bits(500)
    ids = np.random.default_rng(1).permutation(500) * 3
    truth.add(codes, ids)
    with LocalIndex.create(tmp_path / "index", 48) as index:
        index.add(codes, ids, Details(np.array([f"photo {number}" for number in ids]), ids % 2, ("cat", "dog")))
        index.remove(ids[:60])
        truth.remove(ids[:60])
        assert index._segments[0].starts is not None
        assert index._segments[0].codes.shape == (500, 4)
    queries = np.vstack([near_bits(5, 3), random_codes(5, 48, 4)])
    with LocalIndex.open(tmp_path / "index") as index, using(engine):
        for some in (queries[:1], queries):
            for k in (1, 50, 9999):
                distances, found = index.search(some, k)
                assert [list(zip(*row)) for row in zip(distances.tolist(), found.tolist())] == truth.search(some, k)
        for radius in (0, 4, 48):
            within = [
                list(zip(hits.distances.tolist(), hits.ids.tolist())) for hits in index.search_radius(queries, radius)
            ]
            assert within == truth.search_radius(queries, radius)
        packed, known = index.codes([*ids[50:70].tolist(), 1])
        assert known.tolist() == [False] * 10 + [True] * 10 + [False]
        np.testing.assert_array_equal(packed[10:20], codes[60:70])
        assert index.describe(ids[60:61])[0] is not None
        assert index.highest_id() == max(truth.codes)


@pytest.mark.usefixtures("buckets")
def test_rows_in_buckets_are_merged_with_later_ones(tmp_path: Path) -> None:
    truth = BruteForce()
    with LocalIndex.create(tmp_path / "index", 48) as index:
        for start in range(0, 400, 50):
            codes, ids = near_bits(50, start), np.arange(start, start + 80)[-50:]
            index.add(codes, ids)
            truth.add(codes, ids)
        distances, found = index.search(near_bits(3, 999), 100)
        assert len(index) == len(truth.codes)
        truth_hits = truth.search(near_bits(3, 999), 100)
        assert [list(zip(*row)) for row in zip(distances.tolist(), found.tolist())] == truth_hits
        assert index._segments[0].holds(np.array([30, 31, 5, 10**6])).tolist() == [True, True, False, False]


@pytest.mark.usefixtures("buckets")
def test_buckets_are_for_short_codes_and_small_ids_alone() -> None:
    codes = pad(random_codes(100, 48))
    assert make_segment(codes, np.arange(100)).starts is not None
    assert make_segment(codes, np.arange(100) + 2**40).starts is None
    assert make_segment(pad(random_codes(100, 64)), np.arange(100)).starts is None
    assert make_segment(pad(random_codes(100, 32)), np.arange(100)).starts is None
    with using("faiss"):
        assert make_segment(codes, np.arange(100)).starts is None


@pytest.mark.usefixtures("buckets")
def test_an_approximate_search_is_built_over_whole_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drlh.index.local.segment.SMALLEST", 1)
    codes = random_codes(300, 48)
    segment = make_segment(pad(codes), np.arange(300)[::-1].copy()).with_approximate("hnsw")
    assert segment.starts is None
    assert segment.approximate is not None
    np.testing.assert_array_equal(segment.nearest(pad(codes[:5]), 1, exact=False).ids[:, 0], 299 - np.arange(5))
