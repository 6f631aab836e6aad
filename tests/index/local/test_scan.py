"""Scans against numpy: every width, both of faiss's ways to count, ties by row."""

import numpy as np
import pytest
from tests.index.brute_force import random_codes, repeated_codes

from drlh.core.codes import hamming_distances
from drlh.index.local.scan import nearest_rows, pad, rows_within


def test_codes_are_padded_to_the_next_fast_width() -> None:
    bits = (1, 32, 33, 48, 64, 65, 128, 129, 512, 513, 600)
    assert [pad(random_codes(1, n)).shape[1] for n in bits] == [4, 4, 8, 8, 8, 16, 16, 32, 64, 72, 80]
    packed = random_codes(5, 48)
    padded = pad(packed)
    np.testing.assert_array_equal(padded[:, :6], packed)
    assert not padded[:, 6:].any()


@pytest.mark.parametrize("n_bits", [12, 48, 100, 200, 512, 600])
@pytest.mark.parametrize("k", [1, 100, 2999, 3000])
def test_the_nearest_rows_are_those_of_a_sort(n_bits: int, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    codes = pad(np.vstack([random_codes(1500, n_bits), repeated_codes(1500, n_bits)]))
    queries = pad(random_codes(40, n_bits, 1))
    keys = hamming_distances(queries, codes).astype(np.int64) * 3000 + np.arange(3000)
    truth = np.sort(keys, axis=1)[:, :k]
    for places in (32 << 20, 1):  # counting, and the heap where counting needs too much
        monkeypatch.setattr("drlh.index.local.scan._PLACES", places)
        distances, rows = nearest_rows(queries, codes, k)
        np.testing.assert_array_equal(distances.astype(np.int64) * 3000 + rows, truth)


@pytest.mark.parametrize("radius", [0, 20, 48])
def test_the_rows_within_a_radius_are_those_of_a_comparison(radius: int) -> None:
    codes, queries = pad(random_codes(800, 48)), pad(random_codes(4, 48, 1))
    queries[0] = codes[17]
    bounds, distances, rows = rows_within(queries, codes, radius)
    for query, truth in enumerate(hamming_distances(queries, codes)):
        place = slice(bounds[query], bounds[query + 1])
        np.testing.assert_array_equal(rows[place], np.flatnonzero(truth <= radius))
        np.testing.assert_array_equal(distances[place], truth[rows[place]])
