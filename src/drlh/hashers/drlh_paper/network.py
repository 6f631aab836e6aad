"""The paper's Q-network, fully connected layers on [feature, code, history] with dropout after each, and its policy."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from drlh.core.codes import Codes, round_to_codes
from drlh.hashers.drlh_paper.environment import HISTORY, ActionSet, State, history_onehot, start_state, step
from drlh.hashers.drlh_paper.layers import wide_layer
from drlh.hashers.training.agents import Trace, make_trace, start_signs

_ROWS = 4096  # walked side by side


class QNetwork(nn.Module):
    """Values of all actions. `image` is the part of the first layer that depends on the feature alone.

    A linear layer on a concatenation is a sum of linear layers, so a walk computes `image` once, and so do the several
    remembered steps of an image in one batch.

    Not in the paper: `layer`, what stands in place of the wide matrices (`layers.py`); `composed_pairs`, a pair's value
    is a learned scale times the sum of those of its two flips plus a learned offset; `relative_actions`, the value of
    flip k is u_k - s_k g_k, with the code's sign s_k and two outputs u_k and g_k.
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
        layer: str = "dense",
        composed_pairs: bool = False,
        relative_actions: bool = False,
    ) -> None:
        super().__init__()
        n_inputs = n_features + actions.n_bits * (1 + HISTORY)
        bound = 1 / math.sqrt(n_inputs)  # torch's own start for a layer of that many inputs
        self.features = wide_layer(layer, n_features, hidden_size, fan_in=n_inputs)
        self.code = nn.Parameter(torch.empty(actions.n_bits, hidden_size))
        self.history = nn.Parameter(torch.empty(HISTORY, actions.n_bits, hidden_size))
        for part in (self.code, self.history):
            nn.init.uniform_(part, -bound, bound)
        self.actions, self.feature_scale, self.use_history = actions, feature_scale, use_history
        self.lowest = {"signs": -1, "bits": 0}[code_input]
        self.dropout, self.feature_dropout = PooledDropout(dropout), PooledDropout(feature_dropout)
        self.composed_pairs, self.relative_actions = composed_pairs, relative_actions
        n_outputs = actions.n_actions
        if composed_pairs:
            n_outputs = actions.n_bits + 1
            # A pair begins with the mean of its flips: their sum counts the future twice, more than gamma takes off.
            self.pair_scale, self.pair_offset = nn.Parameter(torch.tensor(0.5)), nn.Parameter(torch.tensor(0.0))
        elif relative_actions:
            n_outputs = 2 * actions.n_bits + 1
        hidden = [wide_layer(layer, hidden_size, hidden_size) for _ in range(n_layers - 1)]
        self.layers = nn.ModuleList([*hidden, nn.Linear(hidden_size, n_outputs)])

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
        if self.composed_pairs:
            return self._with_pairs(hidden)
        return self._relative_to(state.signs, hidden) if self.relative_actions else hidden

    def _with_pairs(self, outputs: Tensor) -> Tensor:
        """(n, n_actions) from the values of single flips and the stop (n, b + 1)."""
        n_bits = self.actions.n_bits
        first, second = self.actions.bits[n_bits:-1].T
        pairs = self.pair_scale * (outputs[:, first] + outputs[:, second]) + self.pair_offset
        return torch.cat([outputs[:, :n_bits], pairs, outputs[:, n_bits:]], dim=1)

    def _relative_to(self, signs: Tensor, outputs: Tensor) -> Tensor:
        """(n, b + 1) from u, g and the value of the stop (n, 2b + 1)."""
        n_bits = self.actions.n_bits
        flips = outputs[:, :n_bits] - signs * outputs[:, n_bits : 2 * n_bits]
        return torch.cat([flips, outputs[:, 2 * n_bits :]], dim=1)


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
