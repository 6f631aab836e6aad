"""Walks of the default agent: batched, each image until no flip is worth more than stopping.

What a step changes is small: one bit, and with it the code's agreement with each class. The image passes the network
once, walks that are over leave the batch, and a step works in the memory of three matrices (n, b). Encoding walks in
double precision and equal values go to the lower bit, so that a code depends on its image alone, not on the batch it
came in.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from drlh.core.codes import Codes, round_to_codes
from drlh.hashers.drlh.network import ValueHead, WalkNetwork, flip_values
from drlh.hashers.drlh.reward import LogScore
from drlh.hashers.training.agents import Trace, make_trace, start_signs

_LOWER_BIT_FIRST = 1e-9  # far above the noise of double precision, far below any reward that matters
_ROWS = 4096  # walked side by side


@dataclass(frozen=True)
class Walked:
    """`signs` (n, b) where the walks ended, `steps` (n,) flips made, `stopped` (n,) whether by the agent's own will."""

    signs: Tensor
    steps: Tensor
    stopped: Tensor


@torch.no_grad()
def walk(
    head: ValueHead,
    score: LogScore,
    class_probs: Tensor,
    start: Tensor,
    gamma: float,
    max_steps: int,
    *,
    epsilon: float = 0.0,
    generator: torch.Generator | None = None,
) -> Walked:
    """Walks from `start` (n, b) signs by `class_probs` (n, C); with probability epsilon a step is random."""
    n, n_bits = start.shape
    ended = start.clone()
    steps = torch.zeros(n, dtype=torch.int64, device=start.device)
    stopped = torch.zeros(n, dtype=torch.bool, device=start.device)
    going, signs = torch.arange(n, device=start.device), start.clone()
    drive = -signs * score.class_field(class_probs)  # a flip changes the sign of one number of it
    order = _LOWER_BIT_FIRST * torch.arange(1, n_bits + 1, dtype=start.dtype, device=start.device)
    for _ in range(max_steps):
        best, bit = _flip_values(head, score, signs, drive, class_probs, gamma).sub_(order).max(dim=1)
        goes = best > 0
        if epsilon:
            explores = torch.rand(len(going), generator=generator, device=start.device) < epsilon
            anywhere = torch.randint(n_bits, (len(going),), generator=generator, device=start.device)
            bit, goes = torch.where(explores, anywhere, bit), goes | explores
        if not bool(goes.all()):
            over, on = torch.nonzero(~goes)[:, 0], torch.nonzero(goes)[:, 0]
            ended[going[over]], stopped[going[over]] = signs[over], True
            kept = (going, signs, drive, class_probs, bit)
            going, signs, drive, class_probs, bit = (tensor.index_select(0, on) for tensor in kept)
            if not len(going):
                break
        for flipped in (signs, drive):
            flipped.scatter_(1, bit[:, None], -flipped.gather(1, bit[:, None]))
        steps[going] += 1
    ended[going] = signs
    return Walked(ended, steps, stopped)


def _flip_values(
    head: ValueHead, score: LogScore, signs: Tensor, drive: Tensor, class_probs: Tensor, gamma: float
) -> Tensor:
    """`network.flip_values` to the last bit, without its temporaries; `drive` is -signs * class field."""
    wide, narrow = math.cosh(2 * score.beta), math.sinh(2 * score.beta)
    posterior = score.posterior(signs)
    rewards = posterior @ score.codewords
    rewards.mul_(signs).mul_(-narrow).add_(wide).log_().mul_(class_probs.sum(dim=1, keepdim=True))
    torch.sub(drive, rewards, out=rewards)
    if not gamma:
        return rewards
    values: Tensor = head.out(torch.tanh_(head.hidden(torch.cat([posterior, class_probs], dim=1)))).relu_()
    values.mul_(rewards.amax(dim=1, keepdim=True).clamp_(min=0))
    torch.maximum(values, -rewards, out=values)
    return torch.add(rewards, values, alpha=gamma, out=values)


@dataclass(frozen=True)
class WalkPolicy:
    """The fitted agent: greedy walks."""

    network: WalkNetwork
    head: ValueHead  # the network's, in double precision like the score
    score: LogScore
    projection: Tensor  # (n_features, n_bits): the start code is the sign of the projected image
    gamma: float
    max_steps: int

    def encode(self, inputs: Tensor) -> Codes:
        ended = [self._walk(*self._begin(part), self.max_steps).signs for part in torch.split(inputs, _ROWS)]
        return round_to_codes(torch.cat(ended).cpu().numpy())

    @torch.no_grad()
    def _begin(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """(class probabilities, start signs), in the walk's precision."""
        class_probs = self.network.class_probs(inputs).to(self.score.codewords)
        return class_probs, start_signs(inputs, self.projection).to(self.score.codewords)

    def _walk(self, class_probs: Tensor, signs: Tensor, max_steps: int) -> Walked:
        return walk(self.head, self.score, class_probs, signs, self.gamma, max_steps)

    @torch.no_grad()
    def trace(self, inputs: Tensor, codewords: NDArray[np.int8]) -> Trace:
        """The walk of one image (1, n_features)."""
        class_probs, signs = self._begin(inputs)
        codes, actions, values = [signs], [], []
        while len(codes) <= self.max_steps:
            flips = flip_values(self.head, self.score, signs, self.score.posterior(signs), class_probs, self.gamma)
            values.append(torch.cat([flips, torch.zeros_like(flips[:, :1])], dim=1)[0])
            following = self._walk(class_probs, signs, 1)
            if bool(following.stopped):
                actions.append(signs.shape[1])
                break
            actions.append(int(torch.nonzero(following.signs[0] != signs[0])[0]))
            signs = following.signs
            codes.append(signs)
        return make_trace(codes, actions, values, codewords, self.max_steps)
