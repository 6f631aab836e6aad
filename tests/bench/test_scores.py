"""Rankings by inner product: the same numbers as Hamming levels give, and as every order of the ties gives."""

import tracemalloc
from fractions import Fraction
from itertools import groupby, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drlh.core.codes import signs
from drlh.core.errors import UserError
from drlh.evaluate.metrics import average_precisions, precisions_at, score_average_precisions, score_counts

divisors = st.sampled_from(["min", "found"])
tie_rules = st.sampled_from(["expected", "best", "worst"])
cuts = st.one_of(st.none(), st.integers(1, 45))


def labels_of(kind: str, n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, 4, n) if kind == "ids" else (rng.random((n, 5)) < 0.3).astype(np.uint8)


@settings(max_examples=100, deadline=None)
@given(
    st.integers(0, 10_000), st.sampled_from([1, 5, 12, 48]), st.sampled_from(["ids", "multi-hot"]), cuts, divisors,
    tie_rules, st.sampled_from([1.0, 0.1, 1 / 3, 1e-140, 1e150]),
)  # fmt: skip
def test_signs_of_codes_rank_as_their_hamming_distance_does(seed, n_bits, kind, top_k, divisor, ties, unit):
    rng = np.random.default_rng(seed)
    query, database = (rng.integers(0, 2, (n, n_bits), dtype=np.uint8) for n in (6, 40))
    labels = labels_of(kind, 6, rng), labels_of(kind, 40, rng)
    options = {"top_k": top_k, "divisor": divisor, "ties": ties}
    wanted = average_precisions(query, labels[0], database, labels[1], **options)
    vectors = unit * signs(query), unit * signs(database)
    found = score_average_precisions(vectors[0], labels[0], vectors[1], labels[1], **options)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)


def slow_average_precision(grades: list[int], cut: int, divisor: str) -> Fraction:
    hits = [place for place, grade in enumerate(grades[:cut], start=1) if grade]
    below = len(hits) if divisor == "found" else min(sum(grades), cut)
    total = sum((Fraction(rank, place) for rank, place in enumerate(hits, start=1)), Fraction(0))
    return total / below if below else Fraction(0)


items_with_scores = st.lists(
    st.tuples(st.sampled_from([-2.5, -0.1, 0.0, 0.3, 0.7]), st.integers(0, 1)), min_size=1, max_size=7
)


@settings(max_examples=100, deadline=None)
@given(items_with_scores, st.one_of(st.none(), st.integers(1, 9)), divisors)
def test_real_scores_give_the_mean_largest_and_smallest_over_all_orders_of_the_ties(items, top_k, divisor):
    ranked = groupby(sorted(items, reverse=True), key=lambda item: item[0])
    levels = [[grade for _, grade in level] for _, level in ranked]
    slow = [
        slow_average_precision([grade for level in choice for grade in level], top_k or len(items), divisor)
        for choice in product(*(permutations(level) for level in levels))
    ]
    wanted = {"expected": sum(slow) / len(slow), "best": max(slow), "worst": min(slow)}
    scores, grades = (np.array(column) for column in zip(*items, strict=True))
    for ties, value in wanted.items():
        (found,) = score_average_precisions(
            np.ones((1, 1)), np.array([1]), scores[:, None], grades, top_k=top_k, divisor=divisor, ties=ties
        )
        assert found == pytest.approx(float(value), abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["ids", "multi-hot"]), cuts)
def test_scores_without_ties_give_the_plain_average_precision_whatever_the_tie_rule(seed, kind, top_k):
    rng = np.random.default_rng(seed)
    query, database = rng.normal(size=(4, 7)), rng.normal(size=(40, 7))
    labels = labels_of(kind, 4, rng), labels_of(kind, 40, rng)
    wanted = []
    for row, label in zip(query, labels[0], strict=True):
        order = np.argsort(-(database @ row))
        shared = labels[1] == label if kind == "ids" else labels[1] @ label > 0
        wanted.append(float(slow_average_precision(shared[order].astype(int).tolist(), top_k or 40, "min")))
    for ties in ("expected", "best", "worst"):
        found = score_average_precisions(query, labels[0], database, labels[1], top_k=top_k, ties=ties)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)


