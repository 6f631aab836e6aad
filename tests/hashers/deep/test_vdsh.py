import math

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch import nn

from drlh.core.errors import UserError
from drlh.evaluate.metrics import mean_average_precision
from drlh.hashers.deep.dpsh import DPSH
from drlh.hashers.deep.objective import Batch, Task
from drlh.hashers.deep.vdsh import VDSH, LabelRegression, deep_network


def objective() -> LabelRegression:
    found = LabelRegression(Task(torch.eye(2)[[0, 1, 0]], 2, False, np.random.default_rng(0)))
    found.regression.weight.data = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    found.regression.bias.data = torch.tensor([0.5, 0.0])
    return found


def test_loss_of_three_images_worked_by_hand() -> None:
    half = math.atanh(0.5)  # a unit of 1/2
    outputs = torch.tensor([[half, 0.0], [-half, half], [0.0, -half]])
    labels = torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])  # one label, several, none
    # Fitted (1, 0), (0, 1), (1/2, -1).
    wanted = (0 + 1 + (0.25 + 1)) / 3
    assert objective().loss(outputs, Batch(torch.arange(3), labels)).item() == pytest.approx(wanted, rel=1e-6)


def test_the_loss_has_the_right_gradient() -> None:
    outputs = torch.randn(4, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    batch = Batch(torch.arange(4), torch.eye(2, dtype=torch.float64)[[0, 1, 1, 0]])
    loss = objective().double()
    assert torch.autograd.gradcheck(lambda values: loss.loss(values, batch), outputs)


def test_what_goes_in_comes_out_of_many_layers_at_the_same_size() -> None:
    torch.manual_seed(0)
    network = deep_network(50, 3, [200] * 20, 0.0)
    assert isinstance(network, nn.Sequential)
    seen = torch.randn(100, 50)
    hidden = network[:-1](seen)
    assert 0.2 < float(hidden.detach().square().mean()) < 5
    assert network(seen).shape == (100, 3)


def test_it_is_as_deep_and_as_wide_as_asked() -> None:
    rng = np.random.default_rng(0)
    hasher = VDSH(4, n_layers=3, hidden_size=40, n_epochs=1, random_state=0).fit(rng.normal(size=(20, 5)), [0, 1] * 10)
    shapes = [weights.shape for name, weights in hasher.weights_.items() if name.endswith("weight")]
    assert shapes == [(40, 5), (40, 40), (40, 40), (4, 40)]


def test_layers_are_a_quarter_as_wide_as_in_other_methods_unless_given() -> None:
    assert VDSH()._sizes(5000, 1280)["hidden_size"] * 4 == DPSH()._sizes(5000, 1280)["hidden_size"]
    assert VDSH(hidden_size=70)._sizes(5000, 1280)["hidden_size"] == 70


@pytest.mark.parametrize("name", ["n_layers", "hidden_size"])
def test_a_network_without_layers_is_one_clear_sentence(name: str) -> None:
    with pytest.raises(UserError, match=f"{name} of VDSH must be a whole number of at least 1"):
        VDSH(8, **{name: 0}).fit(np.eye(4), [0, 1, 0, 1])


def test_few_features_call_for_no_wider_layers() -> None:
    assert VDSH()._sizes(1297, 64)["hidden_size"] == VDSH()._sizes(1297, 1280)["hidden_size"] == 256


def test_digits_are_learned_with_the_sizes_that_follow_from_the_data() -> None:
    X, y = load_digits(return_X_y=True)
    query, database = slice(0, 200), slice(200, 800)
    hasher = VDSH(16, n_epochs=20, random_state=0).fit(X[database], y[database])
    found = mean_average_precision(hasher.transform(X[query]), y[query], hasher.transform(X[database]), y[database])
    assert found > 0.7
