"""Counts per distance level against the full distance matrix, and what they refuse."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drlh.core.codes import pack
from drlh.core.errors import UserError
from drlh.evaluate.counts import count_levels, level_counts


def slow_counts(query, query_labels, database, database_labels):
    distances = (query[:, None, :] != database[None, :, :]).sum(axis=2)
    if query_labels.ndim == 1:
        relevant = query_labels[:, None] == database_labels[None, :]
    else:
        relevant = query_labels.astype(int) @ database_labels.T.astype(int) > 0
    levels = np.arange(query.shape[1] + 1)
    at = distances[:, :, None] == levels
    return at.sum(axis=1), (at & relevant[:, :, None]).sum(axis=1)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([1, 7, 8, 12, 48, 64, 65, 130, 300]), st.sampled_from([0, 3, 21, 81]))
def test_counts_equal_those_of_the_full_distance_matrix(seed, n_bits, n_concepts):
    rng = np.random.default_rng(seed)
    query, database = (rng.integers(0, 2, (n, n_bits), dtype=np.uint8) for n in (5, 30))
    if n_concepts:
        labels = [(rng.random((n, n_concepts)) < 2 / n_concepts).astype(np.uint8) for n in (5, 30)]
    else:
        labels = [rng.integers(-2, 3, n) for n in (5, 30)]
    counts = count_levels(query, labels[0], database, labels[1])
    total, relevant = slow_counts(query, labels[0], database, labels[1])
    assert np.array_equal(counts.total, total)
    assert np.array_equal(counts.relevant, relevant)


def test_packed_and_unpacked_codes_give_the_same_counts():
    rng = np.random.default_rng(1)
    query, database = (rng.integers(0, 2, (n, 21), dtype=np.uint8) for n in (4, 25))
    labels = rng.integers(0, 3, 4), rng.integers(0, 3, 25)
    plain = count_levels(query, labels[0], database, labels[1])
    packed = level_counts(pack(query), labels[0], pack(database), labels[1], 21)
    assert np.array_equal(plain.total, packed.total)
    assert np.array_equal(plain.relevant, packed.relevant)


def test_a_database_of_several_chunks_equals_the_sum_of_its_parts(monkeypatch):
    rng = np.random.default_rng(2)
    query, database = (rng.integers(0, 2, (n, 16), dtype=np.uint8) for n in (3, 50))
    labels = rng.integers(0, 3, 3), rng.integers(0, 3, 50)
    whole = count_levels(query, labels[0], database, labels[1])
    monkeypatch.setattr("drlh.evaluate.counts._STEP", 7)
    told = []
    chunked = count_levels(
        query, labels[0], database, labels[1], progress=lambda done, total, what: told.append((done, total))
    )
    assert np.array_equal(whole.total, chunked.total)
    assert np.array_equal(whole.relevant, chunked.relevant)
    assert told == [(min(7 * i, 50), 50) for i in range(1, 9)]


def test_counting_never_holds_the_distance_matrix():
    rng = np.random.default_rng(3)
    query, database = (rng.integers(0, 256, (n, 6), dtype=np.uint8) for n in (300, 100_000))
    labels = rng.integers(0, 10, 300), rng.integers(0, 10, 100_000)
    tracemalloc.start()
    level_counts(query, labels[0], database, labels[1], 48)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 << 20  # the matrix would take 30 MB as bytes


def test_images_without_any_label_are_relevant_to_nothing():
    codes = np.zeros((2, 8), np.uint8)
    labels = np.zeros((2, 3), np.uint8)
    assert count_levels(codes, labels, codes, labels).relevant.sum() == 0


CODES = np.zeros((3, 8), np.uint8)
IDS = np.array([0, 1, 1])
HOT = np.eye(3, dtype=np.uint8)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((CODES, IDS, CODES, HOT), "both be class ids"),
        ((CODES, HOT, CODES, HOT[:, :2]), "over the same classes"),
        ((CODES, IDS[:2], CODES, IDS), "query set needs .* got 3 codes and 2 labels"),
        ((CODES, IDS, CODES[:2], IDS), "database set needs .* got 2 codes and 3 labels"),
        ((CODES[:0], IDS[:0], CODES, IDS), "query set needs at least one code"),
        ((CODES, IDS, CODES[:0], IDS[:0]), "database set needs at least one code"),
        ((CODES, IDS, CODES[:, :7], IDS), "same number of bits: got 8 and 7"),
        ((CODES + 2, IDS, CODES, IDS), "query_codes must hold only 0 and 1"),
        ((2 * CODES.astype(int) - 1, IDS, CODES, IDS), r"become 0 and 1 by \(codes > 0\)"),
        ((CODES, IDS, CODES, np.array(["a", "b", "c"])), "database_labels must be whole-number"),
        ((CODES, IDS / 2, CODES, IDS), "query_labels must be whole-number"),
        ((CODES, 2 * HOT, CODES, HOT), "query_labels must hold only 0 and 1"),
        ((CODES, IDS.reshape(3, 1, 1), CODES, IDS), "query_labels must be whole-number"),
    ],
)
def test_input_that_does_not_fit_together_is_refused_in_one_sentence(arguments, sentence):
    with pytest.raises(UserError, match=sentence):
        count_levels(*arguments)


@pytest.mark.parametrize(
    ("packed", "n_bits", "sentence"),
    [
        (np.zeros((3, 2), np.uint8), 17, "of 17 bits must be uint8 rows of 3 bytes"),
        (np.zeros((3, 1), np.int64), 8, "must be uint8 rows"),
        (np.zeros((3, 0), np.uint8), 0, "of 0 bits"),
        (np.full((3, 1), 255, np.uint8), 7, "bits set past bit 6"),
    ],
)
def test_packed_codes_of_another_length_are_refused(packed, n_bits, sentence):
    with pytest.raises(UserError, match=sentence):
        level_counts(packed, IDS, packed, IDS, n_bits)
