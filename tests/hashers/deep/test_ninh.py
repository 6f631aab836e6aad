import numpy as np
import pytest
import torch

from drlh.core.errors import UserError
from drlh.hashers.deep.ninh import NINH, SlicedHead, ThresholdedTriplets, piecewise_threshold
from drlh.hashers.deep.objective import Batch


def test_loss_of_three_images_worked_by_hand() -> None:
    outputs = torch.tensor([[0.99, 0.5], [0.3, 0.6], [0.2, 0.01]])
    batch = Batch(torch.arange(3), torch.eye(2)[[0, 0, 1]])
    # In the band from 0.05 to 0.95 values stay: (1, 0.5), (0.3, 0.6), (0.2, 0).
    near, far_0, far_1 = 0.49 + 0.01, 0.64 + 0.25, 0.01 + 0.36
    wanted = ((0.5 + (near - far_0) / 2) + (0.5 + (near - far_1) / 2)) / 2
    assert ThresholdedTriplets(0.5, 0.45).loss(outputs, batch).item() == pytest.approx(wanted, rel=1e-5)


def test_several_labels_are_similar_when_they_share_one() -> None:
    labels = torch.tensor([[1.0, 1], [0, 1], [0, 0]])
    outputs = torch.tensor([[1.0, 1], [1, 0], [0, 0]])
    # Query 0 is nearer to image 1 by half of the bits, query 1 is as near to image 2 as to image 0.
    loss = ThresholdedTriplets(0.5, 0.45).loss(outputs, Batch(torch.arange(3), labels))
    assert loss.item() == pytest.approx((0 + 0.5) / 2)


def test_values_outside_the_band_are_bits_without_a_gradient() -> None:
    values = torch.tensor([0.01, 0.4, 0.6, 0.99], requires_grad=True)
    pressed = piecewise_threshold(values, 0.45)
    assert pressed.tolist() == pytest.approx([0, 0.4, 0.6, 1])
    pressed.sum().backward()
    assert values.grad is not None
    assert values.grad.tolist() == [0, 1, 1, 0]


def test_the_loss_has_the_right_gradient() -> None:
    torch.manual_seed(0)
    outputs = torch.rand(6, 4, dtype=torch.float64).clamp(0.1, 0.9).requires_grad_()
    labels = torch.eye(3, dtype=torch.float64)[[0, 1, 2, 0, 1, 2]]
    objective = ThresholdedTriplets(0.5, 0.45)
    assert torch.autograd.gradcheck(lambda values: objective.loss(values, Batch(torch.arange(6), labels)), outputs)


def test_a_bit_hears_of_its_own_slice_alone() -> None:
    head = SlicedHead(3, 2, 4)
    features = torch.randn(5, 3)
    before = head(features)
    head.first.weight.data[4:] += 1  # the slice of the second bit
    after = head(features)
    assert torch.equal(before[:, 0], after[:, 0])
    assert not torch.equal(before[:, 1], after[:, 1])


def test_outputs_are_the_sigmoid_of_the_weighted_slices() -> None:
    head = SlicedHead(2, 2, 3)
    features = torch.randn(4, 2)
    hidden = (features @ head.first.weight.T + head.first.bias).relu()
    second = hidden[:, 3:] @ head.weight[1] + head.bias[1]
    torch.testing.assert_close(head(features)[:, 1], second.sigmoid())


def test_the_threshold_of_a_code_is_one_half() -> None:
    assert NINH(3)._codes(torch.tensor([[0.49, 0.51, 0.5]])).tolist() == [[0, 1, 0]]


@pytest.mark.parametrize(("name", "value"), [("slice_size", 0), ("margin", 0), ("epsilon", 0), ("epsilon", 0.6)])
def test_a_wrong_parameter_is_one_clear_sentence(name: str, value: float) -> None:
    with pytest.raises(UserError, match=f"{name} of NINH must be"):
        NINH(8, **{name: value}).fit(np.eye(4), [0, 1, 0, 1])
