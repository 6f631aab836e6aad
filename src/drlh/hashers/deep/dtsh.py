"""DTSH: an image should be nearer to one that shares a label than to one that does not, by half of the bits."""

from typing import Unpack

import torch
from torch import Tensor, nn

from drlh.hashers.deep.hasher import DeepHasher, Shared
from drlh.hashers.deep.objective import Batch, Objective, Outputs, Task, distinct_pairs, share_label
from drlh.hashers.deep.pairwise import MemoryBank, quantization_loss, signs_of
from drlh.hashers.training.checks import Check, is_count


class DTSH(DeepHasher):
    """Deep hashing with triplets.

    **Idea.** For an image q, a similar one p and a dissimilar one n, the likelihood sigma(t_qp - t_qn - m) should be
    large, t being half the inner product of outputs and m a margin. Triplets are drawn anew for each batch, with
    latest outputs of all training images from a memory. A penalty pulls outputs to their signs.

    **Reference.** X. Wang, Y. Shi, K. M. Kitani, Deep supervised hashing with triplet labels, ACCV 2016; margin as in
    the authors' program.

    **Differences.** Each image meets `n_drawn` similar ones and as many dissimilar ones, in all combinations; the
    authors draw 50 and 50 of each other class, which has the same mean where classes are alike in size. They leave
    the batch out of its own triplets, here only the image itself is. The loss is a mean over triplets and the penalty
    a mean over images and bits, so `eta` is not the authors' 100, which stands beside a sum over 22,500 triplets: in
    our terms that is `0.009 * n_bits`. Beyond 12,000 training images the draw is from a sample of 12,000. Optimiser
    and schedule are those of all deep methods here; the paper fine-tunes CNN-F by SGD.

    Parameters
    ----------
    n_bits : int, default=32
        Length of the code.
    margin : float, default=0.5
        The margin m as a share of `n_bits`.
    eta : float, default=0.1
        Weight of the quantization loss.
    n_drawn : int, default=50
        Positives, and as many negatives, sampled for each image of a batch.
    **shared
        Parameters of every deep method: see `DeepHasher`, also for the fitted attributes.
    """

    def __init__(
        self,
        n_bits: int = 32,
        *,
        margin: float = 0.5,
        eta: float = 0.1,
        n_drawn: int = 50,
        **shared: Unpack[Shared],
    ) -> None:
        super().__init__(n_bits, **shared)
        self.margin = margin
        self.eta = eta
        self.n_drawn = n_drawn

    def _own_checks(self) -> list[Check]:
        return [
            ("margin", lambda value: value >= 0, "at least 0"),
            ("eta", lambda value: value >= 0, "at least 0"),
            ("n_drawn", is_count, "a whole number of at least 1"),
        ]

    def _objective(self, task: Task) -> Objective:
        return Triplets(task, self.margin * task.n_bits, self.eta, self.n_drawn)


class Triplets(Objective):
    """Mean loss of triplets, and the penalty."""

    def __init__(self, task: Task, margin: float, eta: float, n_drawn: int) -> None:
        super().__init__()
        self.margin, self.eta, self.n_drawn, self.memory_bank = margin, eta, n_drawn, MemoryBank(task)

    def start_epoch(self, epoch: int, n_epochs: int, outputs: Outputs) -> None:
        self.memory_bank.start_epoch(epoch, outputs)

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        self.memory_bank.update(batch.rows, outputs)
        columns = self.memory_bank.candidates()
        same = share_label(batch.labels, self.memory_bank.labels[columns])
        others = distinct_pairs(batch.rows, columns).to(same)
        inner = outputs @ self.memory_bank.outputs[columns].T / 2
        order = torch.rand_like(same) + 0.5  # one order for both: no image is similar and dissimilar
        nearer, near = draw(inner, order * same * others, self.n_drawn)
        farther, far = draw(inner, order * (1 - same) * others, self.n_drawn)
        triplets = triplet_loss(nearer, near, farther, far, self.margin)
        return triplets + self.eta * quantization_loss(outputs, signs_of(outputs))


def draw(values: Tensor, order: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """(n, k) of `values` (n, m) where `order` is largest, and 1.0 where it is above 0 there: 0 was not to be drawn."""
    found = order.topk(min(count, order.shape[1]), dim=1, sorted=False)
    return values.gather(1, found.indices), (found.values > 0).to(values)


def triplet_loss(nearer: Tensor, near: Tensor, farther: Tensor, far: Tensor, margin: float) -> Tensor:
    """Mean of -log sigma(t_qp - t_qn - margin) over all p and n of a row; `near`, `far` are 1.0 where one is there."""
    each = nn.functional.softplus(margin - nearer[:, :, None] + farther[:, None, :])
    there = near[:, :, None] * far[:, None, :]
    return (there * each).sum() / there.sum().clamp(min=1)
