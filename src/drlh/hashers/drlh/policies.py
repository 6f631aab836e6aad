"""What a fitted agent does: one class for each preset, with the same two verbs, `encode` and `trace`.

A policy is made from plain arrays, so that a model file holds nothing else.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from drlh.core.codes import Codes, round_to_codes
from drlh.hashers.drlh.network import LookAhead, WalkNetwork, flip_values
from drlh.hashers.drlh.reward import Score
from drlh.hashers.drlh.walk import walk
from drlh.hashers.drlh_paper.environment import ActionSet, start_state, step
from drlh.hashers.drlh_paper.network import PaperNetwork

_ROWS = 4096  # walked side by side


@dataclass(frozen=True)
class Trace:
    """One image's walk, for people to look at."""

    codes: Codes  # (n_steps + 1, n_bits): the start, then the code after each flip
    actions: list[int]  # what was done at each code; the last is the stop, unless the step limit came first
    values: NDArray[np.float64]  # (n_steps + 1, n_actions): Q of every action at each code, the stop last
    distances: NDArray[np.int64]  # (n_steps + 1, n_classes): Hamming distance to each codeword


@dataclass(frozen=True)
class WalkPolicy:
    """The default agent."""

    network: WalkNetwork
    ahead: LookAhead  # of the network, in double precision like the score
    score: Score
    projection: Tensor  # (n_features, n_bits): the start code is the sign of the projected image
    gamma: float
    max_steps: int

    def encode(self, features: Tensor) -> Codes:
        found = [self._walk(part) for part in torch.split(features, _ROWS)]
        return round_to_codes(torch.cat(found).cpu().numpy())

    def _walk(self, features: Tensor) -> Tensor:
        labels, start = self._begin(features)
        return walk(self.ahead, self.score, labels, start, self.gamma, self.max_steps).signs

    @torch.no_grad()
    def _begin(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """(label weights, start signs), in the walk's precision."""
        labels = self.network.labels(features).to(self.score.embedding)
        return labels, start_signs(features, self.projection).to(self.score.embedding)

    @torch.no_grad()
    def trace(self, features: Tensor, codebook: NDArray[np.int8]) -> Trace:
        """The walk of one image (1, n_features)."""
        labels, signs = self._begin(features)
        pull = self.score.pull(labels)
        codes, actions, values = [signs.clone()], [], []
        while True:
            shares = self.score.shares(signs)
            flips = flip_values(self.ahead, self.score, signs, shares, pull, labels, self.gamma)
            values.append(torch.cat([flips, torch.zeros_like(flips[:, :1])], dim=1)[0])
            following = walk(self.ahead, self.score, labels, signs, self.gamma, 1)
            changed = torch.nonzero(following.signs[0] != signs[0])[:, 0]
            if not len(changed):
                actions.append(signs.shape[1])
                break
            actions.append(int(changed[0]))
            signs = following.signs
            codes.append(signs.clone())
            if len(codes) > self.max_steps:
                values.append(torch.full_like(values[0], torch.nan))
                break
        return _trace(torch.cat(codes), actions, torch.stack(values), codebook)


@dataclass(frozen=True)
class PaperPolicy:
    """The paper's agent: the greedy action until it stops or the step limit comes."""

    network: PaperNetwork
    actions: ActionSet
    projection: Tensor
    max_steps: int

    def encode(self, features: Tensor) -> Codes:
        found = [self._walk(part) for part in torch.split(features, _ROWS)]
        return round_to_codes(torch.cat(found).cpu().numpy())

    @torch.no_grad()
    def _walk(self, features: Tensor) -> Tensor:
        self.network.eval()
        image = self.network.image(features)
        state = start_state(start_signs(features, self.projection))
        ended = state.signs.clone()
        going = torch.arange(len(features), device=features.device)
        for _ in range(self.max_steps):
            action = self.network(image, state).argmax(dim=1)
            state, terminated, _ = step(state, action, self.actions, self.max_steps)
            ended[going] = state.signs
            going, image, state = going[~terminated], image[~terminated], state.rows(~terminated)
            if not len(going):
                break
        return ended

    @torch.no_grad()
    def trace(self, features: Tensor, codebook: NDArray[np.int8]) -> Trace:
        self.network.eval()
        image = self.network.image(features)
        state = start_state(start_signs(features, self.projection))
        codes, actions, values = [state.signs.clone()], [], []
        over = False
        while not over:
            found = self.network(image, state)
            values.append(found[0].double())
            actions.append(int(found.argmax()))
            state, terminated, truncated = step(state, found.argmax(dim=1), self.actions, self.max_steps)
            if not bool(terminated):
                codes.append(state.signs.clone())
            over = bool(terminated | truncated)
        if len(values) < len(codes):
            values.append(torch.full_like(values[0], torch.nan))
        return _trace(torch.cat(codes), actions, torch.stack(values), codebook)


def start_signs(features: Tensor, projection: Tensor) -> Tensor:
    """(n, b) int8: a fixed function of the model and the image, so that a code can be made again."""
    return torch.where(features @ projection >= 0, 1, -1).to(torch.int8)


def _trace(signs: Tensor, actions: list[int], values: Tensor, codebook: NDArray[np.int8]) -> Trace:
    codes = round_to_codes(signs.double().cpu().numpy())
    distances = (codes[:, None] != (codebook > 0)[None]).sum(axis=2)
    return Trace(codes, actions, values.double().cpu().numpy(), distances)
