import numpy as np
import pytest
import torch

from drlh.core.errors import UserError
from drlh.evaluate.metrics import mean_average_precision
from drlh.hashers.deep.objective import Batch
from drlh.hashers.deep.talr_ap import TALRAP, RankingPrecision, soft_average_precision, soft_bins

SURE = 50.0  # an output whose relaxed sign is a sign


def loss_of(signs: list[list[float]], labels: torch.Tensor, n_bins: int) -> float:
    objective = RankingPrecision(1.0, n_bins)
    return objective.loss(SURE * torch.tensor(signs), Batch(torch.arange(len(signs)), labels)).item()


def test_loss_of_three_images_worked_by_hand() -> None:
    # Images 0 and 1 are similar. Query 0 has distances 1, 2: precision (0 + 1 + 1)/(0 + 1 + 1) = 1.
    # Query 1 ties both at distance 1: (0 + 1 + 1)/(0 + 2 + 1) = 2/3. Query 2 has nothing to find.
    loss = loss_of([[1, 1], [1, -1], [-1, -1]], torch.eye(2)[[0, 0, 1]], 2)
    assert loss == pytest.approx(1 - (1 + 2 / 3) / 2, rel=1e-5)


def test_several_labels_worked_by_hand() -> None:
    labels = torch.tensor([[1.0, 1], [1, 0], [0, 1], [0, 0]])
    # Query 0 finds both similar images after the one that has no label: 2 (0 + 2 + 1)/(1 + 3 + 1) / 2 = 3/5.
    # Queries 1 and 2 lie at one place; both find image 0 after the other, level with 3: (0 + 1 + 1)/(1 + 3 + 1).
    loss = loss_of([[1, 1], [-1, 1], [-1, 1], [1, 1]], labels, 2)
    assert loss == pytest.approx(1 - (3 / 5 + 2 / 5 + 2 / 5) / 3, rel=1e-5)


def test_without_ties_it_is_the_average_precision_of_the_codes() -> None:
    codes = np.tri(7, 6, -1)  # image k has k ones, so distances from the first image are 0, 1, ..., 6
    labels = np.array([0, 1, 0, 1, 1, 0, 0])
    signs = torch.from_numpy(2 * codes - 1)
    wanted = mean_average_precision(codes[:1], labels[:1], codes[1:], labels[1:])
    shares = soft_bins((6 - signs[:1] @ signs[1:].T) / 2, 6, 6)
    assert shares.sum().item() == 6
    relevant = torch.from_numpy((labels[1:] == 0).astype(float))[None]
    found = soft_average_precision(shares, relevant, torch.ones(1, 6, dtype=torch.float64)).item()
    assert found == pytest.approx(wanted)


def test_a_distance_is_shared_by_its_two_bins() -> None:
    shares = soft_bins(torch.tensor([[0.0, 1.0, 2.5, 4.0]]), n_bits=4, n_bins=2)
    assert shares[0].tolist() == [[1, 0, 0], [0.5, 0.5, 0], [0, 0.75, 0.25], [0, 0, 1]]


def test_the_loss_has_the_right_gradient() -> None:
    torch.manual_seed(0)
    outputs = torch.randn(6, 4, dtype=torch.float64, requires_grad=True)
    batch = Batch(torch.arange(6), torch.eye(3, dtype=torch.float64)[[0, 1, 2, 0, 1, 2]])
    objective = RankingPrecision(1.0, 4)
    assert torch.autograd.gradcheck(lambda values: objective.loss(values, batch), outputs)


def test_images_without_a_label_leave_the_loss_finite() -> None:
    outputs = torch.randn(4, 3, requires_grad=True)
    loss = RankingPrecision(1.0, 3).loss(outputs, Batch(torch.arange(4), torch.zeros(4, 2)))
    loss.backward()
    assert loss.item() == 1
    assert outputs.grad is not None
    assert torch.isfinite(outputs.grad).all()


@pytest.mark.parametrize(("name", "value"), [("gamma", 0), ("n_bins", 0), ("n_bins", 2.5)])
def test_a_wrong_parameter_is_one_clear_sentence(name: str, value: float) -> None:
    with pytest.raises(UserError, match=f"{name} of TALRAP must be"):
        TALRAP(8, **{name: value}).fit(np.eye(4), [0, 1, 0, 1])
