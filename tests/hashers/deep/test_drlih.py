import math

import numpy as np
import pytest
import torch

from drlh.core.errors import UserError
from drlh.hashers.deep.drlih import DRLIH, ActionTriplets, Agent, action_nll
from drlh.hashers.deep.objective import Batch

ODDS = math.log(3)  # of a probability of 3/4


def test_loss_of_three_images_worked_by_hand() -> None:
    outputs = ODDS * torch.tensor([[1.0, 1], [1, -1], [-1, -1]])
    batch = Batch(torch.arange(3), torch.eye(2)[[0, 0, 1]])
    # Probabilities differ by 1/2 where signs do. Query 0: 1 + 1/2 - 1/sqrt 2; query 1: 1 + 1/2 - 1/2.
    hinges = [1.5 - 0.5**0.5, 1.0]
    # Every action taken has the probability 3/4; image 2 has no triplet and no penalty.
    policy = -math.log(0.75) * sum(hinges) / 3
    loss = ActionTriplets(1.0, 0.25).loss(outputs, batch).item()
    assert loss == pytest.approx(0.25 * policy + 0.75 * sum(hinges) / 2, rel=1e-5)


def test_several_labels_are_similar_when_they_share_one() -> None:
    labels = torch.tensor([[1.0, 1], [0, 1], [0, 0]])
    outputs = ODDS * torch.tensor([[1.0, 1], [1, -1], [-1, -1]])
    loss = ActionTriplets(1.0, 0.0).loss(outputs, Batch(torch.arange(3), labels)).item()
    assert loss == pytest.approx((1.5 - 0.5**0.5 + 1.0) / 2, rel=1e-5)


def test_the_policy_term_counts_the_triplets_as_a_given_penalty() -> None:
    outputs = torch.tensor([[0.4, -0.2], [1.0, 0.3], [-0.5, 0.1]], dtype=torch.float64, requires_grad=True)
    batch = Batch(torch.arange(3), torch.eye(2, dtype=torch.float64)[[0, 0, 1]])
    ActionTriplets(1.0, 1.0).loss(outputs, batch).backward()
    assert outputs.grad is not None
    # Image 2 asks for nothing, so no action of it is penalised, though it is the farther image of two triplets.
    assert outputs.grad[2].tolist() == [0, 0]
    # A likelier action costs less: the gradient points from the action taken.
    assert torch.equal(outputs.grad[:2].sign(), -outputs.detach()[:2].sign())


def test_the_triplet_term_has_the_right_gradient() -> None:
    torch.manual_seed(0)
    outputs = torch.randn(6, 4, dtype=torch.float64, requires_grad=True)
    labels = torch.eye(3, dtype=torch.float64)[[0, 1, 2, 0, 1, 2]]
    objective = ActionTriplets(1.0, 0.0)
    assert torch.autograd.gradcheck(lambda values: objective.loss(values, Batch(torch.arange(6), labels)), outputs)


def test_equal_images_leave_the_gradient_finite() -> None:
    outputs = torch.zeros(4, 3, requires_grad=True)
    ActionTriplets(1.0, 1e-3).loss(outputs, Batch(torch.arange(4), torch.eye(2)[[0, 1, 0, 1]])).backward()
    assert outputs.grad is not None
    assert torch.isfinite(outputs.grad).all()


def test_surprise_is_that_of_the_likelier_action() -> None:
    assert action_nll(torch.tensor([[ODDS, -ODDS], [0.0, 0.0]])).tolist() == pytest.approx(
        [-math.log(0.75), math.log(2)]
    )


def test_the_state_passes_through_one_cell_for_every_bit() -> None:
    agent = Agent(torch.nn.Linear(3, 4), 4, 3)
    features = torch.randn(5, 3)
    state, logits = agent.first_state(features), []
    for _ in range(3):
        state = torch.tanh(state @ agent.cell.weight.T + agent.cell.bias)
        logits.append(state @ agent.actor.weight[0] + agent.actor.bias)
    torch.testing.assert_close(agent(features), torch.stack(logits, dim=1))
    assert len(list(agent.cell.parameters())) + len(list(agent.actor.parameters())) == 4


@pytest.mark.parametrize(("name", "value"), [("state_size", 0), ("margin", 0), ("policy_weight", 1.5)])
def test_a_wrong_parameter_is_one_clear_sentence(name: str, value: float) -> None:
    with pytest.raises(UserError, match=f"{name} of DRLIH must be"):
        DRLIH(8, **{name: value}).fit(np.eye(4), [0, 1, 0, 1])
