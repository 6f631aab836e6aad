"""The best bit given the bits before: a binary quadratic problem, solved block by block with minimum cuts.

Its objective is the sum over pairs of weight times the product of the two bits: what the bit adds to the loss, up
to a constant and a factor.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from drlh.hashers.classic.fasth.pairs import Pairs, Rows, Weights, pair_weights

Signs = NDArray[np.int8]


@dataclass(frozen=True)
class Block:
    """Rows whose bits are chosen together, and the pairs that touch them, as numbers into the list of pairs."""

    rows: Rows
    inner: Rows  # pairs with both ends inside, and their two places in `rows`
    inner_ends: tuple[Rows, Rows]
    outer: Rows  # pairs with one end inside, its place in `rows`, and the row outside
    outer_place: Rows
    outer_row: Rows


def make_blocks(labels: NDArray[Any], pairs: Pairs) -> list[Block]:
    """One block for each label, of all rows that carry it: pairs inside are similar, so a cut solves them exactly.

    Rows without a label make one more block.
    """
    if labels.ndim == 1:
        members = [labels == label for label in np.unique(labels)]
    else:
        members = [*labels.T.astype(bool), ~labels.any(axis=1)]
    return [_block(inside, pairs) for inside in members if inside.any()]


def _block(inside: NDArray[np.bool_], pairs: Pairs) -> Block:
    rows = _numbers(inside)
    place = np.cumsum(inside, dtype=np.int32) - 1
    first, second = inside[pairs.first], inside[pairs.second]
    inner, left, right = _numbers(first & second), _numbers(first & ~second), _numbers(~first & second)
    return Block(
        rows, inner, (place[pairs.first[inner]], place[pairs.second[inner]]), np.concatenate([left, right]),
        place[np.concatenate([pairs.first[left], pairs.second[right]])],
        np.concatenate([pairs.second[left], pairs.first[right]]),
    )  # fmt: skip


def _numbers(chosen: NDArray[np.bool_]) -> Rows:
    return np.flatnonzero(chosen).astype(np.int32)


def infer_bit(
    pairs: Pairs,
    distances: NDArray[np.integer[Any]],
    n_bits: int,
    blocks: Sequence[Block],
    n: int,
    n_sweeps: int,
    rng: np.random.Generator,
) -> Signs:
    """Bit number `n_bits` of the `n` rows as ±1, given the distances of the pairs over the bits before.

    Where every dissimilar pair is far enough apart already, all rows may come out the same; such a bit is worth
    nothing, so it is inferred again as if it were the last of twice as many, and no pair is far enough apart.
    """
    for counted in (n_bits, 2 * n_bits):
        weights = pair_weights(pairs.similar, distances, counted)
        bits = descend(np.ones(n, np.int8), weights, blocks, n_sweeps, rng)
        if len(np.unique(bits)) == 2:
            break
    return bits


def descend(bits: Signs, weights: Weights, blocks: Sequence[Block], n_sweeps: int, rng: np.random.Generator) -> Signs:
    """Bits after every block, in random order, has taken its best bits with the others held, `n_sweeps` times."""
    bits = bits.copy()
    for _ in range(n_sweeps):
        for number in rng.permutation(len(blocks)):
            bits[blocks[number].rows] = best_of_block(blocks[number], weights, bits)
    return bits


def best_of_block(block: Block, weights: Weights, bits: Signs) -> Signs:
    """The block's bits after a minimum cut; the old ones unless the new ones are better.

    Positive weights inside (only among rows without a label) are left out of the cut, so it may then fail.
    """
    pull = np.bincount(
        block.outer_place, weights[block.outer] * bits[block.outer_row], minlength=len(block.rows)
    ).astype(np.int64)
    old = bits[block.rows]
    new = minimum_cut(pull, block.inner_ends, np.minimum(weights[block.inner], 0))
    return new if _cost(block, weights, pull, new) < _cost(block, weights, pull, old) else old


def _cost(block: Block, weights: Weights, pull: Weights, bits: Signs) -> int:
    wide = bits.astype(np.int64)
    first, second = block.inner_ends
    return int(pull @ wide + weights[block.inner] @ (wide[first] * wide[second]))


def minimum_cut(pull: Weights, ends: tuple[Rows, Rows], weights: Weights) -> Signs:
    """The ±1 vector z that minimises pull·z + sum of weights z_i z_j, for weights of at most 0.

    The last two nodes of the graph are source (+1) and sink (-1): a bit is where the cut leaves its node.
    """
    n = len(pull)
    if (pull <= 0).all() or (pull >= 0).all():  # no row wants to be elsewhere: nothing to cut
        return np.full(n, 1 if pull.max() <= 0 else -1, np.int8)
    source, sink = n, n + 1
    wants_plus, wants_minus = np.flatnonzero(pull < 0), np.flatnonzero(pull > 0)
    start = np.concatenate([ends[0], ends[1], np.full(len(wants_plus), source), wants_minus])
    end = np.concatenate([ends[1], ends[0], wants_plus, np.full(len(wants_minus), sink)])
    capacity = np.concatenate([-weights, -weights, -pull[wants_plus], pull[wants_minus]]).astype(np.int32)
    graph = csr_array((capacity, (start, end)), shape=(n + 2, n + 2))
    residual = graph - maximum_flow(graph, source, sink).flow
    residual.eliminate_zeros()
    reached = breadth_first_order(residual, source, return_predecessors=False)
    bits = np.full(n + 2, -1, np.int8)
    bits[reached] = 1
    return bits[:n]
