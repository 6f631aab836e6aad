"""What both agents share: a walk on the binary cube that begins at a code of the image, and how it is learned.

`AgentHasher` is the estimator's frame. An agent brings its learner, which runs epochs, and its policy, which walks.
"""

import time
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from drlh.core.codes import Codes, round_to_codes
from drlh.core.errors import UserError
from drlh.core.progress import Progress
from drlh.hashers.base import Features
from drlh.hashers.codebook.codebook import KINDS
from drlh.hashers.training.checks import Check, check_values, count, fraction
from drlh.hashers.training.epochs import EpochHasher, Resumable
from drlh.hashers.training.preparation import column_scale, hold_out, powered


@dataclass(frozen=True)
class EpochReport:
    """What an epoch was like, for progress and plots."""

    epoch: int
    epsilon: float
    loss: float
    mean_return: float  # undiscounted, for each image
    mean_steps: float
    stopped: float  # share of the walks that ended by a stop
    end_distance: float  # Hamming distance from a walk's end to the nearest codeword of the image's own classes
    probe_map: float | None = None  # tie-aware mAP of the validation images, where there are some


@dataclass(frozen=True)
class Trace:
    """One image's walk, for people to look at."""

    codes: Codes  # (n_steps + 1, n_bits): the start, then the code after each flip
    actions: list[int]  # what was done at each code; the last is the stop, unless the step limit came first
    values: NDArray[np.float64]  # (n_steps + 1, n_actions): Q of every action at each code, the stop last
    distances: NDArray[np.int64]  # (n_steps + 1, n_classes): Hamming distance to each codeword
    max_steps: int  # the step limit
    # (n_steps + 1, 10): the last flips as the agent sees them at each code, as actions, newest first, -1 for none yet;
    # None for an agent that sees none
    history: NDArray[np.int64] | None = None


def make_trace(
    signs: list[Tensor],
    actions: list[int],
    values: list[Tensor],
    codewords: NDArray[np.int8],
    max_steps: int,
    history: list[Tensor] | None = None,
) -> Trace:
    """From the codes (1, b) of a walk and the values (n_actions,) asked for; past the step limit nothing was asked."""
    if len(values) < len(signs):
        values = [*values, torch.full_like(values[0], torch.nan)]
    codes = round_to_codes(torch.cat(signs).double().cpu().numpy())
    distances = (codes[:, None] != (codewords > 0)[None]).sum(axis=2)
    asked = torch.stack(values).double().cpu().numpy()
    seen = None if history is None else torch.cat(history).long().cpu().numpy()
    return Trace(codes, actions, asked, distances, max_steps, seen)


class Policy(Protocol):
    """A fitted agent at work."""

    def encode(self, inputs: Tensor) -> Codes: ...
    def trace(self, inputs: Tensor, codewords: NDArray[np.int8]) -> Trace: ...


class Learner(Resumable, Protocol):
    """An agent that learns."""

    inputs: Tensor

    def run_epoch(self, epoch: int) -> EpochReport: ...


def start_signs(inputs: Tensor, projection: Tensor) -> Tensor:
    """(n, b) int8: a fixed function of the model and the image, so that a code can be made again."""
    return torch.where(inputs @ projection >= 0, 1, -1).to(torch.int8)


def random_signs(n: int, n_bits: int, generator: torch.Generator) -> Tensor:
    """(n, n_bits) fair signs int8, on the generator's device."""
    device = generator.device
    return 2 * torch.randint(0, 2, (n, n_bits), dtype=torch.int8, generator=generator, device=device) - 1


def distance_to_own(signs: Tensor, codewords: Tensor, labels: Tensor) -> Tensor:
    """(n,): Hamming distance from codes (n, b) to the nearest codeword of each image's labels, ids or multi-hot."""
    wide = codewords.to(torch.float32)
    distances = (signs.shape[1] - signs.to(torch.float32) @ wide.T) / 2
    if labels.ndim == 1:
        return distances.gather(1, labels[:, None].long())[:, 0]
    # An image without a label has no codeword of its own: it counts as on the spot.
    nearest = distances.masked_fill(labels == 0, torch.inf).amin(dim=1)
    return torch.where(torch.isinf(nearest), 0.0, nearest)


