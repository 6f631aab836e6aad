"""AlexNet as torchvision publishes it (Krizhevsky 2014), up to fc7: 64-192-384-256-256 filters, no response norm.

The original two-column net with response normalisation comes with MatConvNet's files, see `matconvnet`.
"""

from typing import Any

import numpy as np

from drlh.networks.layers import Conv, Dropout, Flatten, Layers, Linear, MaxPool, ReLU, weighted
from drlh.networks.weights import StateDict

SIZE = 224
SHORTER = 256  # the shorter side of the picture, from whose middle the square is cut
MEAN = (0.485, 0.456, 0.406)  # of ImageNet
DEVIATION = (0.229, 0.224, 0.225)
RECIPE = {"n_epochs": 20, "batch_size": 128, "learning_rate": 1e-2, "weight_decay": 5e-4, "momentum": 0.9}

FILTERS: Layers = (
    Conv("features.0", 3, 64, 11, stride=4, padding=2), ReLU(), MaxPool(3, 2),
    Conv("features.3", 64, 192, 5, padding=2), ReLU(), MaxPool(3, 2),
    Conv("features.6", 192, 384, 3, padding=1), ReLU(),
    Conv("features.8", 384, 256, 3, padding=1), ReLU(),
    Conv("features.10", 256, 256, 3, padding=1), ReLU(), MaxPool(3, 2),
)  # fmt: skip
FC6: Layers = (Flatten(), Dropout(0.5), Linear("classifier.1", 256 * 6 * 6, 4096), ReLU())
FC7: Layers = (Dropout(0.5), Linear("classifier.4", 4096, 4096), ReLU())
LAYERS: Layers = (*FILTERS, *FC6, *FC7)
OUTPUTS = {"fc7": LAYERS, "fc6": (*FILTERS, *FC6), "pool5": FILTERS}  # 4096, 4096 and 9216 features


def onnx_model(state: StateDict, layer: str) -> Any:
    """The features of `layer`, one of OUTPUTS, as an ONNX model."""
    from drlh.networks.onnx_graph import Graph

    graph = Graph(SIZE, SIZE, resize="bilinear", shorter=SHORTER, batch=32)
    graph.subtract(np.array(MEAN) * 255)
    graph.divide(np.array(DEVIATION) * 255)
    graph.add_layers(OUTPUTS[layer], _long_names(state))
    return graph.model()


def _long_names(state: StateDict) -> StateDict:
    """Files that hold the filters alone may call them `conv0_w`, `conv0_b` instead of by torchvision's names."""
    renamed = dict(state)
    for number, conv in enumerate(weighted(FILTERS)):
        if f"conv{number}_w" in state:
            renamed |= {f"{conv.name}.weight": state[f"conv{number}_w"], f"{conv.name}.bias": state[f"conv{number}_b"]}
    return renamed
