"""HashNet: learn through a tanh that grows steeper until it is the sign."""

import math
from typing import Unpack

import torch
from torch import Tensor

from drlh.hashers.deep.hasher import DeepHasher, Shared
from drlh.hashers.deep.objective import Batch, Objective, Outputs, Task, distinct_pairs, share_label
from drlh.hashers.deep.pairwise import jaccard_similarity, pairwise_loss
from drlh.hashers.training.checks import Check

_ROWS = 1024  # kinds of images whose pairs are counted side by side


class HashNet(DeepHasher):
    """HashNet.

    **Idea.** Two images share a label with a likelihood that grows with the inner product of their codes. The sign
    has no gradient, so tanh(beta u) stands for it, and beta grows while the network learns (continuation). Similar
    pairs are rare: both kinds of pairs are weighted so that they count alike.

    **Reference.** Z. Cao, M. Long, J. Wang, P. S. Yu, HashNet: deep learning to hash by continuation, ICCV 2017.
    Slope and course of beta as in the authors' program; equation numbers could not be checked.

    **Differences.** Pairs are those within a batch, not between two batches. beta is set at every epoch and reaches
    its end after as many epochs as there are, where the authors count iterations (every 200 of 10,000, from 1 to
    about 7). Several labels: the weight of a similar pair is multiplied by the share of labels that two images have
    in common; that of a dissimilar pair, which would then be 0, is not. Optimiser and schedule are those of all deep
    methods here; the authors fine-tune a CNN by SGD, with a larger rate for the last layer.

    Parameters
    ----------
    n_bits : int, default=32
        Length of the code.
    slope : float, default=10.0
        A pair's logit is the inner product of its codes times `slope / n_bits` (the authors' 10).
    steepest : float, default=7.0
        beta in the last epoch.
    **shared
        Parameters of every deep method: see `DeepHasher`, also for the fitted attributes.
    """

    def __init__(
        self, n_bits: int = 32, *, slope: float = 10.0, steepest: float = 7.0, **shared: Unpack[Shared]
    ) -> None:
        super().__init__(n_bits, **shared)
        self.slope = slope
        self.steepest = steepest

    def _own_checks(self) -> list[Check]:
        return [
            ("slope", lambda value: value > 0, "above 0"),
            ("steepest", lambda value: value >= 1, "at least 1"),
        ]

    def _objective(self, task: Task) -> Objective:
        return WeightedPairs(task, self.slope / task.n_bits, self.steepest)


class WeightedPairs(Objective):
    """Weighted mean of the losses of the pairs within a batch."""

    def __init__(self, task: Task, slope: float, steepest: float) -> None:
        super().__init__()
        self.slope, self.steepest, self.multilabel = slope, steepest, task.multilabel
        self.beta = 1.0
        n_similar, n_pairs = count_pairs(task.labels)
        self.similar_weight = n_pairs / max(1, n_similar)
        self.other_weight = n_pairs / max(1, n_pairs - n_similar)

    def start_epoch(self, epoch: int, n_epochs: int, outputs: Outputs) -> None:
        self.beta = math.sqrt(1 + (self.steepest**2 - 1) * epoch / max(1, n_epochs - 1))

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        near = torch.tanh(self.beta * outputs)
        each = pairwise_loss(self.slope * near @ near.T, share_label(batch.labels, batch.labels))
        weights = self._weights(batch.labels) * distinct_pairs(batch.rows, batch.rows)
        return (weights * each).sum() / weights.sum().clamp(min=1e-6)

    def _weights(self, labels: Tensor) -> Tensor:
        """(n, n): what a pair weighs."""
        common = jaccard_similarity(labels, labels) if self.multilabel else share_label(labels, labels)
        return torch.where(common > 0, self.similar_weight * common, self.other_weight)


def count_pairs(labels: Tensor) -> tuple[float, float]:
    """(similar pairs, all pairs) of two different training images, both orders, from labels (N, C)."""
    kinds, counts = torch.unique(labels, dim=0, return_counts=True)  # images of a kind have the same labels
    sizes = counts.double()
    parts = zip(torch.split(kinds, _ROWS), torch.split(sizes, _ROWS), strict=True)
    n_similar = sum(float(part_sizes @ share_label(part, kinds).double() @ sizes) for part, part_sizes in parts)
    with_itself = float((labels.sum(dim=1) > 0).sum())
    return n_similar - with_itself, float(len(labels)) * (len(labels) - 1)
