import math

import numpy as np
import pytest
import torch

from drlh.core.errors import UserError
from drlh.hashers.deep.objective import Batch, Task
from drlh.hashers.deep.ssdh import SSDH, UnitClassifier, hinge_loss

ON = math.log(3)  # a unit of 3/4; its negative is a unit of 1/4


def objective(alpha: float, beta: float, gamma: float, multilabel: bool = False) -> UnitClassifier:
    found = UnitClassifier(Task(torch.eye(2)[[0, 1, 0]], 2, multilabel, np.random.default_rng(0)), alpha, beta, gamma)
    found.classifier.weight.data = torch.tensor([[4.0, 0.0], [0.0, 4.0]])
    found.classifier.bias.data = torch.tensor([0.0, 1.0])
    return found


def test_loss_of_three_images_worked_by_hand() -> None:
    outputs = torch.tensor([[ON, -ON], [0.0, ON], [ON, ON]])
    batch = Batch(torch.arange(3), torch.eye(2)[[0, 1, 0]])
    # Units (3/4, 1/4), (1/2, 3/4), (3/4, 3/4), so scores (3, 2), (2, 4), (3, 4).
    entropy = (math.log(1 + math.exp(-1)) + math.log(1 + math.exp(-2)) + math.log(1 + math.exp(1))) / 3
    certainty = (5 / 16) / 6 / 2
    imbalance = (0 + (1 / 8) ** 2 + (1 / 4) ** 2) / 3 / 2
    wanted = 2 * entropy - 3 * certainty + 5 * imbalance
    assert objective(2, 3, 5).loss(outputs, batch).item() == pytest.approx(wanted, rel=1e-6)


def test_several_labels_have_a_squared_hinge_each_worked_by_hand() -> None:
    scores = torch.tensor([[0.5, 2.0, -3.0], [0.0, -0.5, 0.5], [-2.0, -1.0, -1.5]])
    labels = torch.tensor([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    first, second, without_labels = 0.5**2, 1 + 0.5**2 + 1.5**2, 0.0
    wanted = (first + second + without_labels) / 3
    assert hinge_loss(scores, labels).item() == pytest.approx(wanted)


def test_several_labels_go_to_the_hinge_and_one_label_to_the_cross_entropy() -> None:
    outputs, labels = torch.tensor([[ON, -ON]]), torch.tensor([[1.0, 1.0]])
    batch = Batch(torch.arange(1), labels)
    assert objective(1, 0, 0, multilabel=True).loss(outputs, batch).item() == 0  # scores 3 and 2
    assert objective(1, 0, 0).loss(outputs, Batch(torch.arange(1), torch.eye(2)[:1])).item() > 0.3


@pytest.mark.parametrize("multilabel", [False, True])
def test_the_loss_has_the_right_gradient(multilabel: bool) -> None:
    outputs = torch.randn(4, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    batch = Batch(torch.arange(4), torch.eye(2, dtype=torch.float64)[[0, 1, 1, 0]])
    loss = objective(1.0, 2.0, 3.0, multilabel).double()
    assert torch.autograd.gradcheck(lambda values: loss.loss(values, batch), outputs)


@pytest.mark.parametrize("name", ["alpha", "beta", "gamma"])
def test_a_negative_weight_is_one_clear_sentence(name: str) -> None:
    with pytest.raises(UserError, match=f"{name} of SSDH must be at least 0"):
        SSDH(8, **{name: -1.0}).fit(np.eye(4), [0, 1, 0, 1])
