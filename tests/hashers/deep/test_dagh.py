import itertools
import math

import numpy as np
import pytest
import torch

from drlh.core.errors import UserError
from drlh.hashers.deep.dagh import DAGH, AnchorGraph, anchor_graph, graph_loss, smooth
from drlh.hashers.deep.objective import Batch, Task


def softplus(value: float) -> float:
    return math.log(1 + math.exp(value))


def objective(
    labels: torch.Tensor, n_bits: int, n_anchors: int = 300, mu: float = 0.1, gamma: float = 0.1
) -> AnchorGraph:
    return AnchorGraph(Task(labels, n_bits, True, np.random.default_rng(0)), n_anchors, mu, 0.1, gamma)


def neighbours(labels: torch.Tensor, anchors: torch.Tensor) -> torch.Tensor:
    """A (N, N), written out."""
    ties, sums = anchor_graph(labels, labels[anchors])
    inverse = torch.where(sums > 0, 1 / sums.clamp(min=1e-9), 0.0)
    return ties @ torch.diag(inverse) @ ties.T


def test_ties_to_anchors_worked_by_hand() -> None:
    labels = torch.tensor([[1.0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 0]])
    anchors = torch.tensor([[1.0, 0, 0], [1, 1, 0]])
    ties, sums = anchor_graph(labels, anchors)
    # Labels in common: 1/2 and 2/2; 1/1 and 1/2; none; none.
    torch.testing.assert_close(ties, torch.tensor([[1 / 3, 2 / 3], [2 / 3, 1 / 3], [0, 0], [0, 0]]))
    torch.testing.assert_close(sums, torch.tensor([1.0, 1.0]))


def test_with_one_label_each_the_neighbours_are_the_class() -> None:
    labels = torch.eye(3)[[0, 0, 1, 1, 1, 2]]
    values = torch.tensor([[1.0], [3.0], [1.0], [1.0], [4.0], [7.0]])
    smoothed = smooth(anchor_graph(labels, labels[[0, 2, 3]]), values)
    assert smoothed.flatten().tolist() == pytest.approx([2, 2, 2, 2, 2, 0])  # no anchor is of the last class


def test_distances_in_the_graph_are_those_summed_one_by_one() -> None:
    torch.manual_seed(0)
    labels = (torch.rand(12, 4) < 0.4).float()
    labels[3] = 0
    anchors, outputs, signs = torch.tensor([1, 3, 5, 8]), torch.randn(12, 5), torch.randn(12, 5).sign()
    near = neighbours(labels, anchors)
    each = [[near[i, j] * (outputs[i] - signs[j]).square().sum() for j in range(12)] for i in range(12)]
    graph = anchor_graph(labels, labels[anchors])
    found = graph_loss(outputs, smooth(graph, signs), graph[0].sum(dim=1))
    assert found.item() == pytest.approx(float(torch.tensor(each).sum()) / 12 / 5, rel=1e-5)


def test_loss_of_three_images_worked_by_hand() -> None:
    labels = torch.eye(2)[[0, 0, 1]]
    found = objective(labels, 2, gamma=0.5)
    found.start_epoch(0, 5, lambda: torch.tensor([[1.0, 1.0], [1.0, 1.0], [-1.0, -1.0]]))
    assert found.signs.tolist() == [[1, 1], [1, 1], [-1, -1]]
    # All are anchors: t_01 = 0 for similar images, t_02 = 0 for dissimilar ones; both codes of the class are (1, 1).
    loss = found.loss(torch.tensor([[1.0, -1.0]]), Batch(torch.tensor([0]), labels[:1]))
    assert loss.item() == pytest.approx(math.log(2) + 0.5 * (0 + 4) / 2, rel=1e-5)


def test_pairs_are_with_anchors_alone() -> None:
    labels = torch.eye(2)[torch.arange(40) % 2]
    found = objective(labels, 2, n_anchors=6, gamma=0.0)
    torch.manual_seed(0)
    found.start_epoch(0, 5, lambda: torch.zeros(40, 2))
    assert len(set(found.anchors.tolist())) == 6
    found.memory_bank.outputs[found.anchors] = 1.0
    row = next(row for row in range(40) if row not in found.anchors)
    same = (labels[found.anchors] @ labels[row]).mean().item()
    loss = found.loss(torch.ones(1, 2), Batch(torch.tensor([row]), labels[row : row + 1]))
    assert loss.item() == pytest.approx(softplus(1) - same, rel=1e-5)


def test_anchors_change_from_epoch_to_epoch() -> None:
    found = objective(torch.eye(2)[torch.arange(40) % 2], 2, n_anchors=6)
    torch.manual_seed(0)
    drawn = []
    for epoch in range(3):
        found.start_epoch(epoch, 3, lambda: torch.ones(40, 2))
        drawn.append(tuple(sorted(found.anchors.tolist())))
    assert len(set(drawn)) == 3


@pytest.mark.parametrize("gamma", [0.0, 0.1, 1.0])
def test_a_turn_never_raises_the_objective(gamma: float) -> None:
    torch.manual_seed(0)
    labels, outputs = (torch.rand(60, 4) < 0.4).float(), torch.randn(60, 8)
    found = objective(labels, 8, gamma=gamma)
    near = neighbours(labels, torch.arange(60)).double()

    def value(signs: torch.Tensor) -> float:
        codes, targets = signs.double(), labels.double()
        best = torch.linalg.solve(codes.T @ codes + torch.eye(8).double(), codes.T @ targets)
        error = 0.1 * (targets - codes @ best).square().sum() + 0.1 * best.square().sum()
        return float(error + gamma / 8 * (near * torch.cdist(outputs.double(), codes).square()).sum())

    values = [value(torch.where(outputs > 0, 1.0, -1.0))]
    for epoch in range(3):
        found.start_epoch(epoch, 5, lambda: outputs)
        values.append(value(found.signs))
    assert all(after <= before + 1e-5 for before, after in itertools.pairwise(values))
    assert values[-1] < values[0] - 1e-3


def test_the_gradient_is_right() -> None:
    torch.manual_seed(0)
    wanted, tied = torch.randn(4, 3, dtype=torch.float64), torch.tensor([1.0, 1.0, 0.0, 1.0]).double()
    outputs = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda given: graph_loss(given, wanted, tied), outputs)


def test_images_without_labels_keep_finite_codes_and_losses() -> None:
    labels = torch.zeros(5, 3)
    found = objective(labels, 4)
    found.start_epoch(0, 5, lambda: torch.ones(5, 4))
    assert torch.equal(found.signs, torch.ones(5, 4))
    loss = found.loss(torch.zeros(5, 4), Batch(torch.arange(5), labels))
    assert loss.item() == pytest.approx(math.log(2))


@pytest.mark.parametrize(("name", "value"), [("n_anchors", 0), ("mu", 0), ("nu", 0), ("gamma", -1)])
def test_a_wrong_parameter_is_one_clear_sentence(name: str, value: float) -> None:
    with pytest.raises(UserError, match=f"{name} of DAGH must be"):
        DAGH(8, **{name: value}).fit(np.eye(4), [0, 1, 0, 1])  # type: ignore[arg-type]
