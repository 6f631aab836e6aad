"""Backbones by name as torch modules, and the files that hold their weights."""

import json
from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from drlh.core.errors import UserError
from drlh.core.files import atomic_path
from drlh.networks import cnn_small
from drlh.networks.pixel_input import PixelInput
from drlh.networks.torch_layers import LayerNet, whitening_filters
from drlh.networks.weights import StateDict, existing_weights, read_state_dict

FORMAT, VERSION = "drlh-cnn", 1
NAMES = {"cnn-small": "cnn_small", "alexnet": "alexnet", "cnn-f": "cnn_f", "nin": "nin"}  # → module
_INPUT = "pictures."  # prefix of the arrays that say how pictures are prepared, beside the network's weights
_MAX_BATCH = 256  # pictures at once where no gradient is needed
_N_WHITENED = 5000  # pictures whose patches the stem of cnn-small whitens
_PUBLISHED = {
    "alexnet": "torchvision's alexnet-owt-*.pth or its arrays as .npz or .safetensors",
    "cnn-f": "MatConvNet's imagenet-vgg-f.mat",
}


class Body(nn.Module):
    """A backbone below a head: rows of pixels (n, 3·s²) → features (n, n_features).

    Parameters
    ----------
    name : the backbone, one of NAMES.
    n_in : number of values in a row, 3·s² for pictures of s × s pixels.

    Attributes
    ----------
    net : the network.
    pictures : brings rows of pixels to the form `net` takes, with augmentation while learning.
    norm : standardises the features, so that a head gets all of them on one scale.
    n_features : number of features.
    """

    def __init__(self, name: str, n_in: int) -> None:
        super().__init__()
        module = module_of(name)
        self.name = name
        self.net = LayerNet(module.LAYERS, getattr(module, "DRAWN", None))
        self.n_features = self.net.n_features
        self.pictures = PixelInput(n_in, module.SIZE, module.MEAN, module.DEVIATION)
        self.norm = nn.BatchNorm1d(self.n_features, affine=False)

    def forward(self, rows: Tensor) -> Tensor:
        # Without gradients, small batches keep memory from growing with the number of rows.
        parts = [rows] if torch.is_grad_enabled() else torch.split(rows, _MAX_BATCH)
        features: Tensor = self.norm(torch.cat([self.net(self.pictures(part)) for part in parts]))
        return features


def begin_body(name: str, weights: str | Path | None, rows: Tensor) -> Body:
    """A body ready to learn from `rows`: with the weights of a file, or from scratch."""
    body = Body(name, rows.shape[1])
    if weights is not None:
        load_weights(body, weights)
    elif name == "cnn-small":
        whiten(body.net, body.pictures.eval()(rows[:_N_WHITENED].cpu()))
    return body


@torch.no_grad()
def whiten(net: LayerNet, pictures: Tensor) -> None:
    """Sets the stem of a `cnn-small` to filters that whiten the patches of `pictures` (n, 3, 32, 32)."""
    stem = net.get_parameter(f"{cnn_small.STEM}.weight")
    stem.copy_(whitening_filters(pictures, cnn_small.PATCH, cnn_small.LEAST_VARIANCE))


def module_of(name: str) -> ModuleType:
    """The backbone's own module: its LAYERS, the SIZE of its pictures, and the RECIPE by which it is pretrained."""
    if name not in NAMES:
        close = get_close_matches(str(name), NAMES, 1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise UserError(f"no backbone is called {name!r}: choose one of {', '.join(NAMES)}{hint}")
    return import_module(f"drlh.networks.{NAMES[name]}")


def save_cnn(path: str | Path, body: Body, notes: Mapping[str, Any]) -> None:
    """One safetensors file: the weights under the net's own names, and in its header the backbone and `notes`."""
    from safetensors.numpy import save_file

    state = body.net.state_dict() | {_INPUT + key: value for key, value in body.pictures.state_dict().items()}
    arrays = {key: np.ascontiguousarray(value.detach().cpu().numpy()) for key, value in state.items() if value.ndim}
    header = {"format": FORMAT, "version": VERSION, "backbone": body.name, "notes": dict(notes)}
    with atomic_path(path) as temporary:
        save_file(arrays, temporary, {"drlh": json.dumps(header)})


def load_weights(body: Body, path: str | Path) -> None:
    """Gives a body the weights in `path`: a file of `save_cnn`, or its publisher's."""
    wanted = f"a file that `drlh pretrain` wrote for {body.name}"
    published = _PUBLISHED.get(body.name)
    file = existing_weights(body.name, path, f"{published}, or {wanted}" if published else wanted)
    state = _matconvnet_state(body, file) if file.suffix == ".mat" else read_state_dict(file)
    own = {key: value for key, value in body.net.state_dict().items() if value.ndim}  # a norm counts its batches
    missing = [key for key in own if key not in state]
    if missing:
        raise UserError(f"{file} does not hold the weights of {body.name}: it has no {missing[0]!r}; give {wanted}")
    for key, value in own.items():
        if tuple(np.shape(state[key])) != tuple(value.shape):
            raise UserError(
                f"{file} does not hold the weights of {body.name}: {key} should be {tuple(value.shape)}, "
                f"is {tuple(np.shape(state[key]))}"
            )
    for key, value in body.pictures.state_dict().items():
        if _INPUT + key in state:
            value.copy_(torch.from_numpy(np.array(state[_INPUT + key])))
    body.net.load_state_dict({key: torch.from_numpy(np.array(state[key])) for key in own}, strict=False)


def check_weights(name: str, path: str | Path) -> None:
    """Refuses a file that does not hold the backbone's weights, before anything else is read or run."""
    load_weights(Body(name, 3 * module_of(name).SIZE ** 2), path)


def _matconvnet_state(body: Body, path: Path) -> StateDict:
    """MatConvNet's filters under our names, in the order of its layers, and its mean picture's colour."""
    from drlh.networks.matconvnet import filters_of

    filters, average = filters_of(path, body.name)
    layers = [name for name, layer in body.net.named_modules() if isinstance(layer, nn.Conv2d | nn.Linear)]
    colour = average.mean(axis=(0, 1)) if average.ndim == 3 else average.ravel()
    state: dict[str, Any] = {f"{_INPUT}mean": (colour[:, None, None] / 255).astype(np.float32)}
    for name, (weight, bias) in zip(layers, filters, strict=False):
        flat = name.startswith("classifier")
        state |= {f"{name}.weight": weight.reshape(len(weight), -1) if flat else weight, f"{name}.bias": bias}
    return state
