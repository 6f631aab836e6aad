"""The paper's Q-network, fully connected layers on [feature, code, history] with dropout after each, and its policy."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from drlh.core.codes import Codes, round_to_codes
from drlh.hashers.drlh_paper.environment import HISTORY, ActionSet, State, history_onehot, start_state, step
from drlh.hashers.training.agents import Trace, make_trace, start_signs

_ROWS = 4096  # walked side by side


class QNetwork(nn.Module):
    """Values of all actions. `image` is the part of the first layer that depends on the feature alone.

    A linear layer on a concatenation is a sum of linear layers, so a walk computes `image` once, and so do the several
    remembered steps of an image in one batch.
    """

    def __init__(
        self,
        n_features: int,
        actions: ActionSet,
        *,
        hidden_size: int = 512,
        n_layers: int = 2,
        dropout: float = 0.0,
        feature_dropout: float = 0.0,
        feature_scale: float = 1.0,  # so that the image's part of the first layer does not drown the code's
        code_input: str = "signs",  # or bits: the code as -1/+1 or as 0/1
        use_history: bool = True,
    ) -> None:
        super().__init__()
        n_inputs = n_features + actions.n_bits * (1 + HISTORY)
        bound = 1 / math.sqrt(n_inputs)  # torch's own start for a layer of that many inputs
        self.features = nn.Linear(n_features, hidden_size)
        self.code = nn.Parameter(torch.empty(actions.n_bits, hidden_size))
        self.history = nn.Parameter(torch.empty(HISTORY, actions.n_bits, hidden_size))
        for part in (self.features.weight, self.features.bias, self.code, self.history):
            nn.init.uniform_(part, -bound, bound)
        self.actions, self.feature_scale, self.use_history = actions, feature_scale, use_history
        self.lowest = {"signs": -1, "bits": 0}[code_input]
        self.dropout, self.feature_dropout = PooledDropout(dropout), PooledDropout(feature_dropout)
        hidden = [nn.Linear(hidden_size, hidden_size) for _ in range(n_layers - 1)]
        self.layers = nn.ModuleList([*hidden, nn.Linear(hidden_size, actions.n_actions)])

    def image(self, features: Tensor) -> Tensor:
        """(n, hidden_size): computed once for each image."""
        part: Tensor = self.features(self.feature_dropout(self.feature_scale * features))
        return part

    def forward(self, image: Tensor, state: State) -> Tensor:
        """(n, n_actions) values of n states; each image (m, hidden_size) has n / m of them, one after another."""
        if len(image) < len(state):
            image = image.repeat_interleave(len(state) // len(image), dim=0)
        inputs = state.signs.clamp(min=self.lowest).to(image.dtype)
        weights: Tensor = self.code
        if self.use_history:
            inputs = torch.cat([inputs, history_onehot(state.history, self.actions)], dim=1)
            weights = torch.cat([self.code, self.history.flatten(0, 1)])
        hidden = torch.addmm(image, inputs, weights)
        for layer in self.layers:
            hidden = layer(self.dropout(torch.relu(hidden)))
        return hidden


class PooledDropout(nn.Module):
    """Dropout whose masks are random stretches of one long random mask, the same in every process.

    On a CPU, drawing every mask anew takes a fifth of the time of learning.
    """

    def __init__(self, rate: float, size: int = 1 << 22) -> None:
        super().__init__()
        self.rate, self.size = rate, size
        self._pool: Tensor | None = None  # made when it is first used, and no part of the network's state

    def forward(self, values: Tensor) -> Tensor:
        if not self.training or not self.rate:
            return values
        n = values.numel()
        if n > self.size // 4:
            return nn.functional.dropout(values, self.rate)
        if self._pool is None:
            kept = torch.rand(self.size, generator=torch.Generator().manual_seed(0)) >= self.rate
            self._pool = (kept.to(values.dtype) / (1 - self.rate)).to(values.device)
        start = int(torch.randint(self.size - n + 1, ()))
        return values * self._pool[start : start + n].view_as(values)


@dataclass(frozen=True)
class GreedyPolicy:
    """The fitted agent: the action of highest value until it stops or the step limit comes."""

    network: QNetwork
    projection: Tensor  # (n_features, n_bits): the start code is the sign of the projected image
    max_steps: int

    def encode(self, inputs: Tensor) -> Codes:
        ended = [self._walk(part) for part in torch.split(inputs, _ROWS)]
        return round_to_codes(torch.cat(ended).cpu().numpy())

    @torch.no_grad()
    def _walk(self, inputs: Tensor) -> Tensor:
        self.network.eval()
        image = self.network.image(inputs)
        state = start_state(start_signs(inputs, self.projection))
        ended = state.signs.clone()
        going = torch.arange(len(inputs), device=inputs.device)
        for _ in range(self.max_steps):
            action = self.network(image, state).argmax(dim=1)
            state, terminated, _ = step(state, action, self.network.actions, self.max_steps)
            ended[going] = state.signs
            going, image, state = going[~terminated], image[~terminated], state.rows(~terminated)
            if not len(going):
                break
        return ended

    @torch.no_grad()
    def trace(self, inputs: Tensor, codewords: NDArray[np.int8]) -> Trace:
        """The walk of one image (1, n_features)."""
        self.network.eval()
        image = self.network.image(inputs)
        state = start_state(start_signs(inputs, self.projection))
        states, actions, values = [state], [], []
        over = False
        while not over:
            found = self.network(image, state)
            values.append(found[0].double())
            actions.append(int(found.argmax()))
            state, terminated, truncated = step(state, found.argmax(dim=1), self.network.actions, self.max_steps)
            if not bool(terminated):
                states.append(state)
            over = bool(terminated | truncated)
        history = [state.history for state in states] if self.network.use_history else None
        return make_trace([state.signs for state in states], actions, values, codewords, self.max_steps, history)
