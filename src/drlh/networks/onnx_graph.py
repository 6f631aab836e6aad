"""A convolutional network written layer by layer as an ONNX graph: pictures in, feature rows out."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from drlh.networks.layers import (
    BatchNorm,
    Conv,
    Dropout,
    Flatten,
    GlobalMaxPool,
    Layers,
    Linear,
    MaxPool,
    ReLU,
    Residual,
    ResponseNorm,
    weighted,
)  # fmt: skip
from drlh.networks.weights import StateDict, folded

Weights = NDArray[Any]
Pads = tuple[int, int, int, int]  # top, left, bottom, right


@dataclass
class Graph:
    """Grows from its input (n, height, width, 3) uint8; every layer reads `top` and becomes the new `top`.

    The picture enters as bytes and is turned to channels-first floats inside: a quarter of the memory to move.
    """

    height: int
    width: int
    channels: int = 3
    resize: str = "bicubic"  # how pictures are brought to the input size: bicubic or bilinear
    shorter: int = 0  # where set: shorter side of the picture before the middle is cut out
    batch: int = 4  # pictures that are best computed together
    top: str = "pixels"
    _nodes: list[Any] = field(default_factory=list)
    _weights: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._input = helper.make_tensor_value_info("pictures", TensorProto.UINT8, ["n", self.height, self.width, 3])
        self._nodes.append(helper.make_node("Transpose", ["pictures"], ["planes"], perm=[0, 3, 1, 2]))
        self._nodes.append(helper.make_node("Cast", ["planes"], ["pixels"], to=TensorProto.FLOAT))

    def add_layers(self, layers: Layers, state: StateDict) -> None:
        """Appends layer records with the weights of `state`; what only learning needs is left out."""
        norms = {layer.name: layer for layer in weighted(layers) if isinstance(layer, BatchNorm)}
        for layer in layers:
            match layer:
                case Conv(norm=norm) if norm:
                    self._conv(layer, *folded(state, layer.name, norm, norms[norm].epsilon))
                case Conv(name):
                    self._conv(layer, state[f"{name}.weight"], state[f"{name}.bias"])
                case Linear(name):
                    self.linear(state[f"{name}.weight"], state[f"{name}.bias"])
                case ReLU():
                    self.relu()
                case MaxPool(kernel, stride, 0, ceil):
                    over = -(self.height - kernel) % stride if ceil else 0
                    self.max_pool(kernel, stride, (0, 0, over, over))
                case GlobalMaxPool():
                    self.max_pool(self.height, 1)
                case ResponseNorm(size, k, alpha, beta):
                    self.normalise_response(size, k, alpha, beta)
                case Residual(inner):
                    entry = self.top
                    self.add_layers(inner, state)
                    self.add(entry)
                case BatchNorm() | Dropout() | Flatten():  # folded into filters, for learning only, part of `linear`
                    pass
                case _:
                    raise TypeError(f"{layer} has no ONNX form here")

    def _conv(self, layer: Conv, weight: Weights, bias: Weights) -> None:
        pad = layer.padding
        self.conv(weight, bias, stride=layer.stride, pads=(pad, pad, pad, pad))

    def subtract(self, mean: Weights) -> None:
        """`mean` is (3,) or (3, height, width)."""
        self._node("Sub", [self.top, self._constant(mean if mean.ndim == 3 else mean[:, None, None])])

    def divide(self, deviation: Weights) -> None:
        self._node("Mul", [self.top, self._constant(1.0 / deviation[:, None, None])])

    def conv(
        self, weight: Weights, bias: Weights, *, stride: int = 1, pads: Pads = (0, 0, 0, 0), groups: int = 1
    ) -> None:
        """`weight` is (out, in / groups, height, width)."""
        n_out, n_in, *kernel = weight.shape
        if n_in * groups != self.channels or bias.shape != (n_out,):  # which onnx would only find when it runs
            raise ValueError(f"weights {weight.shape} and {bias.shape} do not fit {self.channels} channels")
        if tuple(kernel) == (self.height, self.width) and not any(pads) and groups == 1:
            # One window over everything is a matrix product, which reads its weights once for a whole batch.
            return self.linear(weight.reshape(n_out, -1), bias)
        inputs = [self.top, self._constant(weight), self._constant(bias)]
        self._node("Conv", inputs, pads=pads, strides=[stride] * 2, group=groups)
        self._slide(kernel[0], kernel[1], stride, pads)
        self.channels = n_out

    def same_conv(self, weight: Weights, bias: Weights, *, stride: int, groups: int = 1) -> None:
        """Output size = input size / stride rounded up, the odd row and column of padding at the end."""
        top, bottom = _same_padding(self.height, weight.shape[2], stride)
        left, right = _same_padding(self.width, weight.shape[3], stride)
        self.conv(weight, bias, stride=stride, pads=(top, left, bottom, right), groups=groups)

    def max_pool(self, kernel: int, stride: int, pads: Pads = (0, 0, 0, 0)) -> None:
        self._node("MaxPool", [self.top], kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=pads)
        self._slide(kernel, kernel, stride, pads)

    def normalise_response(self, size: int, kappa: float, alpha: float, beta: float) -> None:
        """x / (kappa + alpha · sum of x² over `size` neighbouring channels) ^ beta; ONNX divides alpha by size."""
        self._node("LRN", [self.top], size=size, bias=kappa, alpha=alpha * size, beta=beta)

    def relu(self) -> None:
        self._node("Relu", [self.top])

    def relu6(self) -> None:
        self._node("Clip", [self.top, self._constant(np.float32(0)), self._constant(np.float32(6))])

    def add(self, other: str) -> None:
        self._node("Add", [self.top, other])

    def linear(self, weight: Weights, bias: Weights) -> None:
        """`weight` is (out, in) over channels, rows, columns in this order."""
        self.flatten()
        self._node("Gemm", [self.top, self._constant(weight), self._constant(bias)], transB=1)
        self.channels = len(weight)

    def flatten(self) -> None:
        self._node("Flatten", [self.top])
        self.channels, self.height, self.width = self.channels * self.height * self.width, 1, 1

    def average(self) -> None:
        self._node("GlobalAveragePool", [self.top])
        self.height = self.width = 1

    def model(self) -> onnx.ModelProto:
        """The finished network; its output `features` is (n, n_features) float32."""
        self.flatten()
        self._nodes.append(helper.make_node("Identity", [self.top], ["features"]))
        output = helper.make_tensor_value_info("features", TensorProto.FLOAT, ["n", self.channels])
        graph = helper.make_graph(self._nodes, "features", [self._input], [output], self._weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        # The file says itself how pictures come to it.
        facts = {"resize": self.resize, "shorter": str(self.shorter), "batch": str(self.batch)}
        helper.set_model_props(model, facts)
        onnx.checker.check_model(model, full_check=True)
        return model

    def _node(self, kind: str, inputs: list[str], **attributes: Any) -> None:
        self.top = f"{kind}{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, inputs, [self.top], **attributes))

    def _constant(self, value: Weights | np.float32) -> str:
        name = f"weights{len(self._weights)}"
        array = np.ascontiguousarray(value, np.float32).reshape(np.shape(value))
        self._weights.append(numpy_helper.from_array(array, name))
        return name

    def _slide(self, rows: int, columns: int, stride: int, pads: Pads) -> None:
        self.height = (self.height + pads[0] + pads[2] - rows) // stride + 1
        self.width = (self.width + pads[1] + pads[3] - columns) // stride + 1


def _same_padding(size: int, kernel: int, stride: int) -> tuple[int, int]:
    total = max(0, (-(-size // stride) - 1) * stride + kernel - size)
    return total // 2, total - total // 2
