import math

import numpy as np
import pytest
import torch

from drlh.core.errors import UserError
from drlh.hashers.deep.dtsh import DTSH, TripletLikelihood, sample_largest, triplet_loss
from drlh.hashers.deep.objective import Batch, Task


def softplus(value: float) -> float:
    return math.log(1 + math.exp(value))


def objective(labels: torch.Tensor, outputs: torch.Tensor, eta: float = 0.0, n_drawn: int = 50) -> TripletLikelihood:
    task = Task(labels, outputs.shape[1], True, np.random.default_rng(0))
    found = TripletLikelihood(task, 1.0, eta, n_drawn).to(outputs.dtype)
    found.start_epoch(0, 5, lambda: outputs)
    return found


def test_loss_of_one_image_among_four_worked_by_hand() -> None:
    labels = torch.eye(2)[[0, 0, 1, 1]]
    found = objective(labels, torch.tensor([[9.0, 9.0], [2.0, 0.0], [0.0, 4.0], [-2.0, 2.0]]), eta=0.5)
    # t = 0.5 with the similar image, -4 and -2.5 with the others; the margin is 1.
    triplets = (softplus(1 - 0.5 - 4) + softplus(1 - 0.5 - 2.5)) / 2
    loss = found.loss(torch.tensor([[0.5, -2.0]]), Batch(torch.tensor([0]), labels[:1]))
    assert loss.item() == pytest.approx(triplets + 0.5 * (0.25 + 1) / 2, rel=1e-6)


def test_sharing_one_of_several_labels_makes_similar_and_no_label_makes_dissimilar() -> None:
    labels = torch.tensor([[1.0, 1, 0], [0, 1, 1], [0, 0, 1], [0, 0, 0]])
    found = objective(labels, torch.tensor([[0.0], [2.0], [4.0], [6.0]]))
    loss = found.loss(torch.tensor([[1.0]]), Batch(torch.tensor([0]), labels[:1]))
    assert loss.item() == pytest.approx((softplus(1 - 1 + 2) + softplus(1 - 1 + 3)) / 2, rel=1e-6)


@pytest.mark.parametrize("labels", [torch.zeros(4, 2), torch.ones(4, 2), torch.eye(4)])
def test_images_without_triplets_teach_nothing(labels: torch.Tensor) -> None:
    outputs = torch.full((4, 3), 0.5, requires_grad=True)
    loss = objective(labels, torch.zeros(4, 3)).loss(outputs, Batch(torch.arange(4), labels))
    loss.backward()
    assert loss.item() == 0
    assert outputs.grad is not None
    assert not outputs.grad.any()


def test_what_is_drawn_was_to_be_drawn_and_differs_from_draw_to_draw() -> None:
    torch.manual_seed(0)
    values, mask = torch.arange(20.0).repeat(2, 1), torch.zeros(2, 20)
    mask[0, 5:15] = 1
    mask[1, 3] = 1
    seen = set()
    for _ in range(5):
        drawn, there = sample_largest(values, (torch.rand(2, 20) + 0.5) * mask, 4)
        assert there.tolist()[0] == [1] * 4
        assert there[1].sum() == 1
        assert (drawn[1] * there[1]).sum() == 3
        assert len(set(drawn[0].tolist())) == 4
        assert set(drawn[0].tolist()) <= set(range(5, 15))
        seen.add(tuple(sorted(drawn[0].tolist())))
    assert len(seen) > 1


def test_few_draws_have_the_mean_of_all_triplets() -> None:
    torch.manual_seed(0)
    labels = torch.eye(2)[torch.arange(40) % 2]
    outputs = torch.randn(40, 4)
    batch = Batch(torch.arange(40), labels)
    whole = objective(labels, outputs).loss(outputs, batch).item()
    drawn = objective(labels, outputs, n_drawn=3)
    assert np.mean([drawn.loss(outputs, batch).item() for _ in range(200)]) == pytest.approx(whole, rel=0.02)


def test_the_gradient_is_right() -> None:
    torch.manual_seed(0)
    near, far = torch.tensor([[1.0, 1], [1, 0]]).double(), torch.tensor([[1.0, 1, 0], [1, 1, 1]]).double()
    values = torch.randn(2, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda t: triplet_loss(t[:, :2], near, t[:, 2:], far, 0.7), values)


@pytest.mark.parametrize(("name", "value"), [("margin", -1), ("eta", -1), ("n_drawn", 0), ("n_drawn", 1.5)])
def test_a_wrong_parameter_is_one_clear_sentence(name: str, value: float) -> None:
    with pytest.raises(UserError, match=f"{name} of DTSH must be"):
        DTSH(8, **{name: value}).fit(np.eye(4), [0, 1, 0, 1])  # type: ignore[arg-type]
