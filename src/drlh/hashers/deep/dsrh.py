"""DSRH: rank the images of a batch by how many labels they share with a query."""

from typing import Unpack

import torch
from torch import Tensor

from drlh.hashers.deep.hasher import DeepHasher, Shared, Sizes
from drlh.hashers.deep.networks import Head
from drlh.hashers.deep.objective import Batch, Objective, Task, soft_hamming
from drlh.hashers.deep.triplets import MAX_QUERIES, Triplets, ranked_triplets, relevance_levels
from drlh.hashers.training.checks import Check


class DSRH(DeepHasher):
    """DSRH: deep semantic ranking based hashing.

    **Idea.** With several labels similarity has levels: the number of labels two images share. Every triplet in which
    the image of the higher level is not nearer to the query by a margin costs, and costs more the more the swap would
    lower NDCG. Bits are kept balanced over a batch.

    **Reference.** F. Zhao, Y. Huang, L. Wang, T. Tan, Deep semantic ranking based hashing for multi-label image
    retrieval, CVPR 2015. The weighted hinge follows the survey of Luo et al. (TKDD 2023); the layer that sees two
    layers below it, margin and weights of the paper could not be checked.

    **Differences.** The bits see the features and the hidden layer, as the paper's see its last two layers. Weights of
    a query's triplets sum to 1, and distances are shares of the bits; `margin` was chosen for that on a development
    split, where larger ones let all bits learn the same division. A query's ranking is the batch; at most 128 images
    of it are queries. Weight decay is the optimiser's. Optimiser and schedule are those of all deep methods here; the
    paper fine-tunes AlexNet by SGD.

    Parameters
    ----------
    n_bits : int, default=32
        Length of the code.
    margin : float, default=0.12
        By which share of the bits the less similar image should be farther away.
    alpha : float, default=0.1
        Weight of the balance of bits.
    **shared
        Parameters of every deep method: see `DeepHasher`, also for the fitted attributes.
    """

    def __init__(self, n_bits: int = 32, *, margin: float = 0.12, alpha: float = 0.1, **shared: Unpack[Shared]) -> None:
        super().__init__(n_bits, **shared)
        self.margin = margin
        self.alpha = alpha

    def _own_checks(self) -> list[Check]:
        return [
            ("margin", lambda value: 0 < value <= 1, "above 0 and at most 1"),
            ("alpha", lambda value: value >= 0, "at least 0"),
        ]

    def _network(self, n_in: int, sizes: Sizes) -> Head:
        return SkipHead(
            n_in, self.n_bits, hidden_size=sizes["hidden_size"], dropout=(sizes["feature_dropout"], sizes["dropout"])
        )

    def _objective(self, task: Task) -> Objective:
        return WeightedRanking(self.margin, self.alpha)


class SkipHead(Head):
    """A head whose outputs see the features beside the hidden layer."""

    def __init__(self, n_in: int, n_out: int, *, hidden_size: int, dropout: tuple[float, float] = (0.0, 0.0)) -> None:
        super().__init__(n_in, n_out, hidden_size=hidden_size, dropout=dropout)
        self.skip = torch.nn.Linear(n_in, n_out, bias=False) if hidden_size else None

    def forward(self, features: Tensor) -> Tensor:
        seen = self.input_dropout(features)
        if self.first is None or self.skip is None:
            outputs: Tensor = self.last(seen)
            return outputs
        both: Tensor = self.last(self.hidden_dropout(self.first(seen).relu())) + self.skip(seen)
        return both


class WeightedRanking(Objective):
    """Mean over queries of the weighted hinge, and the balance of bits."""

    def __init__(self, margin: float, alpha: float) -> None:
        super().__init__()
        self.margin, self.alpha = margin, alpha

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        signs = (outputs / 2).tanh()
        levels = relevance_levels(batch.labels)
        triplets = ranked_triplets(levels)
        distances = soft_hamming(signs[:MAX_QUERIES], signs) / signs.shape[1]
        hinge = (self.margin + triplets.gaps(distances)).clamp(min=0)
        balance = signs.mean(dim=0).square().mean()
        return (hinge * swap_weights(levels, triplets)).sum() + self.alpha / 2 * balance


def swap_weights(levels: Tensor, triplets: Triplets) -> Tensor:
    """(P, n): the difference of the gains 2^level, 0 where there is no triplet.

    Divided so that the weights of each query sum to 1, then by the number of queries that have a triplet.
    """
    gains = torch.exp2(levels - levels.amax(dim=1, keepdim=True))  # of each query's highest: large counts stay finite
    differences = gains[triplets.queries, triplets.positives][:, None] - gains[triplets.queries]
    weights = differences * triplets.negatives
    sums = levels.new_zeros(len(levels)).index_add(0, triplets.queries, weights.sum(dim=1))
    return weights / (sums[triplets.queries][:, None].clamp(min=1e-30) * (sums > 0).sum().clamp(min=1))
