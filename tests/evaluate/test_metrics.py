"""Metrics against every order of the ties, and against numbers worked by hand."""

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, groupby, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drlh.core.errors import UserError
from drlh.evaluate.counts import LevelCounts
from drlh.evaluate.metrics import (
    average_precisions,
    average_precisions_of,
    count_levels,
    mean_average_precision,
    normalized_gains,
    precisions_at,
    precisions_by_radius,
    radius_average_precisions,
    recalls_at,
    recalls_by_radius,
)

N_BITS = 5
ALL_TIES = ("expected", "best", "worst")
Items = list[tuple[int, int]]  # (distance, grade), grade 0 = not relevant
relevant_items = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1)), min_size=1, max_size=7)
graded_items = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=6)


def codes_at(distances: list[int]) -> np.ndarray:
    return (np.arange(N_BITS) < np.array(distances)[:, None]).astype(np.uint8)


def counts_of(items: Items) -> LevelCounts:
    """One query of class 1 at the origin against these items."""
    distances, grades = zip(*items, strict=True)
    return count_levels(codes_at([0]), np.array([1]), codes_at(list(distances)), np.array(grades))


def orders(items: Items) -> Iterator[list[int]]:
    """The grades in every order of the ties."""
    levels = [[grade for _, grade in level] for _, level in groupby(sorted(items), key=lambda item: item[0])]
    for choice in product(*(permutations(level) for level in levels)):
        yield [grade for level in choice for grade in level]


def slow_average_precision(grades: list[int], cut: int, divisor: str) -> Fraction:
    hits = [place for place, grade in enumerate(grades[:cut], start=1) if grade]
    below = len(hits) if divisor == "found" else min(sum(grades), cut)
    total = sum((Fraction(rank, place) for rank, place in enumerate(hits, start=1)), Fraction(0))
    return total / below if below else Fraction(0)


def over_orders(values: list[Fraction], ties: str) -> float:
    chosen = {"expected": sum(values) / len(values), "best": max(values), "worst": min(values)}[ties]
    return float(chosen)


@settings(max_examples=150, deadline=None)
@given(relevant_items, st.one_of(st.none(), st.integers(1, 9)))
def test_average_precision_is_the_mean_largest_and_smallest_over_all_orders_of_the_ties(items, top_k):
    counts = counts_of(items)
    ranked = list(orders(items))
    for divisor in ("min", "found"):
        slow = [slow_average_precision(grades, top_k or len(items), divisor) for grades in ranked]
        for ties in ALL_TIES:
            (fast,) = average_precisions_of(counts, top_k=top_k, divisor=divisor, ties=ties)
            assert fast == pytest.approx(over_orders(slow, ties), abs=1e-12)


