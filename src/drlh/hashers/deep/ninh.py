"""NINH: each bit has a slice of the hidden layer for itself, and triplets say what should be near."""

from typing import Unpack

import torch
from torch import Tensor, nn

from drlh.core.codes import Codes, round_to_codes
from drlh.hashers.deep.hasher import DeepHasher, Shared, Sizes
from drlh.hashers.deep.objective import Batch, Objective, Task, squared_distances
from drlh.hashers.deep.triplets import MAX_QUERIES, label_triplets
from drlh.hashers.training.checks import Check, is_count


class NINH(DeepHasher):
    """NINH: simultaneous feature learning and hash coding, with a network-in-network.

    **Idea.** The last hidden layer is divided into slices, one for each bit, so that bits repeat each other less. A
    bit is a sigmoid of its slice, cut to 0 or 1 outside a small band around 1/2, and a triplet loss on these nearly
    binary values pulls similar images together.

    **Reference.** H. Lai, Y. Pan, Y. Liu, S. Yan, Simultaneous feature learning and hash coding with deep neural
    networks, CVPR 2015. Loss and threshold follow the survey of Luo et al. (TKDD 2023), slices of 50 a public
    re-implementation; the width of the band could not be checked.

    **Differences.** A hidden layer of `slice_size` units for each bit on frozen features stands for the paper's
    convolutions, learned from scratch. All triplets of a batch count, at most 128 of its images as queries; distances
    are shares of the bits, and `margin` was chosen for that on a development split. Optimiser and schedule are those
    of all deep methods here.

    Parameters
    ----------
    n_bits : int, default=32
        Length of the code.
    slice_size : int, default=50
        Hidden units of each bit (the paper's 50); `hidden_size` is not used.
    margin : float, default=0.12
        By which share of the bits dissimilar images should be farther away.
    epsilon : float, default=0.45
        Half the width of the band around 1/2 in which values are not rounded.
    **shared
        Parameters of every deep method: see `DeepHasher`, also for the fitted attributes.
    """

    def __init__(
        self,
        n_bits: int = 32,
        *,
        slice_size: int = 50,
        margin: float = 0.12,
        epsilon: float = 0.45,
        **shared: Unpack[Shared],
    ) -> None:
        super().__init__(n_bits, **shared)
        self.slice_size = slice_size
        self.margin = margin
        self.epsilon = epsilon

    def _own_checks(self) -> list[Check]:
        return [
            ("slice_size", is_count, "a whole number of at least 1"),
            ("margin", lambda value: value > 0, "above 0"),
            ("epsilon", lambda value: 0 < value <= 0.5, "above 0 and at most 1/2"),
        ]

    def _network(self, n_in: int, sizes: Sizes) -> nn.Module:
        return SlicedHead(n_in, self.n_bits, self.slice_size, (sizes["feature_dropout"], sizes["dropout"]))

    def _objective(self, task: Task) -> Objective:
        return BandedTriplets(self.margin, self.epsilon)

    def _codes(self, outputs: Tensor) -> Codes:
        return round_to_codes(outputs.double().cpu().numpy() - 0.5)


class SlicedHead(nn.Module):
    """Features (n, n_in) → (n, n_bits) in (0, 1): a hidden layer in slices, one for each output."""

    def __init__(self, n_in: int, n_bits: int, slice_size: int, dropout: tuple[float, float] = (0.0, 0.0)) -> None:
        super().__init__()
        self.input_dropout, self.hidden_dropout = nn.Dropout(dropout[0]), nn.Dropout(dropout[1])
        self.first = nn.Linear(n_in, n_bits * slice_size)
        self.weight = nn.Parameter(torch.empty(n_bits, slice_size).uniform_(-1, 1) / slice_size**0.5)
        self.bias = nn.Parameter(torch.zeros(n_bits))

    def forward(self, features: Tensor) -> Tensor:
        slices = self.hidden_dropout(self.first(self.input_dropout(features)).relu()).unflatten(1, self.weight.shape)
        outputs: Tensor = ((slices * self.weight).sum(dim=2) + self.bias).sigmoid()
        return outputs


class BandedTriplets(Objective):
    """Mean hinge of all triplets on values pressed to 0 and 1 outside a band."""

    def __init__(self, margin: float, epsilon: float) -> None:
        super().__init__()
        self.margin, self.epsilon = margin, epsilon

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        values = banded(outputs, self.epsilon)
        triplets = label_triplets(batch.labels)
        gaps = triplets.gaps(squared_distances(values[:MAX_QUERIES], values) / values.shape[1])
        return triplets.mean((self.margin + gaps).clamp(min=0))


def banded(values: Tensor, epsilon: float) -> Tensor:
    """0 below the band around 1/2, 1 above it, unchanged inside."""
    low = torch.where(values < 0.5 - epsilon, torch.zeros_like(values), values)
    return torch.where(values > 0.5 + epsilon, torch.ones_like(values), low)
