"""All triplets of a batch: a query, a positive that should be near it, and a negative that should be farther away.

A triplet is stored as a pair (query, positive) and a column, the negative, so memory grows with the number of similar
pairs times the number of images and not with the cube of the batch.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from drlh.hashers.deep.objective import share_label

MAX_QUERIES = 128  # of a larger batch, whose images come in random order: the cost is quadratic in its size, not cubic


@dataclass(frozen=True)
class Triplets:
    """The first m of n images are queries: `queries` and `positives` (P,) name the pairs, `negatives` (P, n) is 0/1."""

    queries: Tensor
    positives: Tensor
    negatives: Tensor

    def gaps(self, distances: Tensor) -> Tensor:
        """(P, n): distance to the positive minus distance to the negative, from distances (m, n)."""
        return distances[self.queries, self.positives][:, None] - distances[self.queries]

    def mean(self, values: Tensor) -> Tensor:
        """Mean over the triplets of values (P, n); 0 where there is no triplet."""
        return (values * self.negatives).sum() / self.negatives.sum().clamp(min=1)

    def query_means(self, values: Tensor, n_queries: int) -> Tensor:
        """(n_queries,): the mean over each query's triplets; 0 for a query without any."""
        zeros = values.new_zeros(n_queries)
        sums = zeros.index_add(0, self.queries, (values * self.negatives).sum(dim=1))
        counts = zeros.index_add(0, self.queries, self.negatives.sum(dim=1))
        return sums / counts.clamp(min=1)


def ranked_triplets(levels: Tensor) -> Triplets:
    """All triplets whose positive has a higher relevance than the negative; levels (m, n), row k being query k."""
    places = torch.arange(levels.shape[1], device=levels.device)
    distinct = places[: len(levels), None] != places
    queries, positives = ((levels > 0) & distinct).nonzero(as_tuple=True)
    negatives = (levels[queries] < levels[queries, positives][:, None]) & distinct[queries]
    return Triplets(queries, positives, negatives.to(levels.dtype))


def relevance_levels(labels: Tensor) -> Tensor:
    """(m, n): how many labels each query, at most the first `MAX_QUERIES` images, shares with each image (n, C)."""
    return labels[:MAX_QUERIES] @ labels.T


def label_triplets(labels: Tensor) -> Triplets:
    """All triplets of images (n, C) whose positive shares a label with the query and whose negative shares none."""
    return ranked_triplets(share_label(labels[:MAX_QUERIES], labels))
