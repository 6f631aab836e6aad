import itertools
import math

import numpy as np
import pytest
import torch

from drlh.core.errors import UserError
from drlh.hashers.deep.objective import Batch
from drlh.hashers.deep.pgdh import PGDH, SampledCodes, advantages, log_probabilities, rewards

TWO_CLASSES = Batch(torch.arange(3), torch.eye(2)[[0, 0, 1]])


def test_rewards_of_three_images_worked_by_hand() -> None:
    signs = torch.tensor([[[1.0, 1, 1, 1], [1, 1, 1, -1], [1, 1, -1, -1]]])
    # Distances as shares: 0 and 1 differ by 1/4, 0 and 2 by 1/2, 1 and 2 by 1/4.
    wanted = [-0.6 * 0.25, -(0.6 * 0.25 + 0.4 * 0.25), -0.4 * (0 + 0.25) / 2]
    assert rewards(signs, TWO_CLASSES, 0.6, 0.5)[0].tolist() == pytest.approx(wanted)


def test_several_labels_are_similar_when_they_share_one() -> None:
    labels = torch.tensor([[1.0, 1], [0, 1], [1, 0], [0, 0]])
    signs = torch.tensor([[[1.0, 1], [1, -1], [-1, -1], [1, 1]]])
    # Image 0 has two similar ones, at 1/2 and 1, and one without a label at 0; image 3 has others alone.
    earned = rewards(signs, Batch(torch.arange(4), labels), 0.5, 0.5)[0]
    assert earned[0].item() == pytest.approx(-0.5 * 0.75 - 0.5 * 0.5)
    assert earned[3].item() == pytest.approx(-0.5 * (0.5 + 0 + 0) / 3)


def test_an_advantage_is_beyond_the_mean_of_the_other_draws() -> None:
    earned = torch.tensor([[1.0, 5], [2, 5], [6, 5]])
    assert advantages(earned)[:, 0].tolist() == pytest.approx([1 - 4, 2 - 3.5, 6 - 1.5])
    assert advantages(earned)[:, 1].tolist() == [0, 0, 0]


def test_log_chances_are_those_of_independent_bits() -> None:
    bits = torch.tensor([[[1.0, 0.0]], [[0.0, 0.0]]])
    logits = torch.tensor([[math.log(3), 0.0]])  # probabilities 3/4 and 1/2 of a one
    found = log_probabilities(logits, bits)
    assert found.flatten().tolist() == pytest.approx([math.log(3 / 8), math.log(1 / 8)])


def test_the_gradient_is_in_the_mean_that_of_the_expected_reward() -> None:
    logits = torch.tensor([[0.5, -0.3], [0.2, 0.8], [-0.6, 0.1]], dtype=torch.float64, requires_grad=True)
    batch = Batch(TWO_CLASSES.rows, TWO_CLASSES.labels.double())
    # Every drawing of the whole batch, with its chance. Each image's own reward is followed by its own bits alone.
    every = torch.tensor(list(itertools.product((0.0, 1.0), repeat=6)), dtype=torch.float64).reshape(-1, 3, 2)
    chances = log_probabilities(logits, every).sum(dim=1).exp().detach()
    earned = rewards(2 * every - 1, batch, 0.6, 0.5)
    expected = (chances[:, None] * earned * log_probabilities(logits, every)).sum(dim=0).mean()
    wanted = torch.autograd.grad(-expected, logits)[0]
    torch.manual_seed(0)
    loss = SampledCodes(40_000, 0.6, 0.5).loss(logits, batch)
    torch.testing.assert_close(torch.autograd.grad(loss, logits)[0], wanted, atol=3e-4, rtol=0)
    assert wanted.abs().max() > 8e-3


def test_images_without_a_label_leave_the_gradient_finite() -> None:
    outputs = torch.randn(4, 3, requires_grad=True)
    SampledCodes(4, 0.5, 0.5).loss(outputs, Batch(torch.arange(4), torch.zeros(4, 2))).backward()
    assert outputs.grad is not None
    assert torch.isfinite(outputs.grad).all()


@pytest.mark.parametrize(("name", "value"), [("n_samples", 1), ("beta", 1), ("margin", 0)])
def test_a_wrong_parameter_is_one_clear_sentence(name: str, value: float) -> None:
    with pytest.raises(UserError, match=f"{name} of PGDH must be"):
        PGDH(8, **{name: value}).fit(np.eye(4), [0, 1, 0, 1])
