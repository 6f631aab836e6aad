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
    large, t being half the inner product of outputs and m a margin. Triplets are sampled anew for each batch,
    with the latest outputs of all training images from a memory bank. A quantization loss pulls outputs to their signs.

    **Reference.** X. Wang, Y. Shi, K. M. Kitani, Deep supervised hashing with triplet labels, ACCV 2016; margin as in
    the authors' program.

    **Differences.** Each image is combined with `n_drawn` similar and as many dissimilar images; the authors sample 50
    and 50 of each other class, which has the same mean where classes are of equal size. They exclude the batch from its
    own triplets, here only the image itself is excluded. The loss is a mean over triplets and the quantization loss a
    mean over images and bits, so `eta` is not the authors' 100, the weight of a sum over 22,500 triplets: in our terms
    that is `0.009 * n_bits`. Beyond 12,000 training images triplets come from a sample of 12,000. Optimiser
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
        return TripletLikelihood(task, self.margin * task.n_bits, self.eta, self.n_drawn)


class TripletLikelihood(Objective):
    """Mean loss of triplets, and the quantization loss."""

    def __init__(self, task: Task, margin: float, eta: float, n_drawn: int) -> None:
        super().__init__()
        self.margin, self.eta, self.n_drawn, self.memory_bank = margin, eta, n_drawn, MemoryBank(task)

    def start_epoch(self, epoch: int, n_epochs: int, outputs: Outputs) -> None:
        self.memory_bank.start_epoch(epoch, outputs)

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        self.memory_bank.update(batch.rows, outputs)
        candidates = self.memory_bank.candidates()
        similarity = share_label(batch.labels, self.memory_bank.labels[candidates])
        distinct = distinct_pairs(batch.rows, candidates).to(similarity)
        inner = outputs @ self.memory_bank.outputs[candidates].T / 2
        keys = torch.rand_like(similarity) + 0.5  # the same for both: no image is positive and negative
        positives, positive_mask = sample_largest(inner, keys * similarity * distinct, self.n_drawn)
        negatives, negative_mask = sample_largest(inner, keys * (1 - similarity) * distinct, self.n_drawn)
        triplets = triplet_loss(positives, positive_mask, negatives, negative_mask, self.margin)
        return triplets + self.eta * quantization_loss(outputs, signs_of(outputs))


def sample_largest(values: Tensor, keys: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """(`values` (n, k) with the largest random keys, mask that is 0.0 where a key is 0 and the value not eligible)."""
    found = keys.topk(min(count, keys.shape[1]), dim=1, sorted=False)
    return values.gather(1, found.indices), (found.values > 0).to(values)


def triplet_loss(
    positives: Tensor, positive_mask: Tensor, negatives: Tensor, negative_mask: Tensor, margin: float
) -> Tensor:
    """Mean of -log sigma(t_qp - t_qn - margin) over all pairs of a positive and a negative that the masks allow."""
    losses = nn.functional.softplus(margin - positives[:, :, None] + negatives[:, None, :])
    mask = positive_mask[:, :, None] * negative_mask[:, None, :]
    return (mask * losses).sum() / mask.sum().clamp(min=1)
