"""Search for codewords that lie far apart, beginning at BCH codes.

Two tabu searches follow one another. The first stays linear: a code of dimension k is a list of columns, each a
number below 2^k; the bit of message `u` under column `c` is the parity of `u & c`. Extending, shortening and
puncturing a BCH code, or lengthening it by chosen bits, are all changes to that list. The second search is free: it
flips single bits of the chosen codewords, and passes what linear codes can reach when the classes are few.
"""

import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import Codes, signs
from drlh.hashers.codebook.bch import PRIMITIVE_POLYNOMIALS, BchCode, bch_codes, extend, generator_matrix

Columns = NDArray[np.int64]  # (n_bits,) of numbers in 1 .. 2^k - 1
Table = NDArray[np.float64]

_STARTS = 3
_LINEAR_STEPS = 400  # for each target distance
_FREE_STEPS = 2000
_FREE_WORK = 1_500_000_000  # multiplications that one target may cost: about half a second
_FEWEST_FREE_STEPS = 200  # with fewer the free search has no hope and is left out
_LARGEST_DIMENSION_FOR_VARIETY = 12


def search_codewords(n_classes: int, n_bits: int, bound: int, rng: np.random.Generator) -> tuple[Codes, str]:
    """Codewords of the largest minimum, then mean, distance found, and where they come from.

    No minimum distance passes `bound`: reaching it ends the search.
    """
    # Enough messages for the classes and, up to a point, as many different columns as bits.
    k = max((n_classes - 1).bit_length(), min(n_bits.bit_length(), _LARGEST_DIMENSION_FOR_VARIETY))
    found = []
    for start, source in _bch_starts(k, n_bits):
        columns = _best_columns(start, k, n_bits, bound, rng)
        linear = _select(columns, k, n_classes)
        codewords = _raise_mean(_raise_distance(linear, bound, rng))
        n_changed = int((codewords != linear).sum())
        source += "" if np.array_equal(start, columns) else f", fitted to {n_bits} columns"
        source += f", {n_changed} of {linear.size} bits changed" if n_changed else ""
        found.append((distance_quality(codewords), source, codewords))
        if found[-1][0][0] >= bound:
            break
    _, source, codewords = max(found, key=lambda entry: entry[0])
    return codewords, source


def distance_matrix(codewords: Codes) -> NDArray[np.int64]:
    """(C, C) Hamming distances."""
    rows = signs(codewords).astype(np.float32)
    distances: NDArray[np.int64] = np.rint((codewords.shape[1] - rows @ rows.T) / 2).astype(np.int64)
    return distances


def distance_quality(codewords: Codes) -> tuple[int, float]:
    """(minimum, mean) distance over all pairs of codewords."""
    distances = distance_matrix(codewords)[np.triu_indices(len(codewords), 1)]
    return int(distances.min()), float(distances.mean())


# Linear codes as lists of columns.


