"""What the two learners share: an epoch's randomness and its report."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch


@dataclass(frozen=True)
class EpochReport:
    """What an epoch was like, for progress and plots."""

    epoch: int
    epsilon: float
    loss: float
    mean_return: float  # undiscounted, for each image
    mean_steps: float
    stopped: float  # share of the walks that ended by a stop


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
