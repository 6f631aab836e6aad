"""`cnn-small` as `drlh pretrain` leaves it: the 256 features before the scores (see `drlh.cnn.small`)."""

import onnx

from drlh.features.onnx_graph import Graph
from drlh.features.weights import State, folded

SIZE = 32
_EPSILON = 1e-5  # of the batch normalisation, as in training


def build(state: State) -> onnx.ModelProto:
    """The largest value of every channel of the last block, (n, 256) for the usual widths."""
    graph = Graph(SIZE, SIZE, batch=32)
    graph.subtract(state["pictures.mean"].ravel() * 255)
    graph.divide(state["pictures.deviation"].ravel() * 255)
    graph.conv(state["stem.weight"], state["stem.bias"])
    graph.relu()
    for block in range(1 + max(int(key.split(".")[1]) for key in state if key.startswith("blocks."))):
        _block(graph, state, f"blocks.{block}.")
    graph.max_pool(graph.height, 1)
    return graph.model()


def _block(graph: Graph, state: State, prefix: str) -> None:
    graph.conv(*folded(state, f"{prefix}first", f"{prefix}first_norm", _EPSILON), pads=(1, 1, 1, 1))
    graph.max_pool(2, 2)  # gains of the norm are above 0, so it may be folded into the filters before
    graph.relu()
    entry = graph.top
    graph.conv(*folded(state, f"{prefix}second", f"{prefix}second_norm", _EPSILON), pads=(1, 1, 1, 1))
    graph.relu()
    graph.add(entry)
