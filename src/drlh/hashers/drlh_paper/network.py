"""The paper's Q-network, fully connected layers on [feature, code, history] with dropout after each, and its policy."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from drlh.core.codes import Codes, round_to_codes
from drlh.hashers.drlh_paper.environment import HISTORY, ActionSet, State, start_state, step
from drlh.hashers.training.agents import Trace, make_trace, start_signs

_ROWS = 4096  # walked side by side


class QNetwork(nn.Module):
    """Values of all actions. `image` is the part of the first layer that depends on the feature alone.

    A linear layer on a concatenation is a sum of three linear layers, so a walk computes `image` once; the code's part
    is a product with b columns, and the history's part adds up ten columns.
    """

    def __init__(self, n_features: int, actions: ActionSet, *, hidden_size: int = 1024, dropout: float = 0.5) -> None:
        super().__init__()
        n_inputs = n_features + actions.n_bits * (1 + HISTORY)
        bound = 1 / math.sqrt(n_inputs)  # torch's own start for a layer of that many inputs
        self.features = nn.Linear(n_features, hidden_size)
        self.code = nn.Parameter(torch.empty(actions.n_bits, hidden_size))
        self.history = nn.Parameter(torch.empty(HISTORY, actions.n_bits, hidden_size))
        for part in (self.features.weight, self.features.bias, self.code, self.history):
            nn.init.uniform_(part, -bound, bound)
        self.actions = actions
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList([nn.Linear(hidden_size, hidden_size), nn.Linear(hidden_size, actions.n_actions)])

    def image(self, features: Tensor) -> Tensor:
        """(n, hidden_size): computed once for each image."""
        part: Tensor = self.features(features)
        return part

    def forward(self, image: Tensor, state: State) -> Tensor:
        """(n, n_actions) values."""
        code = state.signs.clamp(min=0).to(image.dtype)
        first = torch.addmm(image, code, self.code) + self._of_history(state.history)
        hidden = self.dropout(torch.relu(first))
        hidden = self.dropout(torch.relu(self.layers[0](hidden)))
        values: Tensor = self.layers[1](hidden)
        return values

    def _of_history(self, history: Tensor) -> Tensor:
        """(n, hidden_size): the rows of the last flips' bits, summed; a place without a flip has a row of zeros."""
        table = nn.functional.pad(self.history, (0, 0, 0, 1))  # (10, b + 1, hidden_size): bit b is no bit
        bits = self.actions.bits[history.long()]  # (n, 10, width); -1 asks for the last action, the stop
        places = torch.arange(HISTORY, device=history.device)[:, None] * table.shape[1]
        summed: Tensor = _SumOfRows.apply(table.flatten(0, 1), (bits + places).flatten(1))  # type: ignore[no-untyped-call]
        return summed


class _SumOfRows(torch.autograd.Function):
    """`embedding_bag` with a gradient that need not sort the rows: one `index_add_` for each place."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, rows: Tensor) -> Tensor:
        """(n, hidden_size) from table (m, hidden_size) and rows (n, k)."""
        ctx.save_for_backward(rows)
        ctx.n_rows = len(table)
        return nn.functional.embedding_bag(rows, table, mode="sum")

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (rows,), (gradient,) = ctx.saved_tensors, gradients
        total = gradient.new_zeros(ctx.n_rows, gradient.shape[1])
        for place in rows.T:
            total.index_add_(0, place, gradient)
        return total, None


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
        codes, actions, values = [state.signs], [], []
        over = False
        while not over:
            found = self.network(image, state)
            values.append(found[0].double())
            actions.append(int(found.argmax()))
            state, terminated, truncated = step(state, found.argmax(dim=1), self.network.actions, self.max_steps)
            if not bool(terminated):
                codes.append(state.signs)
            over = bool(terminated | truncated)
        return make_trace(codes, actions, values, codewords)