@contextmanager
def scalar_writer(directory: str | None) -> Iterator[Callable[[EpochReport], None]]:
    """Writes each epoch's report for TensorBoard, where a directory is given."""
    if directory is None:
        yield lambda report: None
        return
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise UserError("log_dir needs the package tensorboard: pip install tensorboard") from error
    try:
        writer = SummaryWriter(directory)
    except OSError as error:
        raise UserError(f"cannot write to log_dir {directory}: {error.strerror}; choose another directory") from error

    def write(report: EpochReport) -> None:
        for name, value in asdict(report).items():
            if name != "epoch" and value is not None:
                writer.add_scalar(name, value, report.epoch, time.time())
        writer.flush()

    with writer:  # it has a thread of its own
        yield write


class AgentHasher(EpochHasher):
    """An agent walks from a start code to the code of an image; subclasses bring learner and policy."""

    supervised: ClassVar[bool] = True

    codebook: str | ArrayLike
    max_steps: int | None
    start: str
    feature_power: float = 1.0
    validation_fraction: float
    log_dir: str | None

    codewords_: NDArray[np.int8]

    def walk(self, x: ArrayLike) -> Trace:
        """The path of one image with features `(n_features,)`: codes, actions, Q-values, distances to codewords."""
        check_is_fitted(self)
        rows = self._validated(np.atleast_2d(np.asarray(x)), dtype=np.float64, reset=False)
        if len(rows) != 1:
            raise UserError(f"walk takes the features of one image: got {len(rows)} rows")
        return self._built_once(self._policy).trace(self._inputs(rows), self.codewords_)

    @abstractmethod
    def _checks(self) -> list[Check]:
        """Ranges of the agent's own parameters; `classes_` are known."""

    @abstractmethod
    def _learner(self, inputs: Tensor, labels: Tensor, seed: int) -> tuple[Learner, int]:
        """(the learner before its first epoch, number of epochs)."""

    @abstractmethod
    def _keep(self, learner: Any) -> None:
        """The agent as it is now becomes the model: sets the fitted attributes."""

    @abstractmethod
    def _policy(self) -> Policy:
        """The fitted agent, from its attributes."""

    def _fit(
        self, features: Features, labels: NDArray[Any] | None, rng: np.random.Generator, progress: Progress
    ) -> None:
        assert labels is not None  # a supervised method
        check_values(type(self).__name__, [*_SHARED_CHECKS, *self._checks()], lambda name: getattr(self, name))
        seed = int(rng.integers(2**31))
        features, labels, probe = hold_out(features, labels, self.validation_fraction, rng)
        if self.backbone is None:
            self.mean_, self.scale_ = column_scale(powered(features, self.feature_power))
        direction = np.random.default_rng(seed).standard_normal((features.shape[1], self.n_bits))
        direction *= self.start == "image"  # projected on nothing, every image begins at the same code
        self.projection_ = (direction / np.sqrt(features.shape[1])).astype(np.float32)
        inputs = self._inputs(features)
        with torch.random.fork_rng([]):
            torch.manual_seed(seed)  # the network's first weights
            learner, n_epochs = self._learner(inputs, torch.from_numpy(labels).to(inputs.device), seed)
        with scalar_writer(self.log_dir) as write:
            for epoch in self._epochs(learner, n_epochs, self._fingerprint(features, labels, seed), progress):
                report = learner.run_epoch(epoch)
                if probe and self.log_dir:
                    self._keep(learner)
                    report = replace(report, probe_map=probe.score(self._encode))
                write(report)
        self._keep(learner)

    def _encode(self, features: Features) -> Codes:
        return self._built_once(self._policy).encode(self._inputs(features))

    def _inputs(self, features: Features) -> Tensor:
        """Features as the network takes them; pictures as they are."""
        if self.backbone is None:
            features = (powered(features, self.feature_power) - self.mean_) / self.scale_
        return torch.from_numpy(features.astype(np.float32, copy=False)).to(self._torch_device())

    def _step_limit(self) -> int:
        return self.n_bits if self.max_steps is None else self.max_steps


_SHARED_CHECKS: list[Check] = [
    ("codebook", lambda value: value in KINDS if isinstance(value, str) else value is not None,
     f"one of {', '.join(KINDS)}, or an array of codewords"),
    fraction("gamma"),
    count("max_steps", optional=True),
    ("start", lambda value: value in ("image", "fixed"), "image or fixed"),
    fraction("validation_fraction"),
    ("log_dir", lambda value: value is None or hasattr(value, "__fspath__") or isinstance(value, str), "a directory"),
]  # fmt: skip
