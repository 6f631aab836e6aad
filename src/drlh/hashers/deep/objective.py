"""What a deep method supplies: a loss, and where it has them a discrete step, a memory bank and arrays for encoding."""

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

    labels: Tensor  # (N, C) multi-hot floats
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
    """Loss of a batch. Its parameters learn with the network; its buffers are part of checkpoints."""

    @abstractmethod
    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """The loss of outputs (n, n_outputs), a mean over images or pairs so that it does not grow with the batch."""

    def start_epoch(self, epoch: int, n_epochs: int, outputs: Outputs) -> None:
        """Called before every epoch: the place for discrete steps and schedules of the loss."""

    def finish(self, outputs: Outputs) -> Arrays:
        """Arrays that encoding needs beside the network, by name; the hasher keeps them as `objective_state_`."""
        return {}


def share_label(left: Tensor, right: Tensor) -> Tensor:
    """(n, m): 1.0 where two images share a label, else 0.0, from labels (n, C) and (m, C)."""
    return (left @ right.T > 0).to(left.dtype)


def distinct_pairs(rows: Tensor, columns: Tensor) -> Tensor:
    """(n, m): 1.0 where the row numbers differ, so that no image is paired with itself."""
    return (rows[:, None] != columns[None]).float()


def soft_hamming(left: Tensor, right: Tensor) -> Tensor:
    """(n, m) Hamming distances of relaxed signs in [-1, 1], (n, n_bits) and (m, n_bits): exact at -1 and +1."""
    distances: Tensor = (left.shape[1] - left @ right.T) / 2
    return distances


def squared_distances(left: Tensor, right: Tensor) -> Tensor:
    """(n, m) squared Euclidean distances of (n, d) and (m, d)."""
    norms = left.square().sum(dim=1)[:, None] + right.square().sum(dim=1)[None]
    return (norms - 2 * left @ right.T).clamp(min=0)
