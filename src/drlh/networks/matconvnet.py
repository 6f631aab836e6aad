"""Networks in MatConvNet's `.mat` files: CNN-F (`imagenet-vgg-f.mat`), AlexNet (`imagenet-caffe-alex.mat`).

Such a file spells out its own layers, strides, paddings and mean picture; this module follows it.
"""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from scipy.io import loadmat

from drlh.core.errors import UserError
from drlh.networks.onnx_graph import Graph, Pads

_FILES = {"cnn-f": "MatConvNet's imagenet-vgg-f.mat", "alexnet": "MatConvNet's imagenet-caffe-alex.mat"}
_FIRST_FILTERS = {"cnn-f": 64, "alexnet": 96}  # tells the two networks apart

Struct = NDArray[Any]  # (1, 1) with named fields, as MATLAB has it


def onnx_model(path: Path, name: str, layer: str) -> onnx.ModelProto:
    """`pool5`, or `fc6`, `fc7` after their ReLU, of the network in `path`."""
    layers, normalisation = _network(path, name)
    graph = _input(normalisation)
    for step in layers[: _end(layers, layer, path)]:
        _add(graph, step, path)
    return graph.model()


def filters_of(path: Path, name: str) -> tuple[list[tuple[NDArray[Any], NDArray[Any]]], NDArray[Any]]:
    """(weight, bias) of every layer that has them, in order, and the mean colour or picture, of pixels 0 to 255."""
    layers, normalisation = _network(path, name)
    filters = [_weights(step) for step in layers if _text(step, "type") == "conv"]
    return filters, normalisation["averageImage"][0, 0].astype(np.float32)


def _network(path: Path, name: str) -> tuple[list[Struct], Struct]:
    """The layers, and how pictures are prepared for the first of them."""
    file = _read(path)
    layers = list(file["layers"].ravel())
    first = _weights(layers[0])[0].shape[0]
    if first != _FIRST_FILTERS[name]:
        raise UserError(f"{path} is not {name}: its first layer has {first} filters; give {_FILES[name]}")
    return layers, file["meta"]["normalization"][0, 0] if "meta" in file else file["normalization"]


def _read(path: Path) -> dict[str, Any]:
    try:
        file: dict[str, Any] = loadmat(path)
    # What a foreign file makes the reader raise is not laid down anywhere.
    except Exception as error:
        raise UserError(f"{path} cannot be read as a MATLAB file: {error}") from error
    if "layers" not in file or not {"meta", "normalization"} & set(file):
        raise UserError(f"{path} holds no MatConvNet network: wanted `layers` and `meta` or `normalization` in it")
    return file


def _input(normalisation: Struct) -> Graph:
    height, width = (int(side) for side in _numbers(normalisation, "imageSize")[:2])
    how = _text(normalisation, "interpolation")
    # MATLAB resizes bicubically where nothing is said.
    graph = Graph(height, width, resize="bilinear" if how == "bilinear" else "bicubic", batch=32)
    average = normalisation["averageImage"][0, 0].astype(np.float32)
    # One value a channel, or a whole picture (height, width, 3).
    graph.subtract(average.transpose(2, 0, 1) if average.size > 3 else average.ravel())
    return graph


def _end(layers: list[Struct], layer: str, path: Path) -> int:
    """How many layers make up `layer`, the ReLU that follows it included."""
    names = [_text(step, "name") for step in layers]
    if layer not in names:
        raise UserError(f"{path} has no layer {layer}: it has {', '.join(names)}")
    end = names.index(layer) + 1
    return end + (end < len(layers) and _text(layers[end], "type") == "relu")


def _add(graph: Graph, step: Struct, path: Path) -> None:
    kind = _text(step, "type")
    if kind == "conv":
        weight, bias = _weights(step)
        groups = graph.channels // weight.shape[1]
        graph.conv(weight, bias, stride=_stride(step), pads=_pads(step), groups=groups)
    elif kind == "relu":
        graph.relu()
    elif kind == "pool" and _text(step, "method") == "max":
        graph.max_pool(int(_numbers(step, "pool")[0]), _stride(step), _pads(step))
    elif kind in ("lrn", "normalize"):
        size, kappa, alpha, beta = _numbers(step, "param")
        graph.normalise_response(int(size), kappa, alpha, beta)
    elif kind != "dropout":  # which does nothing outside training
        raise UserError(f"{path}: layer {_text(step, 'name')} is of kind {kind}, which neither CNN-F nor AlexNet has")


def _weights(step: Struct) -> tuple[NDArray[Any], NDArray[Any]]:
    """(out, in, height, width) and (out,) from (height, width, in, out) and a row or column."""
    names = step.dtype.names or ()
    filters, biases = (
        step["weights"][0, 0].ravel() if "weights" in names else (step["filters"][0, 0], step["biases"][0, 0])
    )
    return filters.reshape(*filters.shape, *(1,) * (4 - filters.ndim)).transpose(3, 2, 0, 1), biases.ravel()


def _stride(step: Struct) -> int:
    return int(_numbers(step, "stride", 1)[0])


def _pads(step: Struct) -> Pads:
    """MatConvNet counts top, bottom, left, right."""
    pads = [int(pad) for pad in _numbers(step, "pad", 0)]
    top, bottom, left, right = pads if len(pads) == 4 else pads[:1] * 4
    return top, left, bottom, right


def _numbers(step: Struct, field: str, default: float | None = None) -> list[float]:
    if default is not None and field not in (step.dtype.names or ()):
        return [default]
    return [float(number) for number in step[field][0, 0].ravel()]


def _text(step: Struct, field: str) -> str:
    return str(next(iter(step[field][0, 0].ravel()), "")) if field in (step.dtype.names or ()) else ""
