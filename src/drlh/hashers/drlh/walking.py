"""Walks of the default agent: batched, each image until no flip is worth more than stopping.

What a step changes is small: one bit, and with it the code's agreement with each class. The image passes the network
once; walks that are over leave the batch. Encoding walks in double precision and equal values go to the lower bit, so
that a code depends on its image alone, not on the batch it came in.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from drlh.hashers.drlh.network import LookAhead, flip_values
from drlh.hashers.drlh.score import Score

_LOWER_BIT_FIRST = 1e-9  # far above the noise of double precision, far below any gain that matters


@dataclass(frozen=True)
class Walked:
    """`signs` (n, b) where the walks ended, `steps` (n,) flips made, `stopped` (n,) whether by the agent's own will."""

    signs: Tensor
    steps: Tensor
    stopped: Tensor


@torch.no_grad()
def walk(
    ahead: LookAhead,
    score: Score,
    labels: Tensor,
    start: Tensor,
    gamma: float,
    max_steps: int,
    *,
    epsilon: float = 0.0,
    generator: torch.Generator | None = None,
) -> Walked:
    """Walks from `start` (n, b) signs with label weights `labels` (n, C); with chance epsilon a step is random."""
    n, n_bits = start.shape
    ended = start.clone()
    steps = torch.zeros(n, dtype=torch.int64, device=start.device)
    stopped = torch.zeros(n, dtype=torch.bool, device=start.device)
    going = torch.arange(n, device=start.device)
    signs, pull = start.clone(), score.pull(labels)
    order = _LOWER_BIT_FIRST * torch.arange(1, n_bits + 1, dtype=start.dtype, device=start.device)
    for _ in range(max_steps):
        shares = score.shares(signs)
        best, bit = (flip_values(ahead, score, signs, shares, pull, labels, gamma) - order).max(dim=1)
        goes = best > 0
        if epsilon:
            explores = torch.rand(len(going), generator=generator, device=start.device) < epsilon
            anywhere = torch.randint(n_bits, (len(going),), generator=generator, device=start.device)
            bit, goes = torch.where(explores, anywhere, bit), goes | explores
        if not bool(goes.all()):
            over = going[~goes]
            ended[over], stopped[over] = signs[~goes], True
            going, signs, pull, labels, bit = going[goes], signs[goes], pull[goes], labels[goes], bit[goes]
            if not len(going):
                break
        signs.scatter_(1, bit[:, None], -signs.gather(1, bit[:, None]))
        steps[going] += 1
    ended[going] = signs
    return Walked(ended, steps, stopped)
