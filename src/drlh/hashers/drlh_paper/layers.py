"""What may stand in place of a wide fully connected layer: structured matrices of far fewer parameters.

Fastfood: Z. Yang et al., Deep Fried Convnets, ICCV 2015. Tensor-train: A. Novikov et al., Tensorizing Neural Networks,
NIPS 2015. Both begin with weights of the variance of torch's own linear layer, 1 / (3 fan_in).
"""

import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn

KINDS = ("dense", "fastfood", "tensor-train")
N_CORES = 3
RANK = 8  # between two cores of a tensor train


def wide_layer(kind: str, n_inputs: int, n_outputs: int, fan_in: int | None = None) -> nn.Module:
    """A layer from `n_inputs` to `n_outputs`, with a bias.

    `fan_in` is given where it is a part of a layer of that many inputs: its first weights are as small as the whole's.
    """
    if kind != "dense":
        return (Fastfood if kind == "fastfood" else TensorTrain)(n_inputs, n_outputs, fan_in or n_inputs)
    layer = nn.Linear(n_inputs, n_outputs)
    if fan_in is not None:
        for part in (layer.weight, layer.bias):
            nn.init.uniform_(part, -1 / math.sqrt(fan_in), 1 / math.sqrt(fan_in))
    return layer


def walsh_hadamard(values: Tensor) -> Tensor:
    """(..., n) times the Hadamard matrix of n, a power of two, over sqrt(n): it keeps lengths and is its own inverse.

    Each round adds and subtracts neighbours and puts the sums before the differences.
    """
    n = values.shape[-1]
    for _ in range(n.bit_length() - 1):
        left, right = values.reshape(*values.shape[:-1], n // 2, 2).unbind(dim=-1)
        values = torch.cat([left + right, left - right], dim=-1)
    return values / math.sqrt(n)


class Fastfood(nn.Module):
    """S H G P H B x with learned diagonals S, G, B, the Hadamard matrix H and a random permutation P.

    Inputs are padded with zeros to a power of two, D; as many blocks as the outputs need stand one on another.
    It has 3 D n_blocks + n_outputs parameters.
    """

    order: Tensor

    def __init__(self, n_inputs: int, n_outputs: int, fan_in: int) -> None:
        super().__init__()
        self.n_outputs, size = n_outputs, 1 << (n_inputs - 1).bit_length()
        shape = -(-n_outputs // size), size
        self.b = nn.Parameter(2.0 * torch.randint(0, 2, shape) - 1)
        self.g = nn.Parameter(torch.randn(shape))
        self.s = nn.Parameter(torch.full(shape, math.sqrt(size / (3 * fan_in))))
        self.bias = nn.Parameter(torch.empty(n_outputs).uniform_(-1 / math.sqrt(fan_in), 1 / math.sqrt(fan_in)))
        self.register_buffer("order", torch.stack([torch.randperm(size) for _ in range(shape[0])]))

    def forward(self, values: Tensor) -> Tensor:
        n_blocks, size = self.order.shape
        padded = nn.functional.pad(values, (0, size - values.shape[-1]))[:, None]
        mixed = walsh_hadamard(padded * self.b).gather(2, self.order.expand(len(values), n_blocks, size))
        blocks = self.s * walsh_hadamard(self.g * mixed)
        return blocks.flatten(1)[:, : self.n_outputs] + self.bias


class TensorTrain(nn.Module):
    """A matrix as a train of cores: entry (i, j) is the product of the small matrices that the digits of i and j pick.

    Inputs and outputs are padded to sizes that are products of `N_CORES` factors m_k and n_k. With the ranks r_k, 1 at
    both ends and `RANK` between, it has sum r_k-1 m_k n_k r_k + n_outputs parameters.
    """

    def __init__(self, n_inputs: int, n_outputs: int, fan_in: int) -> None:
        super().__init__()
        self.n_outputs = n_outputs
        self.ins, self.outs = balanced_factors(n_inputs), balanced_factors(n_outputs)
        ranks = [1, *[RANK] * (N_CORES - 1), 1]
        # An entry is a sum over RANK^(N_CORES - 1) paths of products of N_CORES independent numbers.
        spread = (1 / (3 * fan_in * RANK ** (N_CORES - 1))) ** (1 / (2 * N_CORES))
        shapes = zip(ranks[:-1], self.ins, self.outs, ranks[1:], strict=True)
        self.cores = nn.ParameterList([nn.Parameter(spread * torch.randn(shape)) for shape in shapes])
        self.bias = nn.Parameter(torch.empty(n_outputs).uniform_(-1 / math.sqrt(fan_in), 1 / math.sqrt(fan_in)))

    def forward(self, values: Tensor) -> Tensor:
        # Axes throughout: image, output digits so far, rank, input digits to come.
        part = nn.functional.pad(values, (0, math.prod(self.ins) - values.shape[-1]))[:, None, None]
        for core, size in zip(self.cores, self.ins, strict=True):
            digits = part.reshape(*part.shape[:3], size, part.shape[3] // size)
            part = torch.einsum("xorit,rijs->xojst", digits, core).flatten(1, 2)
        return part.flatten(1)[:, : self.n_outputs] + self.bias


def balanced_factors(size: int) -> tuple[int, ...]:
    """`N_CORES` numbers, none above twice `size`^(1 / N_CORES), of the smallest product that is at least `size`."""
    most = 2 * size ** (1 / N_CORES)
    while True:
        found = min(_factorisations(size, N_CORES), key=sum)
        if max(found) <= most:
            return found
        size += 1


def _factorisations(size: int, n: int, least: int = 1) -> Iterator[tuple[int, ...]]:
    """All ways to write `size` as a product of `n` numbers of at least `least`, in rising order."""
    if n == 1:
        yield (size,)
        return
    for factor in range(least, size + 1):
        if factor**n > size:
            return
        if size % factor == 0:
            yield from ((factor, *rest) for rest in _factorisations(size // factor, n - 1, factor))
