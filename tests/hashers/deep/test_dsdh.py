import itertools
import math

import numpy as np
import pytest
import torch

from drlh.core.errors import UserError
from drlh.hashers.deep.dsdh import DSDH, PairsAndCodes
from drlh.hashers.deep.objective import Batch, Task


def softplus(value: float) -> float:
    return math.log(1 + math.exp(value))


def objective(labels: torch.Tensor, n_bits: int, mu: float = 0.1, eta: float = 0.1) -> PairsAndCodes:
    return PairsAndCodes(Task(labels, n_bits, True, np.random.default_rng(0)), mu, 0.1, eta)


def whole_objective(signs: torch.Tensor, outputs: torch.Tensor, labels: torch.Tensor, mu: float, eta: float) -> float:
    """Labels' error with the best map, its ridge, and the distance to outputs; all but the pairs."""
    codes, wanted = signs.double().numpy(), labels.double().numpy()
    map_ = np.linalg.solve(codes.T @ codes + 0.1 / mu * np.eye(codes.shape[1]), codes.T @ wanted)
    error = mu * np.square(wanted - codes @ map_).sum() + 0.1 * np.square(map_).sum()
    return float(error + eta / codes.shape[1] * np.square(codes - outputs.double().numpy()).sum())


def test_loss_of_two_images_worked_by_hand() -> None:
    labels = torch.eye(2)[[0, 0]]
    found = objective(labels, 2, eta=0.5)
    found.signs.copy_(torch.tensor([[1.0, -1.0], [-1.0, -1.0]]))
    outputs = torch.tensor([[1.0, 1.0], [2.0, -1.0]])
    distance = (0 + 4 + 9 + 0) / 4
    loss = found.loss(outputs, Batch(torch.arange(2), labels))
    assert loss.item() == pytest.approx(softplus(0.5) - 0.5 + 0.5 * distance, rel=1e-6)


def test_an_image_is_pulled_to_its_own_code() -> None:
    labels = torch.eye(3)
    found = objective(labels, 2, eta=1.0)
    found.signs.copy_(torch.tensor([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0]]))
    outputs = torch.zeros(1, 2, requires_grad=True)
    found.loss(outputs, Batch(torch.tensor([1]), labels[1:2])).backward()
    assert outputs.grad is not None  # the others' outputs are 0, so the pairs have no gradient
    assert outputs.grad.tolist() == [[1, -1]]


@pytest.mark.parametrize("mu", [0.01, 0.1, 1.0])
def test_a_turn_never_raises_the_objective(mu: float) -> None:
    torch.manual_seed(0)
    labels = (torch.rand(60, 4) < 0.4).float()
    found = objective(labels, 8, mu=mu)
    outputs = torch.randn(60, 8)
    values = [whole_objective(torch.where(outputs > 0, 1.0, -1.0), outputs, labels, mu, 0.1)]
    for epoch in range(3):
        found.start_epoch(epoch, 5, lambda: outputs)
        values.append(whole_objective(found.signs, outputs, labels, mu, 0.1))
    assert all(after <= before + 1e-6 for before, after in itertools.pairwise(values))
    assert values[-1] < values[0] - 1e-3


def test_labels_correct_a_code_that_outputs_get_wrong() -> None:
    labels = torch.eye(2)[[0, 0, 0, 0, 1, 1, 1, 1]]
    outputs = torch.tensor([[1.0, 1.0]] * 4 + [[-1.0, -1.0]] * 4)
    outputs[0] = -0.1  # this image of the first class looks a little like one of the second
    found = objective(labels, 2, mu=1.0)
    found.start_epoch(0, 5, lambda: outputs)
    assert found.signs[0].tolist() == [1, 1]
    assert torch.equal(found.signs[1:], outputs[1:].sign())


def test_images_without_labels_keep_finite_codes() -> None:
    found = objective(torch.zeros(5, 3), 4)
    found.start_epoch(0, 5, lambda: torch.ones(5, 4))
    assert torch.equal(found.signs, torch.ones(5, 4))


@pytest.mark.parametrize(("name", "value"), [("mu", 0), ("nu", 0), ("eta", -1)])
def test_a_wrong_parameter_is_one_clear_sentence(name: str, value: float) -> None:
    with pytest.raises(UserError, match=f"{name} of DSDH must be"):
        DSDH(8, **{name: value}).fit(np.eye(4), [0, 1, 0, 1])  # type: ignore[arg-type]
