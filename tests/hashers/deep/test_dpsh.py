import math

import numpy as np
import pytest
import torch

from drlh.core.errors import UserError
from drlh.hashers.deep.dpsh import DPSH, PairLikelihood
from drlh.hashers.deep.objective import Batch, Task


def softplus(value: float) -> float:
    return math.log(1 + math.exp(value))


def objective(labels: torch.Tensor, outputs: torch.Tensor, eta: float) -> PairLikelihood:
    task = Task(labels, outputs.shape[1], False, np.random.default_rng(0))
    found = PairLikelihood(task, eta).to(outputs.dtype)
    found.start_epoch(0, 5, lambda: outputs)
    return found


def test_loss_of_two_images_among_three_worked_by_hand() -> None:
    labels = torch.eye(2)[[0, 0, 1]]
    found = objective(labels, torch.tensor([[9.0, 9.0], [9.0, 9.0], [0.0, 3.0]]), eta=0.5)
    outputs = torch.tensor([[1.0, -2.0], [2.0, 0.5]])
    # t_01 = 0.5, similar, seen from both sides; t_02 = -3 and t_12 = 0.75, dissimilar and seen from the batch alone.
    pairs = (2 * (softplus(0.5) - 0.5) + softplus(-3) + softplus(0.75)) / 4
    penalty = (0 + 1 + 1 + 0.25) / 4
    loss = found.loss(outputs, Batch(torch.tensor([0, 1]), labels[:2]))
    assert loss.item() == pytest.approx(pairs + 0.5 * penalty, rel=1e-6)


def test_images_that_share_one_of_several_labels_are_similar() -> None:
    labels = torch.tensor([[1.0, 1, 0], [0, 1, 1], [0, 0, 0]])
    found = objective(labels, torch.tensor([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]]), eta=0.0)
    loss = found.loss(torch.tensor([[1.0, 1.0]]), Batch(torch.tensor([0]), labels[:1]))
    assert loss.item() == pytest.approx((softplus(1) - 1 + softplus(1)) / 2)


def test_the_penalty_has_the_right_gradient() -> None:
    labels = torch.eye(2, dtype=torch.float64)
    outputs = torch.tensor([[0.5, -2.0], [3.0, -0.1]], dtype=torch.float64, requires_grad=True)
    batch = Batch(torch.arange(2), labels)
    found = [objective(labels, torch.zeros(2, 2, dtype=torch.float64), eta) for eta in (1.0, 0.0)]
    (found[0].loss(outputs, batch) - found[1].loss(outputs, batch)).backward()
    assert outputs.grad is not None
    torch.testing.assert_close(outputs.grad, (outputs.detach() - outputs.detach().sign()) / 2)


def test_a_step_against_the_gradient_lowers_the_loss() -> None:
    torch.manual_seed(0)
    labels = torch.eye(3)[torch.arange(12) % 3]
    start = torch.randn(12, 4)
    outputs = start.clone().requires_grad_()
    batch = Batch(torch.arange(12), labels)
    before = objective(labels, start, 0.1).loss(outputs, batch)
    before.backward()
    assert outputs.grad is not None
    after = objective(labels, start, 0.1).loss(outputs.detach() - 0.5 * outputs.grad, batch)
    assert after.item() < before.item()


def test_a_negative_penalty_is_one_clear_sentence() -> None:
    with pytest.raises(UserError, match="eta of DPSH must be at least 0"):
        DPSH(8, eta=-1).fit(np.eye(4), [0, 1, 0, 1])
