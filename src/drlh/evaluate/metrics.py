"""Retrieval metrics of binary codes, and of real vectors, exact under ties.

Items at the same Hamming distance have no order of their own. `ties="expected"` is the exact mean over all random
orders within ties (McSherry & Najork, ECIR 2008); `best` and `worst` are the largest and the smallest value any
such order gives, so the number of every program that sorts by Hamming distance lies between the two.
A query without any relevant item counts as 0.
"""

from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import Codes
from drlh.core.progress import Progress, quiet
from drlh.data.base import Labels
from drlh.evaluate.counts import Counts, LevelCounts, count_levels, gain_counts, level_counts, score_counts
from drlh.evaluate.ranking import (
    Divisor,
    Ranking,
    Ties,
    Values,
    average_precisions_of,
    check_choice,
    check_cut,
    prefix_sums,
    ratio,
)

__all__ = [
    "Divisor",
    "LevelCounts",
    "Ties",
    "average_precisions",
    "average_precisions_of",
    "count_levels",
    "level_counts",
    "mean_average_precision",
    "normalized_gains",
    "precisions_at",
    "precisions_by_radius",
    "radius_average_precisions",
    "recalls_at",
    "recalls_by_radius",
    "score_average_precisions",
    "score_counts",
]


def mean_average_precision(
    query_codes: Codes,
    query_labels: Labels,
    database_codes: Codes,
    database_labels: Labels,
    *,
    top_k: int | None = None,
    divisor: Divisor = "min",
    ties: Ties = "expected",
    progress: Progress = quiet,
) -> float:
    """Mean of `average_precisions` over the queries."""
    counts = count_levels(query_codes, query_labels, database_codes, database_labels, progress=progress)
    return float(average_precisions_of(counts, top_k=top_k, divisor=divisor, ties=ties).mean())


def average_precisions(
    query_codes: Codes,
    query_labels: Labels,
    database_codes: Codes,
    database_labels: Labels,
    *,
    top_k: int | None = None,
    divisor: Divisor = "min",
    ties: Ties = "expected",
    progress: Progress = quiet,
) -> Values:
    """Average precision of each query, (n_query,).

    Codes are 0/1 (n, n_bits), labels class ids or names (n,) or multi-hot (n, n_classes). `top_k` cuts the ranking,
    None keeps all of it. The sum of precisions at the relevant items is divided by `min(relevant items, top_k)`, or
    with `divisor="found"` by the relevant items among the first `top_k`, as most published numbers are.
    """
    counts = count_levels(query_codes, query_labels, database_codes, database_labels, progress=progress)
    return average_precisions_of(counts, top_k=top_k, divisor=divisor, ties=ties)


def score_average_precisions(
    query_vectors: NDArray[Any],
    query_labels: Labels,
    database_vectors: NDArray[Any],
    database_labels: Labels,
    *,
    top_k: int | None = None,
    divisor: Divisor = "min",
    ties: Ties = "expected",
) -> Values:
    """`average_precisions` of a ranking by the inner product of real vectors (n, n_dimensions), the largest first."""
    blocks = score_counts(query_vectors, query_labels, database_vectors, database_labels)
    found = [average_precisions_of(counts, top_k=top_k, divisor=divisor, ties=ties) for counts in blocks]
    return np.concatenate(found)


def precisions_at(counts: LevelCounts, k: int, *, ties: Ties = "expected") -> Values:
    """Share of relevant items among the first `k` (or among all, where there are fewer), (n_query,)."""
    return ratio(_hits(counts, k, ties), np.minimum(counts.total.sum(axis=1), k))


def recalls_at(counts: LevelCounts, k: int, *, ties: Ties = "expected") -> Values:
    """Share of a query's relevant items that are among the first `k`, (n_query,)."""
    return ratio(_hits(counts, k, ties), counts.relevant.sum(axis=1))


def _hits(counts: LevelCounts, k: int, ties: Ties) -> Values:
    check_choice("ties", ties, get_args(Ties))
    return np.asarray(Ranking(counts, k).hits(ties).sum(axis=1))


def precisions_by_radius(counts: LevelCounts) -> Values:
    """Share of relevant items within each Hamming radius, 0 where the ball is empty, (n_query, n_bits + 1)."""
    return ratio(counts.relevant.cumsum(axis=1), counts.total.cumsum(axis=1))


def recalls_by_radius(counts: LevelCounts) -> Values:
    """Share of a query's relevant items within each Hamming radius, (n_query, n_bits + 1)."""
    return ratio(counts.relevant.cumsum(axis=1), counts.relevant.sum(axis=1)[:, None])


def radius_average_precisions(counts: LevelCounts, radius: int = 2, *, ties: Ties = "expected") -> Values:
    """Average precision of a look-up that returns the items within `radius`, ranked, and nothing else, (n_query,).

    The divisor is the number of relevant items in the ball; an empty ball, or one without relevant items, counts
    as 0.
    """
    return average_precisions_of(counts.within(radius), ties=ties)


def normalized_gains(
    query_codes: Codes,
    query_labels: Labels,
    database_codes: Codes,
    database_labels: Labels,
    *,
    top_k: int | None = None,
) -> Values:
    """Expected NDCG@`top_k` of each query, (n_query,).

    An item that shares `g` labels with the query gains `2^g - 1`, at place `i` divided by `log2(i + 1)`.
    """
    check_cut(top_k)
    blocks = gain_counts(query_codes, query_labels, database_codes, database_labels)
    return np.concatenate([_normalized(counts, top_k) for counts in blocks])


def _normalized(counts: Counts, top_k: int | None) -> Values:
    """NDCG from counts (n_query, n_gains, n_levels): each place of a tie expects the level's mean gain."""
    gains = np.exp2(np.arange(counts.shape[1])) - 1
    total = counts.sum(axis=1)
    n_items = int(total[0].sum())
    discounts = prefix_sums(1 / np.log2(np.arange(2, n_items + 2)))[: None if top_k is None else top_k + 1]
    mean_gains = ratio(np.einsum("g,qgl->ql", gains, counts), total)
    ideal_sizes = counts.sum(axis=2)[:, ::-1]  # the largest gain first
    reached = (mean_gains * _discount_of(total, discounts)).sum(axis=1)
    return ratio(reached, (gains[::-1] * _discount_of(ideal_sizes, discounts)).sum(axis=1))


def _discount_of(sizes: Counts, discounts: Values) -> Values:
    """Sum of the discounts over the places of each group, groups following one another, (n_query, n_groups)."""
    ends = sizes.cumsum(axis=1)
    last = len(discounts) - 1
    return np.asarray(discounts[np.minimum(ends, last)] - discounts[np.minimum(ends - sizes, last)])
