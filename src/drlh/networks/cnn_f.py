"""CNN-F, the fast net of Chatfield and others (Return of the Devil in the Details, 2014), up to fc7.

The published weights come as MatConvNet's file, see `matconvnet`; those learned here as a table of named weights.
"""

from typing import Any

from drlh.networks import alexnet
from drlh.networks.alexnet import FC6, FC7
from drlh.networks.alexnet import RECIPE as RECIPE
from drlh.networks.alexnet import SIZE as SIZE
from drlh.networks.layers import Conv, Layers, MaxPool, ReLU, ResponseNorm
from drlh.networks.weights import StateDict

MEAN = (0.4850, 0.4578, 0.4076)  # of the pictures it was made for; its own file holds a whole mean picture
DEVIATION = (1 / 255, 1 / 255, 1 / 255)  # it takes pixels from 0 to 255

FILTERS: Layers = (
    Conv("features.0", 3, 64, 11, stride=4), ReLU(), ResponseNorm(), MaxPool(3, 2, ceil=True),
    Conv("features.4", 64, 256, 5, padding=2), ReLU(), ResponseNorm(), MaxPool(3, 2, ceil=True),
    Conv("features.8", 256, 256, 3, padding=1), ReLU(),
    Conv("features.10", 256, 256, 3, padding=1), ReLU(),
    Conv("features.12", 256, 256, 3, padding=1), ReLU(), MaxPool(3, 2, ceil=True),
)  # fmt: skip
LAYERS: Layers = (*FILTERS, *FC6, *FC7)
OUTPUTS = {"fc7": LAYERS, "fc6": (*FILTERS, *FC6), "pool5": FILTERS}
# First weights are drawn as if AlexNet's filters were made first and then replaced: results by seed depend on it.
DRAWN: Layers = (*alexnet.LAYERS, *FILTERS)


def onnx_model(state: StateDict, layer: str) -> Any:
    """The features of `layer`, one of OUTPUTS, as an ONNX model."""
    from drlh.networks.onnx_graph import Graph

    graph = Graph(SIZE, SIZE, batch=32)
    graph.subtract(state["pictures.mean"].ravel() * 255)
    graph.add_layers(OUTPUTS[layer], state)
    return graph.model()
