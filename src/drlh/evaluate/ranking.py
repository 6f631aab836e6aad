"""A ranking by Hamming distance with a cut, and its average precision, exact under ties.

Notation: a level holds `n` items, `p` of them relevant, and follows `before` items with `hits_before` relevant
ones; the cut leaves the first `inside` of its places.
"""

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from drlh.core.errors import UserError
from drlh.evaluate.counts import Counts, LevelCounts

Ties = Literal["expected", "best", "worst"]
Divisor = Literal["min", "found"]
Values = NDArray[np.float64]


def average_precisions_of(
    counts: LevelCounts, *, top_k: int | None = None, divisor: Divisor = "min", ties: Ties = "expected"
) -> Values:
    """`average_precisions` from the counts of a ranking, (n_query,)."""
    check_choice("ties", ties, get_args(Ties))
    check_choice("divisor", divisor, get_args(Divisor))
    ranking = Ranking(counts, top_k)
    if divisor == "found":
        return _found_average_precisions(ranking, ties)
    sums = ranking.precision_sums(ties).sum(axis=1)
    return ratio(sums, np.minimum(counts.relevant.sum(axis=1), ranking.cut))


class Ranking:
    """The levels of each query's ranking up to the cut, every array (n_query, n_levels)."""

    def __init__(self, counts: LevelCounts, top_k: int | None) -> None:
        self.n, self.p = counts.total, counts.relevant
        self.before: Counts = self.n.cumsum(axis=1) - self.n
        self.hits_before: Counts = self.p.cumsum(axis=1) - self.p
        n_items = int(self.n.sum(axis=1).max(initial=0))
        self.cut = min(check_cut(top_k) or n_items, n_items)
        self.inside: Counts = np.clip(self.cut - self.before, 0, self.n)
        self.harmonic = prefix_sums(1 / np.arange(1, n_items + 1))

    def hits(self, ties: Ties) -> Values:
        """Relevant items of each level inside the cut."""
        if ties == "expected":
            return np.asarray(ratio(self.p, self.n) * self.inside)
        fewest = np.maximum(0, self.inside - (self.n - self.p))
        return np.asarray(np.minimum(self.p, self.inside) if ties == "best" else fewest, np.float64)

    def precision_sums(self, ties: Ties) -> Values:
        """Sum of the precisions at the relevant items of each level inside the cut."""
        if ties == "expected":
            return self.random_order(self.before, self.hits_before, self.n, self.p, self.inside)
        hits = self.hits(ties).astype(np.int64)
        start = self.before if ties == "best" else self.before + self.inside - hits
        return self.run(start, self.hits_before, hits)

    def random_order(self, before: Counts, hits_before: Counts, n: Counts, p: Counts, inside: Counts) -> Values:
        """Expected sum over the first `inside` of `n` randomly ordered places that hold `p` relevant items.

        Place j is relevant with probability p/n and then expects j (p - 1)/(n - 1) relevant ones among those of
        its own level before it; sum_j (a + c j)/(before + 1 + j) has a closed form in harmonic numbers.
        """
        slope = ratio(p - 1, n - 1)
        offset = hits_before + 1 - slope * (before + 1)
        spread = self.harmonic[before + inside] - self.harmonic[before]
        return np.asarray(ratio(p, n) * (slope * inside + offset * spread))

    def run(self, before: Counts, hits_before: Counts, length: Counts) -> Values:
        """Sum of the precisions of `length` relevant items that follow one another after `before` items."""
        spread = self.harmonic[before + length] - self.harmonic[before]
        return np.asarray(length + (hits_before - before) * spread)


def _found_average_precisions(ranking: Ranking, ties: Ties) -> Values:
    """Average precisions whose divisor is the relevant items found inside the cut."""
    whole = ranking.inside == ranking.n
    sums = np.where(whole, ranking.precision_sums(ties), 0.0).sum(axis=1)
    values = ratio(sums, np.where(whole, ranking.p, 0).sum(axis=1))
    for query, level in np.argwhere(~whole & (ranking.inside > 0)):  # at most one level of a query is cut
        values[query] = _cut_level_value(ranking, (query, level), sums[query], ties)
    return values


def _cut_level_value(ranking: Ranking, place: tuple[int, int], sum_before: float, ties: Ties) -> float:
    """Average precision where the cut falls inside a tie: sum and divisor both hang on the hits inside the cut.

    One more hit can lower this average, so best and worst are sought over every possible number of hits.
    """
    before, hits_before, inside = ranking.before[place], ranking.hits_before[place], ranking.inside[place]
    n, p = ranking.n[place], ranking.p[place]
    hits = np.arange(max(0, inside - (n - p)), min(p, inside) + 1)
    if ties == "expected":
        sums = ranking.random_order(before, hits_before, np.full_like(hits, inside), hits, inside)
        values = ratio(sum_before + sums, hits_before + hits)
        return float(values @ _hypergeometric(hits, n, p, inside))
    sums = ranking.run(before if ties == "best" else before + inside - hits, hits_before, hits)
    values = ratio(sum_before + sums, hits_before + hits)
    return float(values.max() if ties == "best" else values.min())


def _hypergeometric(hits: Counts, n: int, p: int, drawn: int) -> Values:
    """Probability of each of the possible numbers of `hits`, rising, in `drawn` of n items, p of them relevant."""
    x = hits[:-1].astype(np.float64)
    steps = np.log((p - x) * (drawn - x)) - np.log((x + 1) * (n - p - drawn + x + 1))  # log of P(x + 1)/P(x)
    logs = prefix_sums(steps)
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def prefix_sums(terms: Values) -> Values:
    """(n,) → (n + 1,), from 0 on."""
    return np.concatenate([[0.0], terms.cumsum()])


def ratio(above: NDArray[np.generic], below: NDArray[np.generic]) -> Values:
    """`above / below`, 0 where `below` is 0."""
    shape = np.broadcast_shapes(above.shape, below.shape)
    return np.asarray(np.divide(above, below, out=np.zeros(shape), where=below != 0))


def check_cut(top_k: int | None) -> int | None:
    whole = isinstance(top_k, int | np.integer) and not isinstance(top_k, bool)
    if top_k is not None and (not whole or top_k < 1):
        raise UserError(f"the cut must be a whole number of at least 1, or None for all items: got {top_k!r}")
    return top_k


def check_choice(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise UserError(f"{name} must be one of {', '.join(allowed)}: got {value!r}")
