"""Scalars of every epoch for TensorBoard, which is optional."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict

from drlh.core.errors import UserError
from drlh.hashers.training.epoch_report import EpochReport


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

    def tell(report: EpochReport) -> None:
        for name, value in asdict(report).items():
            if name != "epoch" and value is not None:
                writer.add_scalar(name, value, report.epoch, time.time())
        writer.flush()

    with writer:  # it has a thread of its own
        yield tell
