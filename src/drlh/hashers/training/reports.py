"""What an agent's learning tells of each epoch, and TensorBoard, which shows it and is optional."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from drlh.core.errors import UserError


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
