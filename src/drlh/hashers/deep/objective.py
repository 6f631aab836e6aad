"""What a deep method supplies: a loss, and where it has them a discrete step, a memory, and what encoding needs."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

Outputs = Callable[[], Tensor]  # () -> (N, n_outputs): the network's outputs for all training images, without dropout
Arrays = dict[str, NDArray[np.float64]]


@dataclass(frozen=True)
class Task:
    """What an objective may know of the training images before learning begins."""

    labels: Tensor  # (N, C) of 0/1 floats, several ones in a row where images have several labels
    n_bits: int
    multilabel: bool
    rng: np.random.Generator  # for choices at the beginning: codewords, anchors, first codes

    @property
    def n_images(self) -> int:
        return self.labels.shape[0]

    @property
    def n_classes(self) -> int:
        return self.labels.shape[1]


@dataclass(frozen=True)
class Batch:
    """Some training images: their row numbers (n,) and labels (n, C)."""

    rows: Tensor
    labels: Tensor


class Objective(nn.Module):
    """Loss of a batch. Parameters learn with the network; buffers are kept in checkpoints."""

    @abstractmethod
    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """The loss of outputs (n, n_outputs), a mean over images or pairs so that it does not grow with the batch."""

    def start_epoch(self, epoch: int, n_epochs: int, outputs: Outputs) -> None:
        """Before an epoch: discrete steps, schedules of the loss."""

    def finish(self, outputs: Outputs) -> Arrays:
        """After the last epoch: what encoding needs beside the network, as arrays by name."""
        return {}


def similar(left: Tensor, right: Tensor) -> Tensor:
    """(n, m) of 1.0 where two images share a label and 0.0 elsewhere, from labels (n, C) and (m, C)."""
    return (left @ right.T > 0).to(left.dtype)


def other_pairs(rows: Tensor, columns: Tensor) -> Tensor:
    """(n, m) of 1.0 where the row numbers differ: no image is paired with itself."""
    return (rows[:, None] != columns[None]).float()
