"""Approximate search: near enough on codes with structure, exact when asked, there again after opening."""

from pathlib import Path

import numpy as np
import pytest
from tests.index.brute_force import random_codes, repeated_codes

from drlh.core.codes import pack
from drlh.core.errors import UserError
from drlh.index.local.index import LocalIndex
from drlh.index.recall import measure_recall


def clustered_codes(n: int, seed: int) -> np.ndarray:
    """Codes a few bits off one of 100 centres, hardly any twice."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(5).integers(0, 2, (100, 48), np.uint8)
    return pack(centres[rng.integers(0, 100, n)] ^ (rng.random((n, 48)) < 0.15).astype(np.uint8))


@pytest.mark.parametrize("method", ["ivf", "hnsw"])
def test_recall_is_high_on_clusters_and_exact_search_is_exact(method: str, tmp_path: Path) -> None:
    packed = clustered_codes(12_000, 0)
    index = LocalIndex.create(tmp_path, 48, approximate=method)
    index.add(packed, np.arange(12_000))
    index.remove(np.arange(0, 12_000, 7))
    exact = LocalIndex(48)
    exact.add(packed, np.arange(12_000))
    exact.remove(np.arange(0, 12_000, 7))
    again, queries = LocalIndex.open(tmp_path), clustered_codes(50, 1)
    assert again.approximate == method
    for left, right in zip(again.search(queries, 20, exact=True), exact.search(queries, 20), strict=True):
        np.testing.assert_array_equal(left, right)
    distances, ids = again.search(queries, 20)
    assert ids.shape == (50, 20)
    assert not (ids % 7 == 0).any()
    assert (np.diff(distances) >= 0).all()
    assert 0.8 < measure_recall(again, queries, k=20)["recall"] <= 1


def test_codes_without_structure_are_found_badly_and_that_is_said() -> None:
    index = LocalIndex(48, approximate="ivf")
    packed = random_codes(12_000, 48)
    index.add(packed, np.arange(12_000))
    measured = measure_recall(index, random_codes(50, 48, 1))
    assert measured["recall"] < 0.9
    assert measured["k"] == 100


def test_more_hits_than_the_lists_hold_are_scanned_for(monkeypatch: pytest.MonkeyPatch) -> None:
    index = LocalIndex(48, approximate="ivf")
    index.add(random_codes(12_000, 48), np.arange(12_000))
    _, ids = index.search(random_codes(2, 48, 1), 11_900)
    assert len(np.unique(ids[0])) == 11_900


def test_few_or_repeated_codes_need_no_approximation() -> None:
    index = LocalIndex(48, approximate="hnsw")
    index.add(repeated_codes(50_000, 48), np.arange(50_000))
    assert index.nbytes < 50_000 * 5
    assert measure_recall(index, repeated_codes(50, 48))["recall"] == 1


def test_unknown_methods_are_told() -> None:
    with pytest.raises(UserError, match="one of ivf, hnsw: got 'lsh'"):
        LocalIndex(48, approximate="lsh")
