"""What the two learners tell of an epoch."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class EpochReport:
    """What an epoch was like, for progress and plots."""

    epoch: int
    epsilon: float
    loss: float
    mean_return: float  # undiscounted, for each image
    mean_steps: float
    stopped: float  # share of the walks that ended by a stop
    end_distance: float  # Hamming distance from a walk's end to the nearest codeword of the image's own classes
    probe_map: float | None = None  # tie-aware mAP of images held out, where some are


def distance_to_own(signs: Tensor, embedding: Tensor, labels: Tensor) -> Tensor:
    """(n,): Hamming distance from codes (n, b) to the nearest codeword of each image's labels, ids or multi-hot."""
    wide = embedding.to(torch.float32)
    distances = (signs.shape[1] - signs.to(torch.float32) @ wide.T) / 2
    if labels.ndim == 1:
        return distances.gather(1, labels[:, None].long())[:, 0]
    # An image without a label has no codeword of its own: it counts as on the spot.
    nearest = distances.masked_fill(labels == 0, torch.inf).amin(dim=1)
    return torch.where(torch.isinf(nearest), 0.0, nearest)