def _bch_starts(k: int, n_bits: int) -> list[tuple[Columns, str]]:
    """The extended BCH codes that promise most, as columns; their number may differ from n_bits."""
    ranked = []
    for m in PRIMITIVE_POLYNOMIALS:
        if not min(n_bits // 2, 4096) <= 1 << m <= max(4 * n_bits, 2 << k, 8):
            continue
        for code in bch_codes(m):
            n_shortened = min(code.k - k, max(0, code.n + 1 - n_bits))
            n_cut = max(0, code.n + 1 - n_shortened - n_bits)
            if n_shortened >= 0:
                ranked.append((n_cut - code.d, m, n_shortened, code))
    ranked.sort(key=lambda start: start[:3])
    return [
        (_columns_of(code, k, n_shortened), f"extended BCH [{code.n + 1}, {code.k}, {code.d + 1}]")
        for _, _, n_shortened, code in ranked[:_STARTS]
    ]


def _columns_of(code: BchCode, k: int, n_shortened: int) -> Columns:
    """A subcode of dimension k whose first message bits are zero and left out."""
    rows = extend(generator_matrix(code))[n_shortened : n_shortened + k, n_shortened:]
    columns = (1 << np.arange(k)) @ rows.astype(np.int64)
    return columns[columns > 0]


def _walsh(values: Table) -> Table:
    """The Walsh-Hadamard transform: sum over u of values[u] * (-1)^parity(u & c), for every c."""
    half = 1
    while half < len(values):
        pairs = values.reshape(-1, 2, half)
        values = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        half *= 2
    return values


def _sum_where_odd(values: Table) -> Table:
    """For every c the sum of values[u] over the u with odd parity of u & c."""
    sums: Table = (values.sum() - _walsh(values)) / 2
    return sums


def _weights(columns: Columns, k: int) -> Table:
    """(2^k,) weight of every message's codeword; the zero message counts as infinitely heavy."""
    weights = _sum_where_odd(np.bincount(columns, minlength=1 << k).astype(np.float64))
    weights[0] = np.inf
    return weights


def _shortfall(distances: Table, target: float) -> Table:
    """What the searches make small: the square of what is missing to the target."""
    return np.maximum(target - distances, 0) ** 2


def _cost_of(change: int, weights: Table, target: float, rng: np.random.Generator) -> Table:
    """(2^k,) how the cost moves when a column is added (+1) or dropped (-1); chance breaks ties."""
    per_message = _shortfall(weights + change, target) - _shortfall(weights, target)
    return _sum_where_odd(per_message) + rng.random(len(weights)) / 2


def _best_columns(columns: Columns, k: int, n_bits: int, bound: int, rng: np.random.Generator) -> Columns:
    """Brings the list to n_bits columns and raises its minimum weight as far as the search gets."""
    columns = _resize(columns, n_bits, k, rng)
    while (distance := _weights(columns, k).min()) < bound:
        better = _exchange_columns(columns, k, distance + 1, rng)
        if better is None:
            break
        columns = better
    return columns


def _resize(columns: Columns, n_bits: int, k: int, rng: np.random.Generator) -> Columns:
    """Drops the columns that hurt least, or adds those that help most."""
    while len(columns) > n_bits:
        cost = _cost_of(-1, _weights(columns, k), n_bits / 2, rng)
        columns = np.delete(columns, cost[columns].argmin())
    while len(columns) < n_bits:
        cost = _cost_of(+1, _weights(columns, k), n_bits / 2, rng)
        columns = np.append(columns, _open_columns(columns, k, n_bits, cost).argmin())
    return columns


def _open_columns(columns: Columns, k: int, n_bits: int, cost: Table) -> Table:
    """Infinite cost for the zero column and for columns used as often as equal shares allow."""
    share = -(-n_bits // ((1 << k) - 1))
    cost[np.bincount(columns, minlength=1 << k) >= share] = np.inf
    cost[0] = np.inf
    return cost


def _exchange_columns(columns: Columns, k: int, target: float, rng: np.random.Generator) -> Columns | None:
    """Tabu search: swap one column at a time until every weight reaches the target; None if none does."""
    columns, n_bits = columns.copy(), len(columns)
    rest = np.zeros(1 << k, np.int64)  # the step from which a column may move again
    for step in range(_LINEAR_STEPS):
        weights = _weights(columns, k)
        if weights.min() >= target:
            return columns
        cost = np.where(rest > step, np.inf, _cost_of(-1, weights, target, rng))
        place = cost[columns].argmin()
        rest[columns[place]] = step + rng.integers(3, 10)
        columns[place] = 0  # weightless: the code without this column
        cost = np.where(rest > step, np.inf, _cost_of(+1, _weights(columns, k), target, rng))
        columns[place] = _open_columns(columns, k, n_bits, cost).argmin()
        rest[columns[place]] = step + rng.integers(3, 10)
    return None


def _select(columns: Columns, k: int, n_classes: int) -> Codes:
    """Codewords of a linear code, each as far as can be from those before: complements come in pairs."""
    messages, weights = np.arange(1 << k), _weights(columns, k)
    weights[0] = 0
    chosen = [0]
    nearest, total = weights.copy(), weights.copy()
    for _ in range(n_classes - 1):
        chosen.append(int((nearest * (len(columns) * n_classes + 1) + total).argmax()))
        distances = weights[messages ^ chosen[-1]]
        nearest, total = np.minimum(nearest, distances), total + distances
    codewords: Codes = np.bitwise_count(np.array(chosen)[:, None] & columns) % np.uint8(2)
    return codewords


# Free codes: single bits of single codewords.


def _raise_distance(codewords: Codes, bound: int, rng: np.random.Generator) -> Codes:
    """Flips bits until the minimum distance reaches the bound or no longer grows."""
    n_classes, n_bits = codewords.shape
    n_steps = min(_FREE_STEPS, _FREE_WORK // (n_classes**2 * (n_bits + 64)))
    if n_steps < _FEWEST_FREE_STEPS:
        return codewords
    while (distance := distance_quality(codewords)[0]) < bound:
        better = _flip_bits(codewords, distance + 1, n_steps, rng)
        if better is None:
            break
        codewords = better
    return codewords


def _flip_bits(codewords: Codes, target: int, n_steps: int, rng: np.random.Generator) -> Codes | None:
    """Tabu search over single bits until every distance reaches the target; None if none does."""
    rows = signs(codewords).astype(np.float64)
    distances = distance_matrix(codewords).astype(np.float64)
    np.fill_diagonal(distances, np.inf)
    rest = np.zeros(rows.shape, np.int64)
    for step in range(n_steps):
        if distances.min() >= target:
            return (rows > 0).astype(np.uint8)
        cost = _flip_costs(rows, distances, target) + rng.random(rows.shape) / 1000
        cost[rest > step] = np.inf
        row, bit = np.unravel_index(cost.argmin(), cost.shape)
        change = rows[row, bit] * rows[:, bit]  # equal bits come to differ: one further apart
        distances[row] += change
        distances[:, row] = distances[row]
        distances[row, row] = np.inf
        rows[row, bit] *= -1
        rest[row, bit] = step + rng.integers(5, 7 + len(rows) // 2)
    return None


def _flip_costs(rows: Table, distances: Table, target: int) -> Table:
    """(C, b): how the sum of squared shortfalls moves when a bit flips, for all bits by one product."""
    now = _shortfall(distances, target)
    further = _shortfall(distances + 1, target) - now
    nearer = _shortfall(distances - 1, target) - now
    costs: Table = (further + nearer).sum(axis=1, keepdims=True) / 2 + rows * ((further - nearer) / 2 @ rows)
    return costs


def _raise_mean(codewords: Codes) -> Codes:
    """Flips the bits that raise the mean distance while the minimum stays."""
    rows = signs(codewords).astype(np.float64)
    while True:
        distances = (rows.shape[1] - rows @ rows.T) / 2
        np.fill_diagonal(distances, np.inf)
        tight = (distances == distances.min()).astype(np.float64)
        n_hurt = tight.sum(axis=1, keepdims=True) - rows * (tight @ rows)
        gain = np.where(n_hurt > 0, 0, rows * rows.sum(axis=0) - 1)
        row, bit = np.unravel_index(gain.argmax(), gain.shape)
        if gain[row, bit] <= 0:
            return (rows > 0).astype(np.uint8)
        rows[row, bit] *= -1
