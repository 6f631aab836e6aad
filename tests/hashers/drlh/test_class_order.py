from itertools import combinations, permutations

import numpy as np
import pytest

from drlh.errors import UserError
from drlh.hashers.drlh.class_order import (
    order_by_similarity,
    similarity_from_confusions,
    similarity_from_labels,
)
from drlh.hashers.drlh.codebook import Codebook, make_codebook


def random_similarity(n_classes: int, seed: int) -> np.ndarray:
    similarity = np.random.default_rng(seed).random((n_classes, n_classes))
    return similarity + similarity.T


def cost(codebook: Codebook, similarity: np.ndarray) -> float:
    return sum(
        similarity[first, second] * codebook.distances[first, second]
        for first, second in combinations(range(codebook.n_classes), 2)
    )


@pytest.mark.parametrize("seed", range(5))
def test_six_classes_get_the_best_of_all_orders(seed: int) -> None:
    codebook, similarity = make_codebook(6, 8, kind="random", random_state=seed), random_similarity(6, seed)
    distances = codebook.distances
    pairs = list(combinations(range(6), 2))
    best = min(
        sum(similarity[i, j] * distances[order[i], order[j]] for i, j in pairs) for order in permutations(range(6))
    )
    assert cost(order_by_similarity(codebook, similarity), similarity) == pytest.approx(best)


def test_no_swap_of_two_codewords_helps_any_more() -> None:
    codebook, similarity = make_codebook(30, 12, kind="random"), random_similarity(30, 0)
    ordered = order_by_similarity(codebook, similarity)
    reached = cost(ordered, similarity)
    assert reached < cost(codebook, similarity)
    for first, second in combinations(range(30), 2):
        swapped = ordered.codewords.copy()
        swapped[[first, second]] = swapped[[second, first]]
        assert cost(Codebook(swapped, "given", ""), similarity) >= reached - 1e-6


def test_ordering_only_deals_the_same_codewords_anew() -> None:
    codebook = make_codebook(21, 12)
    ordered = order_by_similarity(codebook, random_similarity(21, 1))
    assert sorted(map(bytes, ordered.codewords)) == sorted(map(bytes, codebook.codewords))
    assert not np.array_equal(ordered.codewords, codebook.codewords)
    assert (ordered.distance, ordered.mean_distance) == (codebook.distance, codebook.mean_distance)


def test_twins_get_the_nearest_codewords() -> None:
    codebook = make_codebook(4, 6, kind=[[0] * 6, [1] * 6, [1, 1, 1, 0, 0, 0], [1, 0, 0, 0, 0, 0]])
    similarity = np.zeros((4, 4))
    similarity[0, 1] = similarity[1, 0] = 1
    assert order_by_similarity(codebook, similarity).distances[0, 1] == codebook.distance == 1


def test_co_occurrence_is_the_cosine_of_label_columns() -> None:
    labels = np.array([[1, 1, 0], [1, 1, 0], [1, 0, 1], [1, 0, 0]])
    found = similarity_from_labels(labels)
    np.testing.assert_allclose(found, [[0, 2 / 8**0.5, 1 / 2], [2 / 8**0.5, 0, 0], [1 / 2, 0, 0]])
    np.testing.assert_array_equal(similarity_from_labels([[1, 0], [1, 0]]), np.zeros((2, 2)))


def test_confusions_become_mean_rates_of_mistakes() -> None:
    confusions = np.array([[8, 2, 0], [1, 3, 0], [0, 0, 0]])  # the last class was never asked for
    expected = np.zeros((3, 3))
    expected[0, 1] = expected[1, 0] = (2 / 10 + 1 / 4) / 2
    np.testing.assert_allclose(similarity_from_confusions(confusions), expected)


def test_mistakes_are_told_in_one_sentence() -> None:
    with pytest.raises(UserError, match=r"similarity must be \(3, 3\): got \(2, 2\)"):
        order_by_similarity(make_codebook(3, 8), np.zeros((2, 2)))
    with pytest.raises(UserError, match=r"square matrix .* got shape \(2, 3\)"):
        similarity_from_confusions(np.zeros((2, 3)))
    with pytest.raises(UserError, match=r"multi-hot labels .* got shape \(4,\)"):
        similarity_from_labels([0, 1, 2, 0])
