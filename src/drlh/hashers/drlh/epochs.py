"""What the two learners share: an epoch's randomness and its report."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
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


@contextmanager
def epoch_streams(seed: int, epoch: int, device: torch.device) -> Iterator[tuple[np.random.Generator, torch.Generator]]:
    """Random numbers that depend on (seed, epoch) alone, so that a run can be taken up at any epoch.

    Dropout draws from torch's own stream: it is seeded inside and given back to the caller as it was.
    """
    rng = np.random.default_rng([seed, epoch])
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(int(rng.integers(2**62)))
        generator = torch.Generator(device)
        generator.manual_seed(int(rng.integers(2**62)))
        yield rng, generator
