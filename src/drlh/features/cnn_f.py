"""CNN-F after it has learned here (`drlh pretrain --backbone cnn-f`): a table of named weights, see `drlh.cnn.cnn_f`.

The published network comes as MatConvNet's file, see `matconvnet`.
"""

import onnx

from drlh.features.alexnet import connect
from drlh.features.onnx_graph import Graph
from drlh.features.weights import State

SIZE = 224
_CEIL = (0, 0, 1, 1)  # pooling rounds up
# Place among the layers, stride, padding, response normalised after, pooled after.
_CONVS = ((0, 4, 0, True, True), (4, 1, 2, True, True), (8, 1, 1, False, False), (10, 1, 1, False, False),
          (12, 1, 1, False, True))  # fmt: skip


def build(state: State, layer: str) -> onnx.ModelProto:
    """`pool5` (9216), or `fc6`, `fc7` (4096) after their ReLU."""
    graph = Graph(SIZE, SIZE, batch=32)
    graph.subtract(state["pictures.mean"].ravel() * 255)
    for place, stride, pad, normalised, pooled in _CONVS:
        weight, bias = state[f"features.{place}.weight"], state[f"features.{place}.bias"]
        graph.conv(weight, bias, stride=stride, pads=(pad, pad, pad, pad))
        graph.relu()
        if normalised:
            graph.normalise_response(5, 2.0, 1e-4, 0.75)
        if pooled:
            graph.max_pool(3, 2, _CEIL if graph.height % 2 == 0 else (0, 0, 0, 0))
    connect(graph, state, layer)
    return graph.model()