def every_small_ranking(n_items: int, n_levels: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """All ((items, relevant items), ...) of so many levels with at most so many items in all, and at least one."""
    levels = [(n, p) for n in range(n_items + 1) for p in range(n + 1)]
    for ranking in product(levels, repeat=n_levels):
        if 1 <= sum(n for n, _ in ranking) <= n_items:
            yield ranking


def placements(ranking: tuple[tuple[int, int], ...]) -> Iterator[list[int]]:
    """Every way the relevant items of each level can lie; all are equally likely."""
    for choice in product(*(combinations(range(n), p) for n, p in ranking)):
        yield [int(place in hits) for (n, _), hits in zip(ranking, choice, strict=True) for place in range(n)]


@pytest.mark.parametrize("divisor", ["min", "found"])
@pytest.mark.parametrize("cut", range(1, 6))
def test_average_precision_is_exact_on_every_ranking_of_five_items_in_three_levels(cut, divisor):
    rankings = list(every_small_ranking(5, 3))
    total, relevant = np.moveaxis(np.array(rankings), 2, 0)
    slow = [[slow_average_precision(grades, cut, divisor) for grades in placements(r)] for r in rankings]
    for ties in ALL_TIES:
        fast = average_precisions_of(LevelCounts(total, relevant), top_k=cut, divisor=divisor, ties=ties)
        assert np.allclose(fast, [over_orders(values, ties) for values in slow], rtol=0, atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(relevant_items, st.integers(1, 9))
def test_precision_and_recall_at_k_are_those_over_all_orders_of_the_ties(items, k):
    counts = counts_of(items)
    hits = [Fraction(sum(grades[:k])) for grades in orders(items)]
    n_relevant = sum(grade for _, grade in items)
    for ties in ALL_TIES:
        expected_hits = over_orders(hits, ties)
        assert precisions_at(counts, k, ties=ties)[0] == pytest.approx(expected_hits / min(k, len(items)))
        wanted = expected_hits / n_relevant if n_relevant else 0
        assert recalls_at(counts, k, ties=ties)[0] == pytest.approx(wanted)


@settings(max_examples=40, deadline=None)
@given(relevant_items, st.integers(0, 3))
def test_radius_look_up_ranks_the_ball_and_nothing_else(items, radius):
    counts = counts_of(items)
    ball = [item for item in items if item[0] <= radius]
    hits = sum(grade for _, grade in ball)
    slow = [slow_average_precision(grades, len(ball), "found") for grades in orders(ball)] or [Fraction(0)]
    for ties in ALL_TIES:
        assert radius_average_precisions(counts, radius, ties=ties)[0] == pytest.approx(over_orders(slow, ties))
    assert precisions_by_radius(counts)[0, radius] == pytest.approx(hits / len(ball) if ball else 0)
    n_relevant = sum(grade for _, grade in items)
    assert recalls_by_radius(counts)[0, radius] == pytest.approx(hits / n_relevant if n_relevant else 0)


def slow_gain(grades: list[int], cut: int) -> float:
    return sum((2**grade - 1) / math.log2(place + 1) for place, grade in enumerate(grades[:cut], start=1))


@settings(max_examples=60, deadline=None)
@given(graded_items, st.one_of(st.none(), st.integers(1, 8)))
def test_normalized_gain_is_the_mean_over_all_orders_of_the_ties(items, top_k):
    cut = top_k or len(items)
    distances, grades = zip(*items, strict=True)
    labels = (np.arange(4) < np.array(grades)[:, None]).astype(np.uint8)  # grade g: the first g of four labels
    query_labels = np.array([[1, 1, 1, 0]], np.uint8)
    ideal = slow_gain(sorted(grades, reverse=True), cut)
    slow = [slow_gain(order, cut) for order in orders(items)]
    wanted = sum(slow) / len(slow) / ideal if ideal else 0
    (fast,) = normalized_gains(codes_at([0]), query_labels, codes_at(list(distances)), labels, top_k=top_k)
    assert fast == pytest.approx(wanted, abs=1e-12)


def test_average_precision_without_ties_worked_by_hand():
    counts = counts_of([(0, 1), (1, 0), (2, 1), (3, 0)])  # hits at places 1 and 3
    for ties in ALL_TIES:
        assert average_precisions_of(counts, ties=ties)[0] == pytest.approx((1 + 2 / 3) / 2)
    assert average_precisions_of(counts, top_k=2)[0] == pytest.approx(1 / 2)
    assert average_precisions_of(counts, top_k=2, divisor="found")[0] == pytest.approx(1)


def test_average_precision_of_one_tie_worked_by_hand():
    counts = counts_of([(2, 1), (2, 0)])
    assert average_precisions_of(counts)[0] == pytest.approx((1 + 1 / 2) / 2)
    assert average_precisions_of(counts, ties="best")[0] == 1
    assert average_precisions_of(counts, ties="worst")[0] == 1 / 2


def test_divisor_found_can_prefer_a_hit_below_the_cut():
    items = [(0, 1), (1, 0), (1, 0), (1, 0), (1, 0), (2, 1), (2, 0)]  # place 6 is a hit or a miss
    values = {
        ties: average_precisions_of(counts_of(items), top_k=6, divisor="found", ties=ties)[0] for ties in ALL_TIES
    }
    assert values["best"] == pytest.approx(1)
    assert values["worst"] == pytest.approx((1 + 2 / 6) / 2)
    assert values["expected"] == pytest.approx((1 + (1 + 2 / 6) / 2) / 2)


def test_normalized_gain_of_a_swapped_pair_worked_by_hand():
    labels = np.array([[1, 0], [1, 1]], np.uint8)  # gains 1 and 3, the smaller one nearer
    (value,) = normalized_gains(codes_at([0]), labels[1:], codes_at([1, 2]), labels)
    assert value == pytest.approx((1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3)))


def test_a_query_without_relevant_items_counts_as_zero_in_the_mean():
    query = codes_at([0, 0])
    database = codes_at([0, 1])
    labels = np.array([4, 4])
    assert average_precisions(query, np.array([4, 9]), database, labels).tolist() == [1, 0]
    assert mean_average_precision(query, np.array([4, 9]), database, labels) == 1 / 2


def exact_found(n: int, p: int, k: int) -> float:
    """One tie of n items, p relevant, cut at k: every number of hits by its exact probability."""
    total = Fraction(0)
    for hits in range(max(0, k - (n - p)), min(p, k) + 1):
        if hits:
            slope = Fraction(hits - 1, k - 1)
            mean = sum(((1 + place * slope) / (place + 1) for place in range(k)), Fraction(0)) / k
            total += Fraction(math.comb(p, hits) * math.comb(n - p, k - hits), math.comb(n, k)) * mean
    return float(total)


@pytest.mark.parametrize(("n", "p", "k"), [(400, 150, 90), (400, 3, 200), (300, 299, 150), (500, 250, 499)])
def test_cut_inside_a_big_tie_keeps_twelve_digits(n, p, k):
    counts = LevelCounts(np.array([[n]]), np.array([[p]]))
    (value,) = average_precisions_of(counts, top_k=k, divisor="found")
    assert value == pytest.approx(exact_found(n, p, k), rel=1e-12)


def test_a_database_of_one_big_tie_keeps_ten_digits():
    n, p = 200_000, 50_000
    places = np.arange(n)
    slope = (p - 1) / (n - 1)
    wanted = math.fsum((1 + slope * places) / (1 + places)) / n
    (value,) = average_precisions_of(LevelCounts(np.array([[0, n]]), np.array([[0, p]])))
    assert value == pytest.approx(wanted, rel=1e-10)


label_kinds = st.sampled_from(["ids", "multi-hot"])


def random_case(seed: int, kind: str, n_bits: int = 11) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)

    def labels(n: int) -> np.ndarray:
        return rng.integers(0, 4, n) if kind == "ids" else (rng.random((n, 5)) < 0.3).astype(np.uint8)

    query = rng.integers(0, 2, (6, n_bits), dtype=np.uint8)
    database = rng.integers(0, 2, (40, n_bits), dtype=np.uint8)
    return query, labels(6), database, labels(40)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), label_kinds, st.one_of(st.none(), st.integers(1, 45)), st.sampled_from(["min", "found"]))
