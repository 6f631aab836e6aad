import math

import numpy as np
import pytest
import torch

from drlh.core.errors import UserError
from drlh.hashers.deep.greedyhash import GreedyHash, SignClassifier, label_loss, straight_through_sign
from drlh.hashers.deep.objective import Batch, Task


def objective(alpha: float, multilabel: bool = False) -> SignClassifier:
    labels = torch.eye(2)[[0, 1, 0]]
    found = SignClassifier(Task(labels, 2, multilabel, np.random.default_rng(0)), alpha)
    found.classifier.weight.data = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    return found


def test_loss_of_three_images_worked_by_hand() -> None:
    outputs = torch.tensor([[0.5, -2.0], [3.0, 1.0], [-0.1, 0.2]])
    batch = Batch(torch.arange(3), torch.eye(2)[[0, 1, 0]])
    # Signs (1, -1), (1, 1), (-1, 1); the classifier passes them on as logits.
    entropy = (math.log(1 + math.exp(-2)) + math.log(2) + math.log(1 + math.exp(2))) / 3
    cubes = (0.5**3 + 1**3 + 2**3 + 0 + 0.9**3 + 0.8**3) / 6
    assert objective(0.1).loss(outputs, batch).item() == pytest.approx(entropy + 0.1 * cubes, rel=1e-6)


def test_several_labels_have_a_logistic_loss_each_worked_by_hand() -> None:
    logits, labels = torch.tensor([[0.0, 1.0], [2.0, -1.0]]), torch.tensor([[1.0, 1.0], [0.0, 0.0]])
    first = math.log(2) + math.log(1 + math.exp(-1))
    second = math.log(1 + math.exp(2)) + math.log(1 + math.exp(-1))
    assert label_loss(logits, labels, multilabel=True).item() == pytest.approx((first + second) / 2)


def test_the_sign_passes_the_gradient_on_as_it_is() -> None:
    outputs = torch.tensor([[0.3, -0.2, 0.0]], requires_grad=True)
    signs = straight_through_sign(outputs)
    assert signs.tolist() == [[1, -1, -1]]
    (signs * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert outputs.grad is not None
    assert outputs.grad.tolist() == [[1, 2, 3]]


def test_the_penalty_has_the_right_gradient() -> None:
    outputs = torch.tensor([[0.5, -2.0], [3.0, 1.5]], dtype=torch.float64, requires_grad=True)
    batch = Batch(torch.arange(2), torch.eye(2, dtype=torch.float64))
    with_penalty, without = objective(1.0).double(), objective(0.0).double()
    penalty = with_penalty.loss(outputs, batch) - without.loss(outputs, batch)
    penalty.backward()
    assert outputs.grad is not None
    magnitude = outputs.detach().abs() - 1
    wanted = 3 * magnitude.square() * magnitude.sign() * outputs.detach().sign() / 4
    torch.testing.assert_close(outputs.grad, wanted)


def test_a_negative_penalty_is_one_clear_sentence() -> None:
    with pytest.raises(UserError, match="alpha of GreedyHash must be at least 0"):
        GreedyHash(8, alpha=-1).fit(np.eye(4), [0, 1, 0, 1])
