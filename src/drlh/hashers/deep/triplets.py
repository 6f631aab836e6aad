"""All triplets of a batch: a query, an image that should be near it, and one that should be farther away.

A triplet is named by a pair (query, nearer) and a column, the farther image, so the number of numbers is that of
similar pairs times that of images and not the cube of the batch.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from drlh.hashers.deep.objective import similar

MOST_QUERIES = 128  # of a larger batch, whose images stand in random order: the cost stays with its square


@dataclass(frozen=True)
class Triplets:
    """Of n images the first m ask: `queries` and `nearer` (P,) name the pairs, `farther` (P, n) is 1.0 or 0.0."""

    queries: Tensor
    nearer: Tensor
    farther: Tensor

    def gaps(self, distances: Tensor) -> Tensor:
        """(P, n): how much farther the nearer image lies than the other one, from distances (m, n)."""
        return distances[self.queries, self.nearer][:, None] - distances[self.queries]

    def mean(self, values: Tensor) -> Tensor:
        """Mean over the triplets of values (P, n); 0 where there is no triplet."""
        return (values * self.farther).sum() / self.farther.sum().clamp(min=1)

    def query_means(self, values: Tensor, n_queries: int) -> Tensor:
        """(n_queries,): the mean over each query's triplets; 0 for a query without any."""
        none = values.new_zeros(n_queries)
        total = none.index_add(0, self.queries, (values * self.farther).sum(dim=1))
        count = none.index_add(0, self.queries, self.farther.sum(dim=1))
        return total / count.clamp(min=1)


def triplets_of(levels: Tensor) -> Triplets:
    """All triplets in which the nearer image has the higher level; levels (m, n), row k belonging to image k."""
    places = torch.arange(levels.shape[1], device=levels.device)
    others = places[: len(levels), None] != places
    queries, nearer = ((levels > 0) & others).nonzero(as_tuple=True)
    farther = (levels[queries] < levels[queries, nearer][:, None]) & others[queries]
    return Triplets(queries, nearer, farther.to(levels.dtype))


def levels_of(labels: Tensor) -> Tensor:
    """(m, n): how many labels each of the first images, `MOST_QUERIES` at most, shares with each of all (n, C)."""
    return labels[:MOST_QUERIES] @ labels.T


def similar_triplets(labels: Tensor) -> Triplets:
    """All triplets of images (n, C) in which the nearer image shares a label with the query and the farther none."""
    return triplets_of(similar(labels[:MOST_QUERIES], labels))
