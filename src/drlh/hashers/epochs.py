"""Hashers that learn in epochs: seeded streams for each epoch, checkpoints, resuming, devices."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Integral
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from drlh.errors import UserError
from drlh.files import digest
from drlh.hashers.base import Features, Hasher
from drlh.hashers.checkpoint import Arrays, load_checkpoint, save_checkpoint
from drlh.progress import Progress, quiet

Check = tuple[str, Callable[[Any], bool], str]  # a parameter, whether a value of it will do, what is wanted


def is_whole(value: Any) -> bool:
    return isinstance(value, Integral)


def is_count(value: Any) -> bool:
    return isinstance(value, Integral) and int(value) >= 1


class Run(Protocol):
    """Learning that moves on by epochs and can be written down between two of them."""

    def arrays(self) -> Arrays: ...
    def load_arrays(self, arrays: Arrays) -> None: ...


class EpochHasher(Hasher):
    """A hasher whose learning is a sequence of epochs and can be taken up again."""

    device: str

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        progress: Progress = quiet,
        resume_from: str | Path | None = None,
    ) -> Self:
        """Learns. With `resume_from` a directory, every epoch is kept there and a broken run goes on from it."""
        self._resume_from = resume_from
        try:
            return super().fit(X, y, progress=progress)
        finally:
            del self._resume_from

    def _epochs(self, run: Run, n_epochs: int, fingerprint: str, progress: Progress) -> Iterator[int]:
        """Epochs still to be run, each kept when the caller comes back for the next."""
        name, directory = f"{type(self).__name__} epochs", self._resume_from
        done, arrays = load_checkpoint(directory, fingerprint) if directory else (0, {})
        if arrays:
            run.load_arrays(arrays)
        for epoch in range(done, n_epochs):
            progress(epoch, n_epochs, name)
            yield epoch
            if directory:
                save_checkpoint(directory, epoch + 1, fingerprint, run.arrays())
        progress(n_epochs, n_epochs, name)

    def _fingerprint(self, features: Features, labels: NDArray[Any], seed: int) -> str:
        """Names the data, the parameters and the seed, so that no other run takes a checkpoint up."""
        parameters = {name: value for name, value in self.get_params().items() if name not in ("log_dir", "device")}
        # An array's own text leaves out the middle of a large one.
        texts = [(name, str(np.asarray(value).tolist())) for name, value in sorted(parameters.items())]
        return digest(features, labels, str(seed), str(texts))

    def _check(self, checks: list[Check], values: Callable[[str], Any]) -> None:
        for name, holds, wanted in checks:
            value = values(name)
            try:
                right = holds(value)
            except (TypeError, ValueError):  # not even a number
                right = False
            if not right:
                raise UserError(f"{name} of {type(self).__name__} must be {wanted}: got {value!r}")

    def _torch_device(self) -> torch.device:
        owner, name = type(self).__name__, self.device
        if name == "auto":
            return torch.device("cuda" if torch.cuda.is_available() else "cpu")
        try:
            device = torch.device(name)
        except RuntimeError as error:
            raise UserError(f"device of {owner} must be auto, cpu or cuda: got {name!r}") from error
        if device.type != "cpu" and not (device.type == "cuda" and torch.cuda.is_available()):
            raise UserError(f"device of {owner} must be one that torch finds here: got {name!r}; take auto or cpu")
        return device


@contextmanager
def epoch_streams(seed: int, epoch: int, device: torch.device) -> Iterator[tuple[np.random.Generator, torch.Generator]]:
    """Random numbers that depend on (seed, epoch) alone, so that a run can be taken up at any epoch.

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
