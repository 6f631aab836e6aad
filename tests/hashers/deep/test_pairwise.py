import itertools
import math

import numpy as np
import pytest
import torch

from drlh.hashers.deep import pairwise
from drlh.hashers.deep.objective import Batch, Task
from drlh.hashers.deep.pairwise import (
    MemoryBank,
    discrete_code_step,
    jaccard_similarity,
    pairwise_loss,
    quantization_loss,
    signs_of,
)


def softplus(value: float) -> float:
    return math.log(1 + math.exp(value))


def memory(labels: torch.Tensor, outputs: torch.Tensor) -> MemoryBank:
    found = MemoryBank(Task(labels, outputs.shape[1], True, np.random.default_rng(0))).to(outputs.dtype)
    found.start_epoch(0, lambda: outputs)
    return found


def test_the_loss_of_a_pair_is_minus_its_log_likelihood() -> None:
    inner, same = torch.tensor([2.0, 2.0, 0.0, -50.0, 200.0]), torch.tensor([1.0, 0.0, 1.0, 0.0, 0.0])
    sigma = 1 / (1 + math.exp(-2))
    wanted = [-math.log(sigma), -math.log(1 - sigma), math.log(2), 0.0, 200.0]
    assert pairwise_loss(inner, same).tolist() == pytest.approx(wanted, rel=1e-5, abs=1e-12)


def test_a_batch_is_compared_with_all_other_images_worked_by_hand() -> None:
    labels = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    kept = memory(labels, torch.tensor([[9.0, 9.0], [2.0, 0.0], [0.0, 4.0]]))
    loss = kept.pairwise_loss(torch.tensor([[1.0, -1.0]]), Batch(torch.tensor([0]), labels[:1]))
    # u_0 . u_1 / 2 = 1, no label in common; u_0 . u_2 / 2 = -2, one in common.
    assert loss.item() == pytest.approx((softplus(1) + softplus(-2) + 2) / 2)


def test_a_batch_writes_its_own_rows_and_sees_them() -> None:
    labels = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    kept = memory(labels, torch.zeros(3, 2))
    outputs = torch.tensor([[1.0, -1.0], [2.0, 0.0]], requires_grad=True)
    loss = kept.pairwise_loss(outputs, Batch(torch.tensor([2, 0]), labels[[2, 0]]))
    assert kept.outputs.tolist() == [[2, 0], [0, 0], [1, -1]]
    assert not kept.outputs.requires_grad
    assert loss.item() == pytest.approx((2 * (softplus(1) - 1) + 2 * math.log(2)) / 4)


def test_only_the_first_epoch_begins_with_new_outputs() -> None:
    kept = memory(torch.eye(2), torch.ones(2, 3))
    kept.start_epoch(1, lambda: torch.zeros(2, 3))
    assert torch.equal(kept.outputs, torch.ones(2, 3))
    assert set(kept.state_dict()) == {"outputs"}


def test_the_gradient_of_the_pairs_is_right() -> None:
    torch.manual_seed(0)
    labels = torch.eye(3, dtype=torch.float64)[[0, 1, 2, 0, 1]]
    kept = memory(labels, torch.randn(5, 4, dtype=torch.float64))
    batch = Batch(torch.tensor([1, 3]), labels[[1, 3]])
    outputs = torch.randn(2, 4, dtype=torch.float64, requires_grad=True)
    kept.pairwise_loss(outputs, batch).backward()
    assert outputs.grad is not None
    others = kept.outputs
    for row, image in enumerate((1, 3)):
        # The memory stays as it is: 1/2 sum_j (sigma(t_ij) - s_ij) u_j over the other images.
        wrong = torch.sigmoid(others @ outputs[row].detach() / 2) - (labels @ labels[image])
        wrong[image] = 0
        torch.testing.assert_close(outputs.grad[row], wrong @ others / 2 / 8)


def test_many_images_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairwise, "_MAX_CANDIDATES", 4)
    kept = memory(torch.eye(2)[torch.arange(30) % 2], torch.zeros(30, 2))
    torch.manual_seed(0)
    first, second = kept.candidates(), kept.candidates()
    assert len(set(first.tolist())) == 4
    assert first.tolist() != second.tolist()


def test_images_without_labels_are_similar_to_none() -> None:
    labels = torch.zeros(3, 2)
    loss = memory(labels, torch.zeros(3, 2)).pairwise_loss(torch.ones(3, 2), Batch(torch.arange(3), labels))
    assert loss.item() == pytest.approx(softplus(1))


def test_an_image_alone_has_no_pairs() -> None:
    loss = memory(torch.ones(1, 2), torch.ones(1, 2)).pairwise_loss(
        torch.ones(1, 2), Batch(torch.arange(1), torch.ones(1, 2))
    )
    assert loss.item() == 0


def test_distance_to_codes_worked_by_hand() -> None:
    outputs = torch.tensor([[0.5, -3.0], [0.0, 1.0]])
    assert signs_of(outputs).tolist() == [[1, -1], [-1, 1]]
    assert quantization_loss(outputs, signs_of(outputs)).item() == pytest.approx((0.25 + 4 + 1 + 0) / 4)


def test_labels_in_common_are_a_share_of_those_of_either_worked_by_hand() -> None:
    left, right = torch.tensor([[1.0, 1, 0], [0, 0, 0]]), torch.tensor([[1.0, 0, 0], [1, 1, 0], [1, 0, 1], [0, 0, 0]])
    assert jaccard_similarity(left, right).tolist() == [[0.5, 1, pytest.approx(1 / 3), 0], [0, 0, 0, 0]]


@pytest.mark.parametrize("weight", [0.0, 0.05, 1.0])
def test_a_turn_of_codes_never_raises_its_objective(weight: float) -> None:
    torch.manual_seed(0)
    labels, wanted = (torch.rand(50, 4) < 0.4).float(), torch.randn(50, 6)

    def objective(signs: torch.Tensor) -> float:
        gram = signs.T @ signs + 0.5 * torch.eye(6)
        best = torch.linalg.solve(gram, signs.T @ labels)  # the map that fits these codes best
        error = (labels - signs @ best).square().sum() + 0.5 * best.square().sum()
        return float(error + weight * (signs - wanted).square().sum())

    signs = signs_of(torch.randn(50, 6))
    values = [objective(signs)]
    for _ in range(3):
        signs = discrete_code_step(signs, labels, wanted, weight, 0.5)
        values.append(objective(signs))
    assert set(signs.flatten().tolist()) == {-1, 1}
    assert all(after <= before + 1e-4 for before, after in itertools.pairwise(values))
    assert values[-1] < values[0] - 0.1


def test_codes_that_hang_on_what_is_wanted_alone_are_its_signs() -> None:
    wanted = torch.tensor([[0.5, -2.0], [-0.1, 3.0]])
    assert torch.equal(discrete_code_step(torch.ones(2, 2), torch.zeros(2, 3), wanted, 1.0, 0.1), wanted.sign())
