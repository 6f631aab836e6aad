"""Walks of the default agent: batched, each image until no flip is worth more than stopping.

What a step changes is small: one bit, and with it the code's agreement with each class. The image passes the network
once, walks that are over leave the batch, and a step works in the memory of three matrices (n, b). Encoding walks in
double precision and equal values go to the lower bit, so that a code depends on its image alone, not on the batch it
came in.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from drlh.hashers.drlh.network import LookAhead
from drlh.hashers.drlh.reward import Score

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
    going, signs = torch.arange(n, device=start.device), start.clone()
    drive = -signs * score.pull(labels)  # a flip turns one number of it round
    order = _LOWER_BIT_FIRST * torch.arange(1, n_bits + 1, dtype=start.dtype, device=start.device)
    for _ in range(max_steps):
        best, bit = _flip_values(ahead, score, signs, drive, labels, gamma).sub_(order).max(dim=1)
        goes = best > 0
        if epsilon:
            explores = torch.rand(len(going), generator=generator, device=start.device) < epsilon
            anywhere = torch.randint(n_bits, (len(going),), generator=generator, device=start.device)
            bit, goes = torch.where(explores, anywhere, bit), goes | explores
        if not bool(goes.all()):
            over, on = torch.nonzero(~goes)[:, 0], torch.nonzero(goes)[:, 0]
            ended[going[over]], stopped[going[over]] = signs[over], True
            going, signs, drive, labels, bit = (t.index_select(0, on) for t in (going, signs, drive, labels, bit))
            if not len(going):
                break
        for flipped in (signs, drive):
            flipped.scatter_(1, bit[:, None], -flipped.gather(1, bit[:, None]))
        steps[going] += 1
    ended[going] = signs
    return Walked(ended, steps, stopped)


def _flip_values(ahead: LookAhead, score: Score, signs: Tensor, drive: Tensor, labels: Tensor, gamma: float) -> Tensor:
    """`network.flip_values` to the last bit, without its temporaries; `drive` is -signs * pull."""
    wide, narrow = math.cosh(2 * score.kappa), math.sinh(2 * score.kappa)
    shares = score.shares(signs)
    gains = shares @ score.embedding
    gains.mul_(signs).mul_(-narrow).add_(wide).log_().mul_(labels.sum(dim=1, keepdim=True))
    torch.sub(drive, gains, out=gains)
    if not gamma:
        return gains
    values: Tensor = ahead.out(torch.tanh_(ahead.into(torch.cat([shares, labels], dim=1)))).relu_()
    values.mul_(gains.amax(dim=1, keepdim=True).clamp_(min=0))
    torch.maximum(values, -gains, out=values)
    return torch.add(gains, values, alpha=gamma, out=values)
