"""The paper's Q-network: fully connected layers on [feature, code, history], dropout after each."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from drlh.hashers.drlh_paper.environment import HISTORY, ActionSet, State


class PaperNetwork(nn.Module):
    """Values of all actions. `image` is the share of the first layer that depends on the feature alone.

    A linear layer on a concatenation is a sum of three linear layers, so a walk computes `image` once; the code's share
    is a product with b columns, and the history's share adds up ten columns.
    """

    def __init__(
        self, n_features: int, actions: ActionSet, *, hidden: Sequence[int] = (1024, 1024), dropout: float = 0.5
    ) -> None:
        super().__init__()
        n_inputs = n_features + actions.n_bits * (1 + HISTORY)
        bound = 1 / math.sqrt(n_inputs)  # torch's own start for a layer of that many inputs
        self.features = nn.Linear(n_features, hidden[0])
        self.code = nn.Parameter(torch.empty(actions.n_bits, hidden[0]))
        self.history = nn.Parameter(torch.empty(HISTORY, actions.n_bits, hidden[0]))
        for part in (self.features.weight, self.features.bias, self.code, self.history):
            nn.init.uniform_(part, -bound, bound)
        self.actions = actions
        self.dropout = nn.Dropout(dropout)
        sizes = [*hidden, actions.n_actions]
        self.layers = nn.ModuleList(nn.Linear(n, m) for n, m in pairwise(sizes))

    def image(self, features: Tensor) -> Tensor:
        """(n, hidden): computed once for each image."""
        share: Tensor = self.features(features)
        return share

    def forward(self, image: Tensor, state: State) -> Tensor:
        """(n, n_actions) values."""
        code = state.signs.clamp(min=0).to(image.dtype)
        first = torch.addmm(image, code, self.code) + self._of_history(state.history)
        hidden = self.dropout(torch.relu(first))
        for layer in self.layers[:-1]:
            hidden = self.dropout(torch.relu(layer(hidden)))
        values: Tensor = self.layers[-1](hidden)
        return values

    def _of_history(self, history: Tensor) -> Tensor:
        """(n, hidden): the rows of the last flips' bits, summed; a place without a flip has a row of zeros."""
        table = nn.functional.pad(self.history, (0, 0, 0, 1))  # (10, b + 1, hidden): bit b is no bit
        bits = self.actions.bits[history.long()]  # (n, 10, width); -1 asks for the last action, the stop
        places = torch.arange(HISTORY, device=history.device)[:, None] * table.shape[1]
        summed: Tensor = _SumOfRows.apply(table.flatten(0, 1), (bits + places).flatten(1))  # type: ignore[no-untyped-call]
        return summed


class _SumOfRows(torch.autograd.Function):
    """`embedding_bag` with a gradient that need not sort the rows: one `index_add_` for each place."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, rows: Tensor) -> Tensor:
        """(n, hidden) from table (m, hidden) and rows (n, k)."""
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
