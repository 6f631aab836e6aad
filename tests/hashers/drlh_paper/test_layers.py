"""Structured layers against the dense matrices that they stand for."""

import math

import pytest
import torch
from scipy.linalg import hadamard
from torch import nn

from drlh.hashers.drlh_paper.layers import (
    KINDS,
    N_CORES,
    RANK,
    Fastfood,
    TensorTrain,
    balanced_factors,
    walsh_hadamard,
    wide_layer,
)

structured = pytest.mark.parametrize("kind", ["fastfood", "tensor-train"])
sizes = pytest.mark.parametrize(("n_inputs", "n_outputs"), [(12, 16), (16, 5), (7, 40), (1, 3), (33, 1)])


def seeded(kind: str, n_inputs: int, n_outputs: int, seed: int = 0, fan_in: int | None = None) -> nn.Module:
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        return wide_layer(kind, n_inputs, n_outputs, fan_in).double()


def dense(layer: nn.Module, n_inputs: int) -> torch.Tensor:
    """(n_outputs, n_inputs): what the layer makes of the identity, without its bias."""
    return (layer(torch.eye(n_inputs, dtype=torch.float64)) - layer.bias).T.detach()


@pytest.mark.parametrize("n", [1, 2, 4, 32])
def test_the_fast_transform_is_a_product_with_the_hadamard_matrix(n: int) -> None:
    values = torch.randn(5, 3, n, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    matrix = torch.from_numpy(hadamard(n)).double() / math.sqrt(n)
    torch.testing.assert_close(walsh_hadamard(values), values @ matrix)
    torch.testing.assert_close(walsh_hadamard(walsh_hadamard(values)), values)


@structured
@sizes
def test_a_structured_layer_is_a_product_with_its_dense_matrix(kind: str, n_inputs: int, n_outputs: int) -> None:
    layer = seeded(kind, n_inputs, n_outputs)
    values = torch.randn(9, n_inputs, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    torch.testing.assert_close(layer(values), values @ dense(layer, n_inputs).T + layer.bias)
    assert layer(values).shape == (9, n_outputs)


@sizes
def test_fastfood_is_the_product_of_its_factors(n_inputs: int, n_outputs: int) -> None:
    layer = seeded("fastfood", n_inputs, n_outputs)
    assert isinstance(layer, Fastfood)
    n_blocks, size = layer.order.shape
    h = torch.from_numpy(hadamard(size)).double() / math.sqrt(size)
    blocks = []
    for block in range(n_blocks):
        permutation = torch.eye(size, dtype=torch.float64)[layer.order[block]]
        s, g, b = (part[block].detach().diag() for part in (layer.s, layer.g, layer.b))
        blocks.append(s @ h @ g @ permutation @ h @ b)
    torch.testing.assert_close(dense(layer, n_inputs), torch.cat(blocks)[:n_outputs, :n_inputs])


@sizes
def test_an_entry_of_a_tensor_train_is_the_product_of_what_its_digits_pick(n_inputs: int, n_outputs: int) -> None:
    layer = seeded("tensor-train", n_inputs, n_outputs)
    assert isinstance(layer, TensorTrain)
    matrix = dense(layer, n_inputs)
    for j in range(n_outputs):
        for i in range(n_inputs):
            entry, i_rest, j_rest = torch.ones(1, 1, dtype=torch.float64), i, j
            for k, core in enumerate(layer.cores):
                i_digit, i_rest = divmod(i_rest, math.prod(layer.ins[k + 1 :]))
                j_digit, j_rest = divmod(j_rest, math.prod(layer.outs[k + 1 :]))
                entry = entry @ core[:, i_digit, j_digit].detach()
            assert matrix[j, i].item() == pytest.approx(entry.item(), abs=1e-12)


@structured
def test_every_parameter_gets_the_gradient_of_the_dense_matrix(kind: str) -> None:
    layer = seeded(kind, 6, 20)
    values = torch.randn(4, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64, requires_grad=True)
    parameters = dict(layer.named_parameters())

    def outputs(values: torch.Tensor, *parts: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = torch.func.functional_call(layer, dict(zip(parameters, parts, strict=True)), values)
        return found

    assert torch.autograd.gradcheck(outputs, (values, *parameters.values()))
    layer(values).square().sum().backward()
    assert all(part.grad is not None and part.grad.abs().sum() > 0 for part in parameters.values())


def test_parameters_are_as_many_as_stated() -> None:
    def n_parameters(kind: str, n_inputs: int, n_outputs: int) -> int:
        return sum(part.numel() for part in seeded(kind, n_inputs, n_outputs).parameters())

    assert n_parameters("fastfood", 1280, 512) == 3 * 2048 + 512
    assert n_parameters("fastfood", 100, 512) == 3 * 128 * 4 + 512
    assert balanced_factors(1280) == (8, 10, 16)
    cores = 8 * 8 * RANK + RANK * 10 * 8 * RANK + RANK * 16 * 8
    assert n_parameters("tensor-train", 1280, 512) == cores + 512
    assert n_parameters("dense", 1280, 512) == 1280 * 512 + 512


@pytest.mark.parametrize("size", [1, 2, 12, 13, 97, 512, 1000, 1023, 4096])
def test_factors_are_balanced_and_hold_the_size_with_little_padding(size: int) -> None:
    factors = balanced_factors(size)
    assert len(factors) == N_CORES
    assert size <= math.prod(factors) <= max(1.25 * size, size + 3)
    assert max(factors) <= 2 * size ** (1 / N_CORES)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fan_in", [None, 200])
def test_outputs_begin_with_the_variance_of_torchs_linear_layer(kind: str, fan_in: int | None) -> None:
    values = torch.randn(1, 48, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    with torch.no_grad():
        outputs = torch.cat([seeded(kind, 48, 30, seed, fan_in)(values) for seed in range(200)])
    bound = 1 / math.sqrt(fan_in or 48)
    wanted = (float(values.square().sum()) + 1) * bound**2 / 3
    assert float(outputs.square().mean()) == pytest.approx(wanted, rel=0.15)


def test_the_dense_layer_is_torchs_own() -> None:
    torch.manual_seed(3)
    wanted = nn.Linear(5, 4)
    torch.manual_seed(3)
    found = wide_layer("dense", 5, 4)
    assert isinstance(found, nn.Linear)
    assert torch.equal(found.weight, wanted.weight)
    assert torch.equal(found.bias, wanted.bias)
