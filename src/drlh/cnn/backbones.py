"""Backbones by name, their weights, and the file that keeps a network trained here."""

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

from drlh.cnn.pictures import Pictures
from drlh.cnn.small import CnnSmall
from drlh.core.errors import UserError
from drlh.core.files import atomic_path
from drlh.features.weights import State, existing_weights, read_state

FORMAT, VERSION = "drlh-cnn", 1
NAMES = {"cnn-small": ("small", "CnnSmall"), "alexnet": ("alexnet", "AlexNet"), "cnn-f": ("cnn_f", "CnnF"),
         "nin": ("nin", "Nin")}  # fmt: skip
_PICTURES = "pictures."  # before the names of what is kept beside the net's weights: how pictures are prepared
_AT_ONCE = 256
_LOOKED_AT = 5000  # pictures a net may see before it learns from nothing
FILES = {
    "alexnet": "torchvision's alexnet-owt-*.pth or its arrays as .npz or .safetensors",
    "cnn-f": "MatConvNet's imagenet-vgg-f.mat",
}


class Body(nn.Module):
    """Rows of pixels (n, 3·s²) → features (n, n_features)."""

    def __init__(self, name: str, n_in: int) -> None:
        super().__init__()
        module = module_of(name)
        self.name = name
        self.net: nn.Module = getattr(module, NAMES[name][1])()
        self.n_features = int(self.net.n_features)
        self.pictures = Pictures(n_in, module.SIZE, module.MEAN, module.DEVIATION)
        self.norm = nn.BatchNorm1d(self.n_features, affine=False)  # a head sees features of one scale

    def forward(self, rows: Tensor) -> Tensor:
        # Without gradients few pictures at a time do, and memory does not grow with the rows.
        parts = [rows] if torch.is_grad_enabled() else torch.split(rows, _AT_ONCE)
        seen: Tensor = self.norm(torch.cat([self.net(self.pictures(part)) for part in parts]))
        return seen


def begin_body(name: str, weights: str | Path | None, rows: Tensor) -> Body:
    """A body that is about to learn from `rows`: with the weights of a file, or from nothing."""
    body = Body(name, rows.shape[1])
    if weights is not None:
        load_weights(body, weights)
    elif isinstance(body.net, CnnSmall):
        body.net.see(body.pictures.eval()(rows[:_LOOKED_AT].cpu()))
    return body


def module_of(name: str) -> ModuleType:
    """The backbone's own module, with its net, its pictures' SIZE and the RECIPE it learns by."""
    if name not in NAMES:
        close = get_close_matches(str(name), NAMES, 1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise UserError(f"no backbone is called {name!r}: choose one of {', '.join(NAMES)}{hint}")
    return import_module(f"drlh.cnn.{NAMES[name][0]}")


def save_cnn(path: str | Path, body: Body, notes: Mapping[str, Any]) -> None:
    """One safetensors file: the weights under the net's own names, and in its header the backbone and `notes`."""
    from safetensors.numpy import save_file

    state = body.net.state_dict() | {_PICTURES + key: value for key, value in body.pictures.state_dict().items()}
    arrays = {key: np.ascontiguousarray(value.detach().cpu().numpy()) for key, value in state.items() if value.ndim}
    header = {"format": FORMAT, "version": VERSION, "backbone": body.name, "notes": dict(notes)}
    with atomic_path(path) as temporary:
        save_file(arrays, temporary, {"drlh": json.dumps(header)})


def load_weights(body: Body, path: str | Path) -> None:
    """Gives a body the weights of `path`: a file of `drlh pretrain`, or its publisher's."""
    wanted = f"a file of `drlh pretrain --backbone {body.name}`"
    file = existing_weights(body.name, path, f"{FILES[body.name]}, or {wanted}" if body.name in FILES else wanted)
    state = _published(body, file) if file.suffix == ".mat" else read_state(file)
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
        if _PICTURES + key in state:
            value.copy_(torch.from_numpy(np.array(state[_PICTURES + key])))
    body.net.load_state_dict({key: torch.from_numpy(np.array(state[key])) for key in own}, strict=False)


def check_weights(name: str, path: str | Path) -> None:
    """Refuses a file that does not hold the backbone's weights, before anything else is read or run."""
    load_weights(Body(name, 3 * module_of(name).SIZE ** 2), path)


def _published(body: Body, path: Path) -> State:
    """MatConvNet's filters under our names, in the order of its layers, and its mean picture's colour."""
    from drlh.features.matconvnet import filters_of

    filters, average = filters_of(path, body.name)
    layers = [name for name, layer in body.net.named_modules() if isinstance(layer, nn.Conv2d | nn.Linear)]
    colour = average.mean(axis=(0, 1)) if average.ndim == 3 else average.ravel()
    state: dict[str, Any] = {f"{_PICTURES}mean": (colour[:, None, None] / 255).astype(np.float32)}
    for name, (weight, bias) in zip(layers, filters, strict=False):
        flat = name.startswith("classifier")
        state |= {f"{name}.weight": weight.reshape(len(weight), -1) if flat else weight, f"{name}.bias": bias}
    return state
