"""Hashers that learn in epochs: seeded streams for each epoch, checkpoints, resuming, devices."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from drlh.core.errors import UserError
from drlh.core.files import digest, is_writer
from drlh.core.progress import Progress, quiet
from drlh.hashers.base import Features, Hasher
from drlh.hashers.training.checkpoint import Arrays, load_checkpoint, save_checkpoint
from drlh.hashers.training.checks import Check, check_values

if TYPE_CHECKING:  # a backbone is loaded where one is used
    from drlh.networks.backbone import Body


class Resumable(Protocol):
    """Learning that moves on by epochs and can be written to a checkpoint between two of them."""

    def arrays(self) -> Arrays: ...
    def load_arrays(self, arrays: Arrays) -> None: ...


Built = TypeVar("Built")
# The network of each fitted estimator, built from its arrays. Outside the estimators, so that no copy, clone, pickle
# or model file takes along what belongs to another.
_BUILT: WeakKeyDictionary["EpochHasher", Any] = WeakKeyDictionary()


class EpochHasher(Hasher):
    """A hasher whose learning is a sequence of epochs; a resumed run is bit-identical to an uninterrupted one."""

    device: str
    backbone: str | None = None  # what a method without these parameters has
    backbone_weights: str | Path | None = None
    backbone_lr_scale: float | None = None

    def __setattr__(self, name: str, value: Any) -> None:
        """Setting any attribute, as `fit` does, discards the network that was built from the old ones."""
        super().__setattr__(name, value)
        _BUILT.pop(self, None)

    def _built_once(self, build: Callable[[], Built]) -> Built:
        """What `build` makes of the fitted attributes, kept until one of them is set."""
        built: Built | None = _BUILT.get(self)
        if built is None:
            built = _BUILT[self] = build()
        return built

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        progress: Progress = quiet,
        resume_from: str | Path | None = None,
    ) -> Self:
        """Learn. With `resume_from` a directory, every epoch is kept there and an interrupted run resumes from it."""
        self._resume_from = resume_from
        try:
            return super().fit(X, y, progress=progress)
        finally:
            del self._resume_from

    def _epochs(self, run: Resumable, n_epochs: int, fingerprint: str, progress: Progress) -> Iterator[int]:
        name = f"{type(self).__name__} epochs"
        return resumable_epochs(run, n_epochs, self._resume_from, fingerprint, name, progress)

    def _validated(self, *arrays: Any, **rules: Any) -> Any:
        """A hasher with a backbone takes pictures too, and holds them in half the memory."""
        if self.backbone is not None:
            from drlh.networks.pixel_input import picture_rows

            arrays = (picture_rows(arrays[0]), *arrays[1:])
            rules["dtype"] = np.float32
        return super()._validated(*arrays, **rules)

    def _body(self, n_in: int, rows: torch.Tensor | None = None) -> "Body | None":
        """The backbone for rows of `n_in` pixels; to begin learning from `rows`, with its weights or none."""
        if self.backbone is None:
            if self.backbone_weights is not None:
                raise UserError(f"backbone_weights of {type(self).__name__} belong to a backbone: name one as backbone")
            return None
        from drlh.networks.backbone import Body, begin_body

        return Body(self.backbone, n_in) if rows is None else begin_body(self.backbone, self.backbone_weights, rows)

    def _body_rate(self) -> float:
        """Weights that have learned already move a tenth as fast as new ones."""
        if self.backbone_lr_scale is None:
            return 0.1 if self.backbone_weights is not None else 1.0
        return self.backbone_lr_scale

    def _fingerprint(self, features: Features, labels: NDArray[Any], seed: int) -> str:
        """Names the data, the parameters and the seed, so that no other run resumes from a checkpoint."""
        parameters = {name: value for name, value in self.get_params().items() if name not in ("log_dir", "device")}
        # An array's own text leaves out the middle of a large one.
        texts = [(name, str(np.asarray(value).tolist())) for name, value in sorted(parameters.items())]
        return digest(features, labels, str(seed), str(texts))

    def _check(self, checks: list[Check], values: Callable[[str], Any]) -> None:
        check_values(type(self).__name__, checks, values)

    def _torch_device(self) -> torch.device:
        owner, name = type(self).__name__, self.device
        if name == "auto":
            return torch.device("cuda" if torch.cuda.is_available() else "cpu")
        try:
            device = torch.device(name)
        except (RuntimeError, TypeError) as error:
            raise UserError(f"device of {owner} must be auto, cpu or cuda: got {name!r}") from error
        if device.type != "cpu" and not (device.type == "cuda" and torch.cuda.is_available()):
            raise UserError(f"device of {owner} must be one that torch finds here: got {name!r}; take auto or cpu")
        return device


def resumable_epochs(
    run: Resumable, n_epochs: int, directory: str | Path | None, fingerprint: str, name: str, progress: Progress
) -> Iterator[int]:
    """Epochs still to be run, each kept in `directory` when the caller comes back for the next."""
    done, arrays = load_checkpoint(directory, fingerprint) if directory else (0, {})
    if arrays:
        run.load_arrays(arrays)
    for epoch in range(done, n_epochs):
        progress(epoch, n_epochs, name)
        yield epoch
        if directory and is_writer():
            save_checkpoint(directory, epoch + 1, fingerprint, run.arrays())
    progress(n_epochs, n_epochs, name)


@contextmanager
def epoch_rngs(seed: int, epoch: int, device: torch.device) -> Iterator[tuple[np.random.Generator, torch.Generator]]:
    """Random numbers that depend on (seed, epoch) alone, so that a run can be resumed at any epoch.

    Dropout draws from torch's own stream: it is seeded inside and given back to the caller as it was.
    """
    rng = np.random.default_rng([seed, epoch])
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(int(rng.integers(2**62)))
        generator = torch.Generator(device)
        generator.manual_seed(int(rng.integers(2**62)))
        yield rng, generator


def one_cycle(done: float) -> float:
    """Share of the largest learning rate after `done` (0 to 1) of the updates.

    Up from a 25th over the first tenth, then down to nothing, both along half a cosine.
    """
    if done < 0.1:
        return 0.04 + 0.96 * (1 - math.cos(math.pi * done / 0.1)) / 2
    return (1 + math.cos(math.pi * (done - 0.1) / 0.9)) / 2


def parameter_groups(network: torch.nn.Module, body_rate: float) -> list[dict[str, Any]]:
    """Parameters that learn, for an optimiser: those of a body (`Body`) at `body_rate` times the learning rate."""
    from drlh.networks.backbone import Body

    groups: dict[float, list[torch.Tensor]] = {1.0: []}
    bodies = [module for module in network.modules() if isinstance(module, Body)]
    inside = {id(parameter) for body in bodies for parameter in body.parameters()}
    for parameter in network.parameters():
        if parameter.requires_grad:
            groups.setdefault(body_rate if id(parameter) in inside else 1.0, []).append(parameter)
    return [{"params": parameters, "rate": rate} for rate, parameters in groups.items()]
