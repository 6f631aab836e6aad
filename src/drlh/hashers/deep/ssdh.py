"""SSDH: a layer of sigmoid units that a classifier reads, half of them on, none of them in doubt."""

from typing import Unpack

import torch
from torch import Tensor, nn

from drlh.hashers.deep.hasher import DeepHasher, Shared
from drlh.hashers.deep.objective import Batch, Objective, Task
from drlh.hashers.training.checks import Check


class SSDH(DeepHasher):
    """Supervised semantics-preserving deep hashing.

    **Idea.** A linear classifier reads sigmoid units, one for each bit, so the units must hold what tells classes
    apart. Two more terms push every unit away from 1/2, and the units of an image to be on as often as off.

    **Reference.** H.-F. Yang, K. Lin, C.-S. Chen, Supervised learning of semantics-preserving hash via deep
    convolutional neural networks, TPAMI 2018 (arXiv 1507.00101); constants as in the authors' program.

    **Differences.** Several labels: a squared hinge loss for each label, summed over labels. The paper has such a loss
    of maximum margin, which the authors' program leaves out, and it could not be checked against the paper. Optimiser
    and schedule are those of all deep methods here; the paper fine-tunes a CNN by SGD, with a larger rate for the
    classifier.

    Parameters
    ----------
    n_bits : int, default=32
        Length of the code.
    alpha : float, default=1.0
        Weight of the classifier's loss (the paper's 1).
    beta : float, default=1.0
        Weight of the units' distance from 1/2 (the paper's 1).
    gamma : float, default=1.0
        Weight of the balance of bits within an image (the paper's 1).
    **shared
        Parameters of every deep method: see `DeepHasher`, also for the fitted attributes.
    """

    def __init__(
        self, n_bits: int = 32, *, alpha: float = 1.0, beta: float = 1.0, gamma: float = 1.0, **shared: Unpack[Shared]
    ) -> None:
        super().__init__(n_bits, **shared)
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma

    def _own_checks(self) -> list[Check]:
        return [(name, lambda value: value >= 0, "at least 0") for name in ("alpha", "beta", "gamma")]

    def _objective(self, task: Task) -> Objective:
        return UnitClassifier(task, self.alpha, self.beta, self.gamma)


class UnitClassifier(Objective):
    """Loss of a linear classifier on the sigmoid units, less their distance from 1/2, plus their imbalance."""

    def __init__(self, task: Task, alpha: float, beta: float, gamma: float) -> None:
        super().__init__()
        self.weights, self.multilabel = (alpha, beta, gamma), task.multilabel
        self.classifier = nn.Linear(task.n_bits, task.n_classes)

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        units = outputs.sigmoid()
        certainty = (units - 0.5).square().mean() / 2
        imbalance = (units.mean(dim=1) - 0.5).square().mean() / 2
        alpha, beta, gamma = self.weights
        return alpha * self._label_loss(units, batch.labels) - beta * certainty + gamma * imbalance

    def _label_loss(self, units: Tensor, labels: Tensor) -> Tensor:
        scores = self.classifier(units)
        return hinge_loss(scores, labels) if self.multilabel else nn.functional.cross_entropy(scores, labels)


def hinge_loss(scores: Tensor, labels: Tensor) -> Tensor:
    """Squared hinge of each label, present or absent, summed over labels; mean over images."""
    margins = (2 * labels - 1) * scores
    return torch.relu(1 - margins).square().sum(dim=1).mean()
