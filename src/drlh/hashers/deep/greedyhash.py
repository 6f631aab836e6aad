"""GreedyHash: classify by the signs themselves, and let the gradient pass as if they were not there."""

from typing import Unpack

import torch
from torch import Tensor, nn

from drlh.hashers.deep.hasher import DeepHasher, Shared, Sizes
from drlh.hashers.deep.objective import Batch, Objective, Task
from drlh.hashers.training.checks import Check

_QUICKER = 4.0  # times the rate for several labels, each of which says little: at 1 they are hardly begun (VOC)


class GreedyHash(DeepHasher):
    """GreedyHash.

    **Idea.** A classifier sees the signs of the network's outputs, so the loss is that of the codes and not of a
    relaxation. Going back, the sign is taken for the identity, and a cubic penalty keeps outputs near -1 and +1.

    **Reference.** S. Su, C. Zhang, K. Han, Y. Tian, Greedy hash: towards fast optimization for accurate hash coding in
    CNN, NeurIPS 2018, equations (8) and (9).

    **Differences.** Several labels, which the paper does not treat: a logistic loss for each label, a bias, and a
    quicker rate. Optimiser and schedule are those of all deep methods here; the paper fine-tunes AlexNet by SGD.

    Parameters
    ----------
    n_bits : int, default=32
        Length of the code.
    alpha : float, default=0.1
        Weight of the penalty (the paper's 0.1).
    **shared
        Parameters of every deep method: see `DeepHasher`, also for the fitted attributes.
    """

    def __init__(self, n_bits: int = 32, *, alpha: float = 0.1, **shared: Unpack[Shared]) -> None:
        super().__init__(n_bits, **shared)
        self.alpha = alpha

    def _own_checks(self) -> list[Check]:
        return [("alpha", lambda value: value >= 0, "at least 0")]

    def _sizes(self, n_images: int, n_features: int) -> Sizes:
        sizes = super()._sizes(n_images, n_features)
        if self.multilabel_ and self.learning_rate is None:
            sizes["learning_rate"] *= _QUICKER
        return sizes

    def _objective(self, task: Task) -> Objective:
        return SignClassifier(task, self.alpha)


class SignClassifier(Objective):
    """Cross-entropy of a linear classifier on the signs, and the penalty."""

    def __init__(self, task: Task, alpha: float) -> None:
        super().__init__()
        self.alpha, self.multilabel = alpha, task.multilabel
        # The paper's classifier has no bias; of several labels most are absent, which only a bias can say.
        self.classifier = nn.Linear(task.n_bits, task.n_classes, bias=task.multilabel)

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        penalty = (outputs.abs() - 1).abs().pow(3).mean()
        return label_loss(self.classifier(straight_sign(outputs)), batch.labels, self.multilabel) + self.alpha * penalty


def straight_sign(outputs: Tensor) -> Tensor:
    """-1 or +1; backwards the identity."""
    signs = torch.where(outputs > 0, 1.0, -1.0)
    return outputs + (signs - outputs).detach()


def label_loss(logits: Tensor, labels: Tensor, multilabel: bool) -> Tensor:
    """Cross-entropy of one label among all, or the sum over labels of a logistic loss for each; mean over images."""
    if multilabel:
        each = nn.functional.binary_cross_entropy_with_logits(logits, labels, reduction="none")
        return each.sum(dim=1).mean()
    return nn.functional.cross_entropy(logits, labels)