def test_a_ranking_worked_by_hand():
    scores = np.array([[0.9], [0.5], [0.5], [0.1]])
    labels = np.array([1, 1, 0, 0])
    (largest_first,) = score_average_precisions(np.ones((1, 1)), np.array([1]), scores, labels)
    assert largest_first == pytest.approx((1 + (1 + 2 / 3) / 2) / 2)
    (smallest_first,) = score_average_precisions(-np.ones((1, 1)), np.array([1]), scores, labels)
    assert smallest_first == pytest.approx(((1 / 2 + 1 / 3) / 2 + 2 / 4) / 2)
    (counts,) = score_counts(np.ones((1, 1)), np.array([1]), scores, labels)
    assert precisions_at(counts, 2)[0] == pytest.approx(3 / 4)


def test_equal_vectors_tie_wherever_they_stand_in_the_database():
    # Matrix products may add up in another order at the edge of a block, and differ in the last digit.
    rng = np.random.default_rng(0)
    kinds = rng.normal(size=(5, 37))
    query, query_labels = rng.normal(size=(9, 37)), rng.integers(0, 3, 9)
    rows, labels = np.repeat(np.arange(5), 41), rng.integers(0, 3, 205)
    order = rng.permutation(205)
    before = score_average_precisions(query, query_labels, kinds[rows], labels)
    after = score_average_precisions(query, query_labels, kinds[rows[order]], labels[order])
    np.testing.assert_allclose(before, after, rtol=0, atol=1e-14)
    for counts in score_counts(query, query_labels, kinds[rows], labels):
        assert (counts.relevant > 0).sum(axis=1).max() <= 5


def test_queries_that_see_no_difference_or_nothing_relevant():
    labels = np.array([0, 1, 1, 0])
    zero = score_average_precisions(np.zeros((1, 3)), np.array([0]), np.ones((4, 3)), labels)
    tied = average_precisions(np.zeros((1, 3), np.uint8), np.array([0]), np.zeros((4, 3), np.uint8), labels)
    np.testing.assert_allclose(zero, tied)
    assert score_average_precisions(np.ones((1, 3)), np.array([7]), np.ones((4, 3)), labels).tolist() == [0]


def test_one_query_at_a_time_equals_all_at_once(monkeypatch):
    rng = np.random.default_rng(1)
    case = rng.normal(size=(7, 4)), rng.integers(0, 3, 7), rng.normal(size=(50, 4)), rng.integers(0, 3, 50)
    at_once = score_average_precisions(*case)
    monkeypatch.setattr("drlh.evaluate.counts._SCORE_BYTES", 1)
    assert len(list(score_counts(*case))) == 7
    np.testing.assert_allclose(score_average_precisions(*case), at_once, rtol=0, atol=1e-14)


def test_ranking_never_holds_all_scores_at_once():
    rng = np.random.default_rng(2)
    case = rng.normal(size=(400, 3)), rng.integers(0, 3, 400), rng.normal(size=(50_000, 3)), rng.integers(0, 3, 50_000)
    tracemalloc.start()
    for _ in score_counts(*case):
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 << 20  # the scores alone would take 160 MB


VECTORS, IDS = np.ones((3, 2)), np.array([0, 1, 1])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((VECTORS, IDS[:2], VECTORS, IDS), r"query set needs .* got shape \(3, 2\) and 2 labels"),
        ((VECTORS, IDS, VECTORS[0], IDS), "database set needs finite vectors"),
        ((VECTORS[:0], IDS[:0], VECTORS, IDS), "query set needs"),
        ((VECTORS * np.nan, IDS, VECTORS, IDS), "query set needs finite vectors"),
        ((VECTORS, IDS, VECTORS[:, :1], IDS), "same length: got 2 and 1"),
        ((VECTORS, IDS, VECTORS, np.eye(3, dtype=np.uint8)), "both be class ids"),
    ],
)
def test_vectors_that_do_not_fit_together_are_refused_in_one_sentence(arguments, sentence):
    with pytest.raises(UserError, match=sentence):
        score_average_precisions(*arguments)
