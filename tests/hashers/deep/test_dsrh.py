import math

import numpy as np
import pytest
import torch

from drlh.core.errors import UserError
from drlh.hashers.deep.dsrh import DSRH, SkipHead, WeightedRanking, swap_weights
from drlh.hashers.deep.objective import Batch
from drlh.hashers.deep.triplets import ranked_triplets, relevance_levels

HALF = math.log(3)  # an output whose relaxed sign is 1/2


def test_loss_of_three_images_worked_by_hand() -> None:
    outputs = HALF * torch.tensor([[1.0, 1], [-1, 1], [-1, -1]])
    batch = Batch(torch.arange(3), torch.eye(2)[[0, 0, 1]])
    # Inner products 0 and -1/2 (query 0), 0 and 0 (query 1): gaps in shares of bits (1 - 1.25) / 2 and 0.
    hinges = (0.5 - 0.125) + 0.5
    balance = ((-0.5 / 3) ** 2 + (0.5 / 3) ** 2) / 2
    loss = WeightedRanking(0.5, 0.2).loss(outputs, batch).item()
    assert loss == pytest.approx(hinges / 2 + 0.1 * balance, rel=1e-5)


def test_several_labels_have_levels_whose_swaps_weigh_differently() -> None:
    labels = torch.tensor([[1.0, 1], [1, 1], [1, 0], [0, 0]])
    levels = relevance_levels(labels)
    triplets = ranked_triplets(levels)
    weights = swap_weights(levels, triplets)
    found = {
        (q, p, n): weights[row, n].item()
        for row, (q, p) in enumerate(zip(triplets.queries.tolist(), triplets.positives.tolist()))
        for n in range(4)
    }
    # Query 0: gains 4, 2, 1 of images 1, 2, 3; differences 2, 3, 1 sum to 6. Three images have a triplet.
    assert [found[0, 1, 2], found[0, 1, 3], found[0, 2, 3]] == pytest.approx([2 / 18, 3 / 18, 1 / 18])
    assert found[2, 0, 3] == pytest.approx(1 / 6)
    assert found[2, 0, 1] == 0
    assert weights.sum().item() == pytest.approx(1)


def test_many_shared_labels_stay_finite() -> None:
    labels = torch.zeros(3, 300)
    labels[:2] = 1
    labels[2, 0] = 1
    outputs = torch.randn(3, 4, requires_grad=True)
    loss = WeightedRanking(0.5, 0.1).loss(outputs, Batch(torch.arange(3), labels))
    loss.backward()
    assert outputs.grad is not None
    assert torch.isfinite(outputs.grad).all()
    assert loss.item() > 0


def test_images_without_a_label_leave_the_balance_alone() -> None:
    outputs = HALF * torch.tensor([[1.0, 1], [1, -1]])
    loss = WeightedRanking(0.5, 0.2).loss(outputs, Batch(torch.arange(2), torch.zeros(2, 3)))
    assert loss.item() == pytest.approx(0.1 * 0.25 / 2)


def test_the_loss_has_the_right_gradient() -> None:
    torch.manual_seed(0)
    outputs = torch.randn(6, 4, dtype=torch.float64, requires_grad=True)
    labels = torch.tensor([[1, 1, 0], [1, 0, 0], [0, 1, 1], [1, 1, 1], [0, 0, 1], [0, 0, 0]], dtype=torch.float64)
    objective = WeightedRanking(0.5, 0.3)
    assert torch.autograd.gradcheck(lambda values: objective.loss(values, Batch(torch.arange(6), labels)), outputs)


def test_bits_see_the_features_beside_the_hidden_layer() -> None:
    head = SkipHead(3, 2, hidden_size=4)
    assert head.skip is not None
    head.last.weight.data.zero_()
    head.last.bias.data.zero_()
    features = torch.randn(5, 3)
    torch.testing.assert_close(head(features), features @ head.skip.weight.T)
    assert SkipHead(3, 2, hidden_size=0)(features).shape == (5, 2)


@pytest.mark.parametrize(("name", "value"), [("margin", 0), ("margin", 1.5), ("alpha", -1)])
def test_a_wrong_parameter_is_one_clear_sentence(name: str, value: float) -> None:
    with pytest.raises(UserError, match=f"{name} of DSRH must be"):
        DSRH(8, **{name: value}).fit(np.eye(4), [0, 1, 0, 1])
