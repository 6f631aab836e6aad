"""Checkpoints: everything the next epoch depends on, in one file that is replaced at once."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from drlh.core.errors import UserError
from drlh.core.files import atomic_path

Arrays = dict[str, NDArray[Any]]
Module = TypeVar("Module", bound=nn.Module)
FILE = "checkpoint.safetensors"


def save_checkpoint(directory: str | Path, epochs_done: int, fingerprint: str, arrays: Arrays) -> None:
    """`fingerprint` names the data, parameters and seed of the run, so that no other run takes it up."""
    from safetensors.numpy import save_file

    metadata = {"format": "drlh-checkpoint", "epochs_done": str(epochs_done), "fingerprint": fingerprint}
    with atomic_path(Path(directory) / FILE) as temporary:
        save_file({name: np.asarray(array, order="C") for name, array in arrays.items()}, temporary, metadata)


def load_checkpoint(directory: str | Path, fingerprint: str) -> tuple[int, Arrays]:
    """(epochs done, arrays); (0, nothing) where the directory holds no checkpoint yet."""
    from safetensors import SafetensorError, safe_open

    path = Path(directory) / FILE
    if not path.exists():
        return 0, {}
    try:
        with safe_open(path, "numpy") as file:
            metadata = dict(file.metadata() or {})
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
        epochs_done = int(metadata["epochs_done"])
    except (SafetensorError, OSError, KeyError, ValueError) as error:
        raise UserError(f"{path} is damaged: {error}; remove it to begin anew") from error
    if metadata.get("fingerprint") != fingerprint:
        raise UserError(
            f"{path} belongs to a run with other data, parameters or seed; resume that one, or choose another directory"
        )
    return epochs_done, arrays


def module_arrays(module: nn.Module, prefix: str) -> Arrays:
    return {f"{prefix}.{name}": value.detach().cpu().numpy() for name, value in module.state_dict().items()}


def load_module(module: nn.Module, arrays: Mapping[str, NDArray[Any]], prefix: str) -> None:
    own = {name.removeprefix(f"{prefix}."): value for name, value in arrays.items() if name.startswith(f"{prefix}.")}
    module.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in own.items()})


def state_arrays(module: nn.Module) -> Arrays:
    """Weights and statistics as plain arrays, which what the module learns later leaves alone."""
    return {name: value.detach().cpu().numpy().copy() for name, value in module.state_dict().items()}


def build_from_arrays(build: Callable[[], Module], weights: Mapping[str, NDArray[Any]]) -> Module:
    """What `build` makes, with `state_arrays` in place: no first weights are drawn and nothing is copied."""
    with torch.device("meta"):
        module = build()
    module.load_state_dict({name: torch.from_numpy(value) for name, value in weights.items()}, assign=True)
    return module.eval().requires_grad_(False)


def optimizer_arrays(optimizer: torch.optim.Optimizer) -> Arrays:
    return {
        f"optimizer.{number}.{name}": value.detach().cpu().numpy()
        for number, state in optimizer.state_dict()["state"].items()
        for name, value in state.items()
        if isinstance(value, Tensor)
    }


def load_optimizer(optimizer: torch.optim.Optimizer, arrays: Mapping[str, NDArray[Any]]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in arrays.items():
        if name.startswith("optimizer."):
            _, number, key = name.split(".")
            state.setdefault(int(number), {})[key] = torch.from_numpy(np.array(value))
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
