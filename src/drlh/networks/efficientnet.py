"""EfficientNet-Lite (Tan & Le 2019, without squeeze-and-excite and with ReLU6) from its published weights.

Widths, depths and kernels are read off the weights; only the strides of the seven stages are written here.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.networks.onnx_graph import Graph
from drlh.networks.weights import StateDict, folded

SIZES = {"lite0": 224, "lite1": 240, "lite2": 260}
_STRIDES = (1, 2, 2, 2, 1, 2, 1)
_EPSILON = 1e-3  # of the batch normalisation, as in training


def onnx_model(state: StateDict, size: int) -> Any:
    """The pooled last layer of the network on `size` × `size` pictures, (n, 1280) for the published weights."""
    graph = Graph(size, size)
    graph.subtract(np.full(3, 127.0))
    graph.divide(np.full(3, 128.0))
    graph.same_conv(*_folded(state, "_conv_stem", "_bn0"), stride=2)
    graph.relu6()
    stage = -1
    for block in range(_n_blocks(state)):
        # A stage opens where the width changes; within a stage the blocks are residual.
        opens = len(state[f"_blocks.{block}._project_conv.weight"]) != graph.channels
        stage += opens
        _block(graph, state, f"_blocks.{block}.", _STRIDES[stage] if opens else 1, residual=not opens)
    graph.conv(*_folded(state, "_conv_head", "_bn1"))
    graph.relu6()
    graph.average()
    return graph.model()


def _block(graph: Graph, state: StateDict, prefix: str, stride: int, *, residual: bool) -> None:
    """Widen by 1×1, filter each channel, narrow by 1×1."""
    entry = graph.top
    if f"{prefix}_expand_conv.weight" in state:
        graph.conv(*_folded(state, f"{prefix}_expand_conv", f"{prefix}_bn0"))
        graph.relu6()
    each = graph.channels
    graph.same_conv(*_folded(state, f"{prefix}_depthwise_conv", f"{prefix}_bn1"), stride=stride, groups=each)
    graph.relu6()
    graph.conv(*_folded(state, f"{prefix}_project_conv", f"{prefix}_bn2"))
    if residual:
        graph.add(entry)


def _n_blocks(state: StateDict) -> int:
    return 1 + max(int(key.split(".")[1]) for key in state if key.startswith("_blocks."))


def _folded(state: StateDict, conv: str, norm: str) -> tuple[NDArray[Any], NDArray[Any]]:
    return folded(state, conv, norm, _EPSILON)
