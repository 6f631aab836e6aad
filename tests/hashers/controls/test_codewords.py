"""The controls that learn DRLH's codewords without a walk: bce, graded, center."""

import math

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck

from drlh.core.errors import UserError
from drlh.hashers.controls.bce import CodewordBits
from drlh.hashers.controls.center import Center, CenterCosines
from drlh.hashers.controls.graded import GradedBits
from drlh.hashers.deep.objective import Batch, Objective, Task

LABELS = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
OUTPUTS = torch.tensor([[0.5, -1.0], [2.0, 0.0], [-0.3, 0.4], [1.0, 1.0]])
BATCH = Batch(torch.arange(4), LABELS)


def task(n_bits: int = 12) -> Task:
    return Task(LABELS, n_bits, True, np.random.default_rng(0))


def softplus(value: float) -> float:
    return math.log(1 + math.exp(value))


def test_cross_entropy_on_codewords_worked_by_hand() -> None:
    objective = CodewordBits(task())
    objective.signs = torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])
    wanted = [(1, 1), (1, 0), (0.5, 0), (0.5, 0.5)]  # the third image has two labels, the fourth none
    terms = [softplus(u) - t * u for us, ts in zip(OUTPUTS.tolist(), wanted, strict=True) for u, t in zip(us, ts)]
    assert objective.loss(OUTPUTS, BATCH).item() == pytest.approx(sum(terms) / 8)


def test_graded_cross_entropy_worked_by_hand() -> None:
    objective = GradedBits(task())
    objective.graded = torch.tensor([[0.5, 0.2], [0.9, -0.4], [-0.3, -0.1]])
    wanted = [(0.5, 0.2), (0.9, -0.4), (0.6, -0.5), (0, 0)]
    terms = [
        abs(v) * (softplus(u) - (v > 0) * u)
        for us, vs in zip(OUTPUTS.tolist(), wanted, strict=True)
        for u, v in zip(us, vs, strict=True)
    ]
    assert objective.loss(OUTPUTS, BATCH).item() == pytest.approx(sum(terms) / 8)


def test_graded_codewords_keep_the_signs_and_lie_within_the_cube() -> None:
    graded = GradedBits(task()).graded
    assert torch.equal(graded.sign(), CodewordBits(task()).signs)
    assert graded.abs().max() < 1


def test_cosines_with_centres_worked_by_hand() -> None:
    objective = CenterCosines(task(), margin=0.2, logit_scale=3.0)
    objective.centers = torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]]) / math.sqrt(2)
    total = 0.0
    for outputs, labels in zip(OUTPUTS.tolist(), LABELS.tolist(), strict=True):
        norm = math.hypot(*outputs)
        cosines = [(u * a + v * b) / norm / math.sqrt(2) for u, v in [outputs] for a, b in [(1, 1), (1, -1), (-1, -1)]]
        logits = [3 * (cosine - 0.2 * own) for cosine, own in zip(cosines, labels, strict=True)]
        largest = math.log(sum(math.exp(value) for value in logits))
        count = max(1, sum(labels))
        total += sum(own / count * (largest - value) for own, value in zip(labels, logits, strict=True))
    assert objective.loss(OUTPUTS, BATCH).item() == pytest.approx(total / 4, rel=1e-5)


@pytest.mark.parametrize("kind", [CodewordBits, GradedBits, lambda task: CenterCosines(task, 0.2, 3.0)])
def test_gradients_are_those_of_the_loss(kind: type[Objective]) -> None:
    objective = kind(task()).double()
    batch = Batch(BATCH.rows, LABELS.double())
    outputs = torch.randn(4, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(0), requires_grad=True)
    assert gradcheck(lambda values: objective.loss(values, batch), (outputs,))


@pytest.mark.parametrize(("name", "value"), [("margin", -0.1), ("margin", 2.0), ("logit_scale", 0)])
def test_a_wrong_parameter_of_center_is_one_clear_sentence(name: str, value: float) -> None:
    with pytest.raises(UserError, match=f"{name} of Center must be"):
        Center(8, **{name: value}).fit(np.eye(4), [0, 1, 0, 1])
