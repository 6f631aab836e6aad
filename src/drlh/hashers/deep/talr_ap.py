"""TALR-AP: raise the average precision of the ranking itself, ties and all, through soft histograms of distances."""

from typing import Unpack

import torch
from torch import Tensor

from drlh.hashers.deep.hasher import DeepHasher, Shared
from drlh.hashers.deep.objective import Batch, Objective, distinct_pairs, share_label, soft_hamming
from drlh.hashers.training.checks import Check, is_count

_FEW_BITS = 32  # from here on two distances share a bin, as in the authors' experiments


class TALRAP(DeepHasher):
    """TALR-AP: tie-aware learning to rank by average precision.

    **Idea.** Every image of a batch asks for the others. How many of them, and how many similar ones, lie at each
    Hamming distance fixes the average precision, ties included; with relaxed signs and triangular bins these counts
    have gradients, and the mean average precision is raised directly.

    **Reference.** K. He, F. Cakir, S. A. Bargal, S. Sclaroff, Hashing as tie-aware learning to rank, CVPR 2018: the
    simplified form of the relaxed tie-aware AP. Formula, bins and constants are those of the authors' code.

    **Differences.** The mean is over queries that have a similar image in the batch. Optimiser, schedule and size of
    a batch are those of all deep methods here; the paper fine-tunes VGG-F by SGD with 250 images in a batch.

    Parameters
    ----------
    n_bits : int, default=32
        Length of the code.
    gamma : float, default=1.0
        Steepness of the relaxed sign tanh(gamma u / 2) (the authors' 1).
    n_bins : int or None, default=None
        Bins between distance 0 and `n_bits`; None is one for each bit, or half as many from 32 bits on.
    **shared
        Parameters of every deep method: see `DeepHasher`, also for the fitted attributes.
    """

    def __init__(
        self, n_bits: int = 32, *, gamma: float = 1.0, n_bins: int | None = None, **shared: Unpack[Shared]
    ) -> None:
        super().__init__(n_bits, **shared)
        self.gamma = gamma
        self.n_bins = n_bins

    def _own_checks(self) -> list[Check]:
        return [
            ("gamma", lambda value: value > 0, "above 0"),
            ("n_bins", lambda value: value is None or is_count(value), "a whole number of at least 1"),
        ]

    def _objective(self, task: object) -> Objective:
        usual = self.n_bits if self.n_bits < _FEW_BITS else self.n_bits // 2
        return RankingPrecision(self.gamma, self.n_bins or usual)


class RankingPrecision(Objective):
    """1 minus the mean relaxed average precision of a batch."""

    def __init__(self, gamma: float, n_bins: int) -> None:
        super().__init__()
        self.gamma, self.n_bins = gamma, n_bins

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        signs = (self.gamma * outputs / 2).tanh()
        others = distinct_pairs(batch.rows, batch.rows).to(outputs)
        shares = soft_shares(soft_hamming(signs, signs), signs.shape[1], self.n_bins)
        return 1 - soft_average_precision(shares, share_label(batch.labels, batch.labels) * others, others)


def soft_shares(distances: Tensor, n_bits: int, n_bins: int) -> Tensor:
    """(n, m, n_bins + 1): each distance divided among the two bins it lies between."""
    width = n_bits / n_bins
    centres = torch.arange(n_bins + 1).to(distances)
    return (1 - (distances[..., None] / width - centres).abs()).clamp(min=0)


def soft_average_precision(shares: Tensor, relevant: Tensor, ranked: Tensor) -> Tensor:
    """Mean over queries from shares (n, m, bins); `relevant` and `ranked` (n, m) are 1.0 for images that count."""
    hits, total = (torch.einsum("nmb,nm->nb", shares, counts) for counts in (relevant, ranked))
    hits_until, total_until = hits.cumsum(dim=1), total.cumsum(dim=1)
    # Counts before and up to a level, averaged, plus 1/2: the precision in the middle of its ties.
    precision = (2 * hits_until - hits + 1) / (2 * total_until - total + 1)
    n_relevant = relevant.sum(dim=1)
    each = (hits * precision).sum(dim=1) / n_relevant.clamp(min=1)
    return each.sum() / (n_relevant > 0).sum().clamp(min=1)
