import numpy as np
import torch

from drlh.hashers.deep.objective import soft_hamming, squared_distances
from drlh.hashers.deep.triplets import MAX_QUERIES, label_triplets, ranked_triplets, relevance_levels


def named(triplets: object) -> set[tuple[int, int, int]]:
    """(query, nearer, farther) of every triplet."""
    pairs = zip(triplets.queries.tolist(), triplets.positives.tolist(), triplets.negatives.tolist())  # type: ignore[attr-defined]
    return {(q, p, n) for q, p, row in pairs for n, there in enumerate(row) if there}


def by_hand(levels: np.ndarray) -> set[tuple[int, int, int]]:
    m, n = levels.shape
    every = ((q, i, j) for q in range(m) for i in range(n) for j in range(n))
    return {(q, i, j) for q, i, j in every if q not in (i, j) and levels[q, i] > levels[q, j]}


def test_three_images_of_two_classes_have_two_triplets() -> None:
    assert named(label_triplets(torch.eye(2)[[0, 0, 1]])) == {(0, 1, 2), (1, 0, 2)}


def test_every_difference_in_shared_labels_makes_a_triplet() -> None:
    labels = torch.tensor([[1.0, 1, 0], [1, 1, 1], [1, 0, 0], [0, 0, 1], [0, 0, 0]])
    levels = relevance_levels(labels)
    assert levels[0].tolist() == [2, 2, 1, 0, 0]
    assert named(ranked_triplets(levels)) == by_hand(levels.numpy())
    assert {(0, 1, 2), (0, 2, 3), (0, 2, 4)} <= named(ranked_triplets(levels))
    assert not any(query == 4 for query, _, _ in named(ranked_triplets(levels)))


def test_triplets_of_many_random_images_are_those_a_slow_loop_finds() -> None:
    labels = torch.from_numpy((np.random.default_rng(0).random((12, 4)) < 0.4).astype(np.float32))
    assert named(ranked_triplets(relevance_levels(labels))) == by_hand(relevance_levels(labels).numpy())
    assert named(ranked_triplets(relevance_levels(labels)[:5])) == by_hand(relevance_levels(labels).numpy()[:5])


def test_a_large_batch_asks_with_its_first_images_alone() -> None:
    labels = torch.eye(3)[torch.arange(MAX_QUERIES + 50) % 3]
    assert relevance_levels(labels).shape == (MAX_QUERIES, MAX_QUERIES + 50)
    triplets = label_triplets(labels)
    assert int(triplets.queries.max()) == MAX_QUERIES - 1
    assert int(triplets.positives.max()) == MAX_QUERIES + 49


def test_means_over_triplets_and_over_each_query_worked_by_hand() -> None:
    triplets = label_triplets(torch.eye(3)[[0, 0, 1, 2]])
    gaps = triplets.gaps(torch.tensor([[0.0, 2, 5, 7], [1, 0, 3, 9], [0, 0, 0, 0], [0, 0, 0, 0]]))
    # Query 0: 2 - 5 and 2 - 7; query 1: 1 - 3 and 1 - 9; images 2 and 3 have nobody near.
    assert triplets.mean(gaps).item() == (-3 - 5 - 2 - 8) / 4
    assert triplets.query_means(gaps, 4).tolist() == [-4, -5, 0, 0]


def test_a_batch_without_triplets_has_the_mean_0() -> None:
    for labels in (torch.eye(3), torch.zeros(3, 2), torch.ones(3, 1)):
        distances = torch.rand(3, 3, requires_grad=True)
        triplets = label_triplets(labels)
        mean = triplets.mean(triplets.gaps(distances))
        mean.backward()
        assert mean.item() == 0
        assert distances.grad is not None
        assert distances.grad.abs().sum() == 0


def test_distances_worked_by_hand() -> None:
    left, right = torch.tensor([[1.0, -1, 1]]), torch.tensor([[1.0, 1, 1], [-1, 1, -1], [0, 0, 0]])
    assert soft_hamming(left, right).tolist() == [[1, 3, 1.5]]
    assert squared_distances(left, right).tolist() == [[4, 12, 3]]
