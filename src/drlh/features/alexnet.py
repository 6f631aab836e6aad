"""AlexNet as torchvision publishes it (Krizhevsky 2014): 64-192-384-256-256 filters, no response normalisation.

The original two-column net with response normalisation comes with MatConvNet's files, see `matconvnet`.
"""

from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from drlh.features.onnx_graph import Graph
from drlh.features.weights import State

SHORTER, SIZE = 256, 224  # the shorter side of the picture, and the square cut from its middle
MEAN = np.array([0.485, 0.456, 0.406]) * 255  # of ImageNet
DEVIATION = np.array([0.229, 0.224, 0.225]) * 255

# Place among torchvision's layers, stride, padding, pooled after.
_CONVS = ((0, 4, 2, True), (3, 1, 2, True), (6, 1, 1, False), (8, 1, 1, False), (10, 1, 1, True))
_LINEAR: dict[str, tuple[int, ...]] = {"pool5": (), "fc6": (1,), "fc7": (1, 4)}  # places among the classifier's layers


def build(state: State, layer: str) -> onnx.ModelProto:
    """`pool5` (9216), or `fc6`, `fc7` (4096) after their ReLU."""
    graph = Graph(SIZE, SIZE, resize="bilinear", shorter=SHORTER, batch=32)
    graph.subtract(MEAN)
    graph.divide(DEVIATION)
    for number, (place, stride, pad, pooled) in enumerate(_CONVS):
        graph.conv(*_conv_weights(state, number, place), stride=stride, pads=(pad, pad, pad, pad))
        graph.relu()
        if pooled:
            graph.max_pool(3, 2)
    connect(graph, state, layer)
    return graph.model()


def connect(graph: Graph, state: State, layer: str) -> None:
    """The fully connected layers up to `layer`, each with its ReLU."""
    for place in _LINEAR[layer]:
        graph.linear(state[f"classifier.{place}.weight"], state[f"classifier.{place}.bias"])
        graph.relu()


def _conv_weights(state: State, number: int, place: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """By torchvision's key, or by the short one (`conv0_w`, `conv0_b`) of files that hold the filters alone."""
    if f"conv{number}_w" in state:
        return state[f"conv{number}_w"], state[f"conv{number}_b"]
    return state[f"features.{place}.weight"], state[f"features.{place}.bias"]
