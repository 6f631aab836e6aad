import numpy as np
import pytest

from drlh.hashers.codebook.bch import all_messages
from drlh.hashers.codebook.search import (
    _flip_costs,
    _raise_mean,
    _walsh,
    _weights,
    distance_matrix,
    distance_quality,
    search_codewords,
)


def test_distances_count_differing_bits() -> None:
    codewords = np.random.default_rng(0).integers(0, 2, (7, 13), np.uint8)
    expected = (codewords[:, None] != codewords).sum(axis=2)
    np.testing.assert_array_equal(distance_matrix(codewords), expected)
    pairs = expected[np.triu_indices(7, 1)]
    assert distance_quality(codewords) == (pairs.min(), pytest.approx(pairs.mean()))


def test_the_walsh_transform_sums_with_the_signs_of_parities() -> None:
    values = np.random.default_rng(0).normal(size=16)
    numbers = np.arange(16)
    signs = 1 - 2 * (np.bitwise_count(numbers[:, None] & numbers) % 2.0)
    np.testing.assert_allclose(_walsh(values), signs @ values)


def test_weights_of_a_list_of_columns_are_those_of_the_listed_codewords() -> None:
    columns = np.array([1, 2, 3, 5, 5, 7, 12])
    generator = (columns >> np.arange(4)[:, None] & 1).astype(np.uint8)
    words = all_messages(4)[:, ::-1] @ generator % 2
    np.testing.assert_array_equal(_weights(columns, 4)[1:], words.sum(axis=1)[1:])


def test_the_cost_of_every_flip_equals_counting_it_anew() -> None:
    rows = 2.0 * np.random.default_rng(1).integers(0, 2, (5, 9)) - 1

    def cost(rows: np.ndarray) -> float:
        distances = (9 - rows @ rows.T) / 2
        return float((np.maximum(5 - distances[np.triu_indices(5, 1)], 0) ** 2).sum())

    distances = (9 - rows @ rows.T) / 2
    np.fill_diagonal(distances, np.inf)
    costs = _flip_costs(rows, distances, 5)
    for row, bit in np.ndindex(5, 9):
        flipped = rows.copy()
        flipped[row, bit] *= -1
        assert costs[row, bit] == pytest.approx(cost(flipped) - cost(rows))


def test_raising_the_mean_never_lowers_the_minimum() -> None:
    for seed in range(20):
        codewords = np.random.default_rng(seed).integers(0, 2, (6, 20), np.uint8)
        codewords[:, :4] = 0  # bits all classes share leave room for a better mean
        before, after = distance_quality(codewords), distance_quality(_raise_mean(codewords))
        assert after[0] >= before[0]
        assert after[1] > before[1]


def test_reaching_the_bound_ends_the_search() -> None:
    rng = np.random.default_rng(0)
    codewords, source = search_codewords(21, 32, 16, rng)
    assert distance_quality(codewords)[0] == 16
    assert source == "extended BCH [32, 6, 16]"
    assert rng.random() == np.random.default_rng(0).random()  # not one random number was needed