def test_expected_lies_between_worst_and_best_and_all_lie_in_zero_to_one(seed, kind, top_k, divisor):
    case = random_case(seed, kind)
    worst, expected, best = (
        average_precisions(*case, top_k=top_k, divisor=divisor, ties=ties) for ties in ("worst", "expected", "best")
    )
    assert (worst >= 0).all()
    assert (worst <= expected + 1e-12).all()
    assert (expected <= best + 1e-12).all()
    assert (best <= 1 + 1e-12).all()


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), label_kinds, st.sampled_from(["min", "found"]), st.sampled_from(ALL_TIES))
def test_the_order_of_the_database_rows_changes_nothing(seed, kind, divisor, ties):
    query, query_labels, database, database_labels = random_case(seed, kind)
    order = np.random.default_rng(seed).permutation(len(database))
    options = {"top_k": 13, "divisor": divisor, "ties": ties}
    before = average_precisions(query, query_labels, database, database_labels, **options)
    after = average_precisions(query, query_labels, database[order], database_labels[order], **options)
    assert np.array_equal(before, after)
    gains = [
        normalized_gains(query, query_labels, database[rows], database_labels[rows], top_k=13)
        for rows in (np.arange(len(order)), order)
    ]
    assert np.array_equal(*gains)


def test_class_ids_and_their_one_hot_form_give_the_same_numbers():
    query, query_labels, database, database_labels = random_case(3, "ids")
    one_hot = np.eye(4, dtype=np.uint8)
    ids = average_precisions(query, query_labels, database, database_labels, top_k=20)
    hot = average_precisions(query, one_hot[query_labels], database, one_hot[database_labels], top_k=20)
    assert np.array_equal(ids, hot)
    gains_of_ids = normalized_gains(query, query_labels, database, database_labels)
    gains_of_hot = normalized_gains(query, one_hot[query_labels], database, one_hot[database_labels])
    assert np.array_equal(gains_of_ids, gains_of_hot)


def test_gains_in_many_small_blocks_equal_those_in_one(monkeypatch):
    case = random_case(5, "multi-hot")
    at_once = normalized_gains(*case)
    monkeypatch.setattr("drlh.evaluate.counts._BLOCK_BYTES", 1)
    assert np.array_equal(normalized_gains(*case), at_once)


@pytest.mark.parametrize("cut", [0, -1, 2.5, True, "all"])
def test_a_cut_that_is_no_positive_whole_number_is_refused(cut):
    case = random_case(0, "ids")
    with pytest.raises(UserError, match="the cut must be a whole number of at least 1"):
        average_precisions(*case, top_k=cut)
    with pytest.raises(UserError, match="the cut must be"):
        normalized_gains(*case, top_k=cut)
    with pytest.raises(UserError, match="the cut must be"):
        precisions_at(count_levels(*case), cut)


def test_unknown_tie_rules_and_divisors_are_refused_with_the_choices():
    counts = counts_of([(0, 1)])
    with pytest.raises(UserError, match="ties must be one of expected, best, worst: got 'random'"):
        average_precisions_of(counts, ties="random")
    with pytest.raises(UserError, match="divisor must be one of min, found: got 'all'"):
        average_precisions_of(counts, divisor="all")
    with pytest.raises(UserError, match="ties must be one of"):
        recalls_at(counts, 1, ties="random")
    with pytest.raises(UserError, match="radius must be"):
        radius_average_precisions(counts, -1)
