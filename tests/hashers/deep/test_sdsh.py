import numpy as np
import pytest
import torch

from drlh.core.errors import UserError
from drlh.hashers.deep.objective import Batch, Task
from drlh.hashers.deep.sdsh import SDSH, SpringLoss, best_rotation, plane_rotation, retrieval_score, spring_energy


def springs(labels: torch.Tensor, n_rotations: int = 50) -> SpringLoss:
    return SpringLoss(Task(labels, 2, False, np.random.default_rng(0)), n_rotations)


def test_loss_of_three_images_worked_by_hand() -> None:
    outputs = torch.tensor([[2.0, 0.0], [0.0, 0.5], [-3.0, 0.0]])  # on the circle: right, up, left
    labels = torch.eye(2)[[0, 0, 1]]
    # Query 0: 2 - 4; query 1: 2 - 2; image 2 has nobody near.
    wanted = ((8**0.5 - 6**0.5) ** 2 + (8**0.5 - 2) ** 2) / 2
    assert springs(labels).loss(outputs, Batch(torch.arange(3), labels)).item() == pytest.approx(wanted, rel=1e-5)


def test_several_labels_are_similar_when_they_share_one() -> None:
    labels = torch.tensor([[1.0, 1], [0, 1], [1, 0], [0, 0]])
    outputs = torch.tensor([[1.0, 0], [0, 1], [0, 1], [-1, 0]])
    # Query 0: 2 - 4 twice, against image 3; queries 1 and 2: 2 - 0 against each other and 2 - 2 against image 3.
    wanted = ((8**0.5 - 6**0.5) ** 2 + (8**0.5 - 2**0.5) ** 2 + (8**0.5 - 2) ** 2) / 3
    assert springs(labels).loss(outputs, Batch(torch.arange(4), labels)).item() == pytest.approx(wanted, rel=1e-5)


def test_energy_runs_from_0_to_8_with_a_finite_slope() -> None:
    gaps = torch.tensor([-4.0, 0.0, 4.0], requires_grad=True)
    energy = spring_energy(gaps)
    torch.testing.assert_close(energy, torch.tensor([0.0, (8**0.5 - 2) ** 2, 8.0]), atol=0.06, rtol=0)
    energy.sum().backward()
    assert gaps.grad is not None
    assert torch.isfinite(gaps.grad).all()


def test_the_loss_has_the_right_gradient() -> None:
    torch.manual_seed(0)
    outputs = torch.randn(6, 4, dtype=torch.float64, requires_grad=True)
    labels = torch.eye(3, dtype=torch.float64)[[0, 1, 2, 0, 1, 2]]
    objective = springs(labels)
    assert torch.autograd.gradcheck(lambda values: objective.loss(values, Batch(torch.arange(6), labels)), outputs)


def test_a_turn_is_a_rotation_by_its_angle() -> None:
    turn = plane_rotation(5, 0.3, np.random.default_rng(0))
    np.testing.assert_allclose(turn @ turn.T, np.eye(5), atol=1e-12)
    assert np.linalg.det(turn) == pytest.approx(1)
    assert np.trace(turn) == pytest.approx(3 + 2 * np.cos(0.3))
    assert plane_rotation(1, 0.3, np.random.default_rng(0)).tolist() == [[1]]


def two_classes() -> tuple[np.ndarray, np.ndarray]:
    """Points whose signs say nothing of their class until the circle is turned by an eighth."""
    rng = np.random.default_rng(0)
    labels = np.eye(4, dtype=np.uint8)[np.arange(200) % 4]
    angles = np.arange(200) % 4 * np.pi / 2 + rng.normal(0, 0.2, 200)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1), labels


def test_the_search_never_lowers_the_score_and_finds_the_turn() -> None:
    points, labels = two_classes()
    score = retrieval_score(points, labels, np.random.default_rng(1))
    scores = [score(best_rotation(np.eye(2), score, n_steps, np.random.default_rng(2))) for n_steps in (0, 1, 40)]
    assert scores[0] == score(np.eye(2)) < 0.7
    assert scores == sorted(scores)
    assert scores[2] > 0.95


def test_the_rotation_is_the_same_however_often_it_is_asked_for() -> None:
    points, labels = two_classes()
    objective = springs(torch.from_numpy(labels).float())
    first, second = (objective.finish(lambda: torch.from_numpy(points))["rotation"] for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert not np.allclose(first, np.eye(2))


def test_a_wrong_number_of_rotations_is_one_clear_sentence() -> None:
    with pytest.raises(UserError, match="n_rotations of SDSH must be"):
        SDSH(8, n_rotations=-1).fit(np.eye(4), [0, 1, 0, 1])
