"""Model files: one safetensors file holds the fitted arrays, and in its header method, parameters and notes as JSON.

Everything a hasher has learned is an attribute that ends in an underscore: an array, a mapping of arrays, or plain
JSON.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from drlh.core.errors import UserError
from drlh.core.files import atomic_path, check_format
from drlh.hashers.methods import find_method, hasher_class, make_hasher

if TYPE_CHECKING:  # scikit-learn takes a second to import: not before a hasher is made
    from drlh.hashers.base import Hasher

FORMAT, VERSION = "drlh-model", 2
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class ModelFile:
    """What a model file holds."""

    method: str
    hasher: "Hasher"
    notes: dict[str, Any] = field(default_factory=dict)  # how the features were made, and the like


def save_hasher(path: str | Path, hasher: "Hasher", notes: Mapping[str, Any] | None = None) -> None:
    """Writes a fitted hasher, and `notes` of plain JSON beside it."""
    from safetensors.numpy import save_file
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(hasher)
    arrays: Arrays = {}
    values: dict[str, Any] = {}
    for name, value in vars(hasher).items():
        if not name.endswith("_"):
            continue
        if isinstance(value, np.ndarray) and value.dtype.kind not in "OUS":
            arrays[name] = np.asarray(value, order="C")
        elif isinstance(value, np.ndarray):
            values[name] = {"text": [str(item) for item in value.tolist()]}
        elif isinstance(value, Mapping):
            arrays |= {f"{name}.{key}": np.asarray(item, order="C") for key, item in value.items()}
        else:
            values[name] = {"value": value}
    header = {
        "format": FORMAT,
        "version": VERSION,
        "method": find_method(type(hasher).__name__).name,
        "parameters": {key: _plain(value) for key, value in hasher.get_params(deep=False).items()},
        "values": values,
        "notes": dict(notes or {}),
    }
    # One entry only: safetensors writes several in any order, and equal models should be equal bytes.
    with atomic_path(path) as temporary:
        save_file(arrays, temporary, {"drlh": json.dumps(header)})


def _plain(value: Any) -> Any:
    """A parameter as JSON; a generator or a callback is not part of a model and becomes None."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, str | int | float | bool | list | tuple | dict) else None


def load_hasher(path: str | Path) -> "Hasher":
    """The fitted hasher of a file that `save_hasher` wrote."""
    return read_model_file(path).hasher


def read_model_file(path: str | Path) -> ModelFile:
    """Hasher, method and notes of a model file, or one sentence that says why it is not one."""
    from safetensors import SafetensorError, safe_open

    if not Path(path).is_file():
        raise UserError(f"{path} is not a file: wanted a model made by `drlh fit`")
    try:
        with safe_open(path, "numpy") as file:
            metadata = dict(file.metadata() or {})
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
    except (SafetensorError, OSError) as error:
        raise UserError(f"{path} is damaged or not a model made by `drlh fit`: {error}") from error
    header = json.loads(metadata.get("drlh", "{}"))
    check_format(header, path, format_name=FORMAT, version=VERSION)
    if header["version"] == 1:
        header, arrays = _renamed(header, arrays)
    former = _FORMER_DEFAULTS.get(header["method"], {})
    hasher = make_hasher(header["method"], **(former | header["parameters"]))
    for name, value in header["values"].items():
        setattr(hasher, name, np.array(value["text"]) if "text" in value else value["value"])
    for name, array in arrays.items():
        owner, _, key = name.partition(".")
        setattr(hasher, owner, getattr(hasher, owner, {}) | {key: array} if key else array)
    return ModelFile(header["method"], hasher, header["notes"])


# What a parameter came to before there was one of that name: a file that does not name it was written then.
_FORMER_DEFAULTS: dict[str, dict[str, Any]] = {"drlh-paper": {"input_balance": None, "code_input": "bits"}}

# Files of version 1 have older names.

_PARAMETERS = {
    "hidden": "hidden_size", "batch": "batch_size", "n_branches": "ensemble_size", "top": "target_confidence",
    "follow": "codebook_adaptation", "priority": "loss_weight_exponent", "power": "feature_power",
    "flips": "max_flips", "double": "double_q", "target_every": "target_update_interval",
    "backbone_rate": "backbone_lr_scale", "weights": "backbone_weights", "hold_out": "validation_fraction",
    "sharpness": "logit_scale", "width": "bandwidth",
}  # fmt: skip
_ATTRIBUTES = {
    "embedding_": "codewords_", "kappa_": "inverse_temperature_", "hidden_": "hidden_size_",
    "kept_": "objective_state_",
}  # fmt: skip
_LAYERS = {"ahead.into.": "value_head.hidden.", "ahead.": "value_head."}  # how the names of a network's weights begin


def _renamed(header: dict[str, Any], arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
    """A file of version 1 as one of today; parameters that a method no longer has are left out."""
    method, parameters = header["method"], dict(header["parameters"])
    if method == "drlh":  # the preset "paper" is now a method of its own, and None stood for the preset's value
        method = "drlh-paper" if parameters.pop("preset") == "paper" else "drlh"
        parameters = {name: value for name, value in parameters.items() if value is not None}
    values = {_ATTRIBUTES.get(name, name): value for name, value in header["values"].items()}
    arrays = {_renamed_array(name): array for name, array in arrays.items()}
    known = set(hasher_class(method)._get_param_names())
    renamed = {name if name in known else _PARAMETERS.get(name, name): value for name, value in parameters.items()}
    kept = {name: value for name, value in renamed.items() if name in known}
    return header | {"method": method, "parameters": kept, "values": values}, arrays


def _renamed_array(name: str) -> str:
    owner, dot, key = name.partition(".")
    old = next((old for old in _LAYERS if key.startswith(old)), "")
    return f"{_ATTRIBUTES.get(owner, owner)}{dot}{_LAYERS.get(old, '')}{key.removeprefix(old)}"
