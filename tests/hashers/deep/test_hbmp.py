import numpy as np
import pytest
import torch

from drlh.core.errors import UserError
from drlh.hashers.deep.hbmp import HBMP, BitHinge, fitted_weights, leading_eigenvector, pursue, without_diagonal
from drlh.hashers.deep.objective import Batch, Task


def error(similarity: np.ndarray, bits: np.ndarray, weights: np.ndarray) -> float:
    """Squared, off the diagonal."""
    return float(np.square(without_diagonal(similarity - (bits * weights) @ bits.T)).sum())


def similarity_of(n_sets: int, seed: int) -> np.ndarray:
    labels = np.random.default_rng(seed).random((n_sets, 5)) < 0.3
    return np.where(labels.astype(int) @ labels.T.astype(int) > 0, 1.0, -1.0)


def test_two_classes_need_one_bit_that_tells_them_apart() -> None:
    bits, weights = pursue(np.array([[1.0, -1], [-1, 1]]), 1, True, np.random.default_rng(0))
    assert bits[0, 0] == -bits[1, 0]
    assert weights == pytest.approx([1.0], rel=1e-4)


def test_sets_that_share_a_label_get_the_nearer_codes() -> None:
    # Sets {a}, {a, b}, {b}: the one in the middle is similar to both others, and these are not to each other.
    similarity = np.array([[1.0, 1, -1], [1, 1, 1], [-1, 1, 1]])
    bits, weights = pursue(similarity, 6, True, np.random.default_rng(0))
    products = (bits * weights) @ bits.T
    assert min(products[0, 1], products[1, 2]) > products[0, 2]
    assert error(similarity, bits, weights) < error(similarity, bits, 0 * weights)


@pytest.mark.parametrize("seed", range(3))
def test_no_further_bit_makes_the_error_larger(seed: int) -> None:
    similarity = similarity_of(30, seed)
    errors = []
    for n_bits in range(1, 13):  # the same seed, so that each run is the one before and one bit more
        errors.append(error(similarity, *pursue(similarity, n_bits, True, np.random.default_rng(seed))))
    assert (np.diff(errors) <= 1e-3 * errors[0]).all()
    assert errors[-1] < 0.8 * errors[0]


def test_weights_are_those_of_least_squares_where_none_is_negative() -> None:
    rng = np.random.default_rng(0)
    bits, wanted = rng.choice([-1.0, 1.0], (12, 4)), np.array([0.5, 0.2, 1.0, 0.7])
    similarity = without_diagonal((bits * wanted) @ bits.T)
    np.testing.assert_allclose(fitted_weights(similarity, bits), wanted, atol=1e-4)
    assert (fitted_weights(-similarity, bits) == 0).all()


def test_without_weights_every_bit_counts_one() -> None:
    bits, weights = pursue(2 * np.eye(6) - 1, 10, False, np.random.default_rng(0))
    assert set(np.unique(bits)) == {-1, 1}
    assert (weights == 1).all()
    products = bits @ bits.T
    assert products[~np.eye(6, dtype=bool)].max() <= 2  # of 10: far apart


def test_the_leading_eigenvector_is_the_same_however_it_is_found() -> None:
    matrix = without_diagonal(similarity_of(201, 0))
    found, wanted = leading_eigenvector(matrix, np.random.default_rng(0)), np.linalg.eigh(matrix)[1][:, -1]
    assert abs(found @ wanted) == pytest.approx(1, abs=1e-3)


def test_hinge_loss_of_three_images_worked_by_hand() -> None:
    labels = torch.tensor([[1.0, 0], [0, 1], [1, 0]])
    objective = BitHinge(Task(labels, 2, False, np.random.default_rng(0)), True)
    objective.targets = torch.tensor([[1.0, -1], [-1, 1], [1, -1]])
    outputs = torch.tensor([[2.0, 0.5], [-0.5, 1.5]])  # of images 2 and 1
    loss = objective.loss(outputs, Batch(torch.tensor([2, 1]), labels[[2, 1]]))
    assert loss.item() == pytest.approx((0 + 1.5 + 0.5 + 0) / 4)


def test_images_with_the_same_labels_have_the_same_bits_to_learn() -> None:
    labels = torch.tensor([[1.0, 1, 0], [0, 0, 0], [1, 1, 0], [0, 0, 1], [1, 0, 0]])
    targets = BitHinge(Task(labels, 8, True, np.random.default_rng(0)), True).targets
    assert torch.equal(targets[0], targets[2])
    apart = (targets[0] != targets).sum(dim=1)
    assert apart[4] < apart[3]  # an image that shares a label is nearer than one that does not


def test_its_own_ranking_weights_the_bits() -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 3
    features = 3 * np.eye(3)[labels] + rng.normal(0, 0.3, (60, 3))
    hasher = HBMP(6, hidden_size=16, n_epochs=5, random_state=0).fit(features, labels)
    signs = 2.0 * hasher.transform(features) - 1
    np.testing.assert_array_equal(hasher.database_vectors(features), signs)
    np.testing.assert_array_equal(hasher.query_vectors(features), signs * hasher.objective_state_["weights"])
    assert hasher.objective_state_["weights"].sum() > 0


def test_weighted_takes_yes_or_no() -> None:
    with pytest.raises(UserError, match="weighted of HBMP must be True or False"):
        HBMP(8, weighted="yes").fit(np.eye(4), [0, 1, 0, 1])  # type: ignore[arg-type]
