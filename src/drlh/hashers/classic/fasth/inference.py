"""The first step of FastH: pairs of training images, and the best next bit for them.

The best bit given the earlier ones is a binary quadratic problem, solved block by block with minimum cuts. Its
objective is the sum over pairs of weight times the product of the two signs: what the bit adds to the loss, up to a
constant and a factor.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

Rows = NDArray[np.int32]  # millions of them: four bytes are enough
Keys = NDArray[np.int64]
Weights = NDArray[np.int64]
Signs = NDArray[np.int8]


@dataclass(frozen=True)
class Pairs:
    """Unordered pairs of training rows, each once, `first < second`; `similar` when the two share a label."""

    first: Rows
    second: Rows
    similar: NDArray[np.bool_]


def sample_pairs(labels: NDArray[Any], n_each: int, rng: np.random.Generator) -> Pairs:
    """For every row about `n_each` similar and `n_each` dissimilar partners; all of them where there are fewer.

    So the number of pairs grows linearly with the rows, and similar and dissimilar pairs stay in balance.
    """
    label_sets, groups = _groups(labels)
    n = len(groups)
    keys: dict[bool, list[Keys]] = {True: [], False: []}
    for group, label_set in enumerate(label_sets):
        rows = np.flatnonzero(groups == group)
        related = (label_sets @ label_set > 0)[groups]
        for similar in (True, False):
            keys[similar].append(_sample(rows, np.flatnonzero(related == similar), n_each, n, rng))
    chosen = {similar: np.unique(np.concatenate(parts)) for similar, parts in keys.items()}
    key = np.concatenate([chosen[True], chosen[False]])
    first, second = (key // n).astype(np.int32), (key % n).astype(np.int32)
    return Pairs(first, second, np.arange(len(key)) < len(chosen[True]))


def _groups(labels: NDArray[Any]) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
    """(multi-hot labels of each group, group of each row): rows with equal labels are one group."""
    if labels.ndim == 1:
        label_sets, groups = np.unique(labels, return_inverse=True)
        return np.eye(len(label_sets), dtype=np.float32), groups
    label_sets, groups = np.unique(labels, axis=0, return_inverse=True)
    return label_sets.astype(np.float32), groups.ravel()


def _sample(rows: NDArray[np.intp], pool: NDArray[np.intp], n_each: int, n: int, rng: np.random.Generator) -> Keys:
    """Pairs of `rows` with members of `pool`, as numbers `smaller * n + larger`."""
    if len(pool) <= n_each:
        partners = np.broadcast_to(pool, (len(rows), len(pool)))
    else:
        partners = pool[rng.integers(0, len(pool), (len(rows), n_each))]
    first = np.repeat(rows, partners.shape[1])
    second = partners.ravel()
    differ = first != second
    keys = np.minimum(first, second) * n + np.maximum(first, second)
    return np.asarray(keys[differ])


def pair_losses(similar: NDArray[np.bool_], distances: NDArray[np.integer[Any]], n_bits: int) -> NDArray[np.float64]:
    """(d / n_bits)^2 of similar pairs at Hamming distance d, max(0, 1/2 - d / n_bits)^2 of the others."""
    shares = distances / n_bits
    return np.square(np.where(similar, shares, np.maximum(0.5 - shares, 0)))


def pair_weights(similar: NDArray[np.bool_], distances: NDArray[np.integer[Any]], n_bits: int) -> Weights:
    """Loss with equal bits minus loss with different bits, given the `distances` over the earlier bits.

    Scaled by 4 n_bits^2, which makes every weight an integer and so the cuts exact.
    """
    d = distances.astype(np.int64)
    short = np.maximum(n_bits - 2 * d, 0)
    return np.where(similar, -4 * (2 * d + 1), short**2 - np.maximum(short - 2, 0) ** 2)


@dataclass(frozen=True)
class Block:
    """Rows whose bits are chosen together, and the pairs they are part of, as indices into the list of pairs."""

    rows: Rows
    inner: Rows  # pairs with both ends inside, and the positions of both ends in `rows`
    inner_ends: tuple[Rows, Rows]
    outer: Rows  # pairs with one end inside, the position of that end in `rows`, and the row outside
    outer_position: Rows
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
    rows = _indices(inside)
    position = np.cumsum(inside, dtype=np.int32) - 1
    first, second = inside[pairs.first], inside[pairs.second]
    inner, left, right = _indices(first & second), _indices(first & ~second), _indices(~first & second)
    return Block(
        rows, inner, (position[pairs.first[inner]], position[pairs.second[inner]]), np.concatenate([left, right]),
        position[np.concatenate([pairs.first[left], pairs.second[right]])],
        np.concatenate([pairs.second[left], pairs.first[right]]),
    )  # fmt: skip


def _indices(chosen: NDArray[np.bool_]) -> Rows:
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
    """Bit number `n_bits` of the `n` rows as ±1, given the distances of the pairs over the earlier bits.

    Where every dissimilar pair is beyond the margin already, all rows may get the same value. Such a bit is worthless,
    so it is inferred again as the last of twice as many bits, a margin that no pair has reached.
    """
    for assumed_bits in (n_bits, 2 * n_bits):
        weights = pair_weights(pairs.similar, distances, assumed_bits)
        bits = descend(np.ones(n, np.int8), weights, blocks, n_sweeps, rng)
        if len(np.unique(bits)) == 2:
            break
    return bits


def descend(bits: Signs, weights: Weights, blocks: Sequence[Block], n_sweeps: int, rng: np.random.Generator) -> Signs:
    """Block coordinate descent: `n_sweeps` times each block, in random order, takes its best bits, the others fixed."""
    bits = bits.copy()
    for _ in range(n_sweeps):
        for number in rng.permutation(len(blocks)):
            bits[blocks[number].rows] = best_of_block(blocks[number], weights, bits)
    return bits


def best_of_block(block: Block, weights: Weights, bits: Signs) -> Signs:
    """The block's bits after a minimum cut; the old ones unless the new ones are better.

    Positive weights inside a block (only among rows without a label) are left out, so the cut may be no improvement.
    """
    field = np.bincount(
        block.outer_position, weights[block.outer] * bits[block.outer_row], minlength=len(block.rows)
    ).astype(np.int64)
    old = bits[block.rows]
    new = minimum_cut(field, block.inner_ends, np.minimum(weights[block.inner], 0))
    return new if _cost(block, weights, field, new) < _cost(block, weights, field, old) else old


def _cost(block: Block, weights: Weights, field: Weights, bits: Signs) -> int:
    wide = bits.astype(np.int64)
    first, second = block.inner_ends
    return int(field @ wide + weights[block.inner] @ (wide[first] * wide[second]))


def minimum_cut(field: Weights, ends: tuple[Rows, Rows], weights: Weights) -> Signs:
    """The ±1 vector z that minimises field·z + sum of weights z_i z_j, for weights of at most 0.

    The last two nodes of the graph are source (+1) and sink (-1): a bit is the side of the cut its node is on.
    """
    n = len(field)
    if (field <= 0).all() or (field >= 0).all():  # all rows prefer the same sign: nothing to cut
        return np.full(n, 1 if field.max() <= 0 else -1, np.int8)
    source, sink = n, n + 1
    prefer_plus, prefer_minus = np.flatnonzero(field < 0), np.flatnonzero(field > 0)
    start = np.concatenate([ends[0], ends[1], np.full(len(prefer_plus), source), prefer_minus])
    end = np.concatenate([ends[1], ends[0], prefer_plus, np.full(len(prefer_minus), sink)])
    capacity = np.concatenate([-weights, -weights, -field[prefer_plus], field[prefer_minus]]).astype(np.int32)
    places = start.astype(np.int32), end.astype(np.int32)  # scipy 1.13 cuts no graph with wider indices
    graph = csr_array((capacity, places), shape=(n + 2, n + 2))
    residual = graph - maximum_flow(graph, source, sink).flow
    residual.eliminate_zeros()
    reached = breadth_first_order(residual, source, return_predecessors=False)
    bits = np.full(n + 2, -1, np.int8)
    bits[reached] = 1
    return bits[:n]
