"""Layers of a CNN as plain records: `torch_layers` makes a torch module of them, `onnx_graph` an ONNX graph.

A layer with weights is named as its arrays are in weight files: `features.0` has `features.0.weight`.
"""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Conv:
    """`n_out` square filters over `n_in` channels."""

    name: str
    n_in: int
    n_out: int
    kernel: int
    stride: int = 1
    padding: int = 0
    bias: bool = True
    norm: str = ""  # the batch norm that an ONNX graph folds into the filters; its gains must be above 0
    frozen: bool = False  # filters are set once, before learning; the bias starts at zero
    identity: bool = False  # the first `n_in` filters start as the identity


@dataclass(frozen=True)
class BatchNorm:
    """Standardises each of `n_out` channels."""

    name: str
    n_out: int
    momentum: float = 0.1
    learned_gain: bool = True
    epsilon: float = 1e-5


@dataclass(frozen=True)
class Linear:
    """A fully connected layer over flat rows."""

    name: str
    n_in: int
    n_out: int


@dataclass(frozen=True)
class ReLU:
    """max(x, 0)."""


@dataclass(frozen=True)
class MaxPool:
    """The largest value of each window; `ceil` lets the last window reach over the edge."""

    kernel: int
    stride: int
    padding: int = 0
    ceil: bool = False


@dataclass(frozen=True)
class AvgPool:
    """The mean of each window, padding counted as zeros."""

    kernel: int
    stride: int
    padding: int = 0


@dataclass(frozen=True)
class GlobalMaxPool:
    """The largest value of each channel: (n, channels)."""


@dataclass(frozen=True)
class GlobalAvgPool:
    """The mean of each channel: (n, channels)."""


@dataclass(frozen=True)
class ResponseNorm:
    """Local response normalisation: x / (k + alpha · sum of x² over `size` neighbouring channels) ^ beta."""

    size: int = 5
    k: float = 2.0
    alpha: float = 1e-4
    beta: float = 0.75


@dataclass(frozen=True)
class Dropout:
    """Sets a share of the values to zero while learning."""

    share: float = 0.5


@dataclass(frozen=True)
class Flatten:
    """(n, channels, height, width) → rows."""


@dataclass(frozen=True)
class Residual:
    """The input plus what `layers` make of it."""

    layers: tuple["Layer", ...]


Layer = (
    Conv | BatchNorm | Linear | ReLU | MaxPool | AvgPool | GlobalMaxPool | GlobalAvgPool | ResponseNorm | Dropout
    | Flatten | Residual
)  # fmt: skip
Layers = tuple[Layer, ...]


def weighted(layers: Layers) -> Iterator[Conv | BatchNorm | Linear]:
    """The layers that have weights, those inside residual ones included."""
    for layer in layers:
        if isinstance(layer, Residual):
            yield from weighted(layer.layers)
        elif isinstance(layer, Conv | BatchNorm | Linear):
            yield layer
