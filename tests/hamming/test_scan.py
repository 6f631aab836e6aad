"""Scans against numpy with every engine: widths, ties by row, threads, both of faiss's ways to count."""

import numpy as np
import pytest
from tests.index.brute_force import random_codes, repeated_codes

from drlh.core.codes import hamming_distances
from drlh.core.errors import UserError
from drlh.hamming.engine import using
from drlh.hamming.scan import nearest_by_two_keys, nearest_rows, pad, rows_within


def test_codes_are_padded_to_the_next_fast_width() -> None:
    bits = (1, 32, 33, 48, 64, 65, 128, 129, 512, 513, 600)
    assert [pad(random_codes(1, n)).shape[1] for n in bits] == [4, 4, 8, 8, 8, 16, 16, 32, 64, 72, 80]
    packed = random_codes(5, 48)
    padded = pad(packed)
    np.testing.assert_array_equal(padded[:, :6], packed)
    assert not padded[:, 6:].any()


@pytest.mark.parametrize("n_bits", [12, 48, 100, 200, 512, 600])
@pytest.mark.parametrize("k", [1, 100, 2999, 3000])
def test_the_nearest_rows_are_those_of_a_sort(
    engine_name: str, n_bits: int, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes = pad(np.vstack([random_codes(1500, n_bits), repeated_codes(1500, n_bits)]))
    queries = pad(random_codes(40, n_bits, 1))
    keys = hamming_distances(queries, codes).astype(np.int64) * 3000 + np.arange(3000)
    truth = np.sort(keys, axis=1)[:, :k]
    for places in (32 << 20, 1):  # counting, and the heap where counting needs too much
        monkeypatch.setattr("drlh.hamming.fallback._PLACES", places)
        distances, rows = nearest_rows(queries, codes, k)
        np.testing.assert_array_equal(distances.astype(np.int64) * 3000 + rows, truth)


@pytest.mark.parametrize("radius", [0, 20, 48])
def test_the_rows_within_a_radius_are_those_of_a_comparison(engine_name: str, radius: int) -> None:
    codes, queries = pad(random_codes(800, 48)), pad(random_codes(4, 48, 1))
    queries[0] = codes[17]
    bounds, distances, rows = rows_within(queries, codes, radius)
    for query, truth in enumerate(hamming_distances(queries, codes)):
        place = slice(bounds[query], bounds[query + 1])
        np.testing.assert_array_equal(rows[place], np.flatnonzero(truth <= radius))
        np.testing.assert_array_equal(distances[place], truth[rows[place]])


def test_threads_share_queries_or_codes_and_change_nothing(engine_name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drlh.hamming.engine._LITTLE", 100)
    codes = pad(np.vstack([random_codes(500, 48), repeated_codes(500, 48)]))
    for n_queries in (1, 2, 7):
        queries = pad(random_codes(n_queries, 48, 1))
        with using(threads=1):
            alone = [*nearest_rows(queries, codes, 600), *rows_within(queries, codes, 20)]
        with using(threads=3):
            together = [*nearest_rows(queries, codes, 600), *rows_within(queries, codes, 20)]
        for left, right in zip(alone, together, strict=True):
            np.testing.assert_array_equal(left, right)


def test_two_keys_order_by_code_then_detail_code_then_row(engine_name: str) -> None:
    codes, details = repeated_codes(400, 16), random_codes(400, 100)
    queries, query_details = repeated_codes(5, 16, 3), random_codes(5, 100, 3)
    found = nearest_by_two_keys(queries, codes, query_details, details, 50)
    first, second = hamming_distances(queries, codes), hamming_distances(query_details, details)
    for row in range(5):
        order = np.lexsort((np.arange(400), second[row], first[row]))[:50]
        np.testing.assert_array_equal(found.rows[row], order)
        np.testing.assert_array_equal(found.distances[row], first[row][order])
        np.testing.assert_array_equal(found.detail_distances[row], second[row][order])
    assert nearest_by_two_keys(queries, codes, query_details, details, 999).rows.shape == (5, 400)
    with pytest.raises(UserError, match="every code needs a detail code"):
        nearest_by_two_keys(queries, codes, query_details, details[:7], 5)


def test_nothing_asked_is_nothing_found(engine_name: str) -> None:
    codes = pad(random_codes(10, 48))
    assert nearest_rows(codes[:0], codes, 3)[1].shape == (0, 3)
    assert nearest_rows(codes[:2], codes, 0)[1].shape == (2, 0)
    assert nearest_by_two_keys(codes[:0], codes, codes[:0], codes, 3).rows.shape == (0, 3)
