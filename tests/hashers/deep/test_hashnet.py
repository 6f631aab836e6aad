import math

import numpy as np
import pytest
import torch

from drlh.core.errors import UserError
from drlh.hashers.deep.hashnet import HashNet, WeightedPairLikelihood, count_pairs
from drlh.hashers.deep.objective import Batch, Task


def softplus(value: float) -> float:
    return math.log(1 + math.exp(value))


def objective(labels: torch.Tensor, multilabel: bool, n_bits: int = 2) -> WeightedPairLikelihood:
    return WeightedPairLikelihood(Task(labels, n_bits, multilabel, np.random.default_rng(0)), 2.5, 7.0)


def test_loss_of_three_images_worked_by_hand() -> None:
    labels = torch.eye(2)[[0, 0, 1]]
    found = objective(labels, multilabel=False)
    outputs = torch.atanh(torch.tensor([[0.5, 0.0], [0.8, 0.2], [0.0, -0.5]]))
    # 2 of 6 pairs are similar (weight 3), 4 are not (weight 1.5); logits 2.5 times 0.4, 0 and -0.1.
    wanted = (2 * 3 * (softplus(1) - 1) + 2 * 1.5 * softplus(0) + 2 * 1.5 * softplus(-0.25)) / 12
    assert found.loss(outputs, Batch(torch.arange(3), labels)).item() == pytest.approx(wanted, rel=1e-6)


def test_several_labels_weigh_by_what_is_in_common_worked_by_hand() -> None:
    labels = torch.tensor([[1.0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 0]])
    found = objective(labels, multilabel=True)
    # 2 of 12 pairs are similar, with half of their labels in common: 6 * 0.5; the others weigh 1.2.
    outputs = torch.atanh(torch.tensor([[0.5, 0.0], [0.8, 0.0], [0.0, 0.0], [0.0, 0.0]]))
    wanted = (2 * 3 * (softplus(1) - 1) + 10 * 1.2 * math.log(2)) / 18
    assert found.loss(outputs, Batch(torch.arange(4), labels)).item() == pytest.approx(wanted, rel=1e-6)


def test_pairs_are_counted_as_one_by_one() -> None:
    labels = torch.from_numpy((np.random.default_rng(0).random((60, 4)) < 0.3).astype(np.float32))
    same = labels @ labels.T > 0
    same.fill_diagonal_(False)
    assert count_pairs(labels) == (same.sum().item(), 60 * 59)


@pytest.mark.parametrize("labels", [torch.ones(4, 2), torch.eye(4), torch.zeros(4, 3)])
def test_one_kind_of_pairs_alone_is_a_loss_too(labels: torch.Tensor) -> None:
    loss = objective(labels, multilabel=True).loss(torch.full((4, 2), 0.3), Batch(torch.arange(4), labels))
    assert math.isfinite(loss.item())
    assert loss.item() > 0


def test_an_image_alone_has_no_pairs() -> None:
    loss = objective(torch.ones(1, 2), multilabel=True).loss(torch.ones(1, 2), Batch(torch.arange(1), torch.ones(1, 2)))
    assert loss.item() == 0


def test_the_tanh_grows_steeper_from_1_to_its_end() -> None:
    found = objective(torch.eye(2), multilabel=False)
    betas = []
    for epoch in range(4):
        found.start_epoch(epoch, 4, lambda: torch.zeros(2, 2))
        betas.append(found.beta)
    assert betas == pytest.approx([1, math.sqrt(17), math.sqrt(33), 7])


def test_the_gradient_is_right() -> None:
    torch.manual_seed(0)
    labels = torch.eye(3, dtype=torch.float64)[[0, 1, 2, 0, 1]]
    found, batch = objective(labels, multilabel=False), Batch(torch.arange(5), labels)
    found.start_epoch(1, 3, lambda: torch.zeros(5, 2))
    outputs = torch.randn(5, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda given: found.loss(given, batch), outputs)


@pytest.mark.parametrize(("name", "value"), [("slope", 0), ("steepest", 0.5), ("slope", "much")])
def test_a_wrong_parameter_is_one_clear_sentence(name: str, value: object) -> None:
    with pytest.raises(UserError, match=f"{name} of HashNet must be"):
        HashNet(8, **{name: value}).fit(np.eye(4), [0, 1, 0, 1])  # type: ignore[arg-type]
