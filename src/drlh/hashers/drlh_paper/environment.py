"""The walk on the binary cube: states, actions, and how an action changes a state. No labels and no rewards here.

Everything is batched: row `i` of every tensor belongs to the walk of image `i`. Codes are signs -1/+1.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from drlh.core.errors import UserError

HISTORY = 10  # the paper remembers this many past flips


@dataclass(frozen=True)
class ActionSet:
    """What the agent may do: the flips, numbered from 0, and last the stop.

    `bits` (n_actions, width) lists the bits an action flips; places left over hold n_bits, which is no bit.
    `factors` (n_actions, n_bits) holds -1 where the action flips and +1 elsewhere: code * factor = next code.
    """

    n_bits: int
    bits: Tensor
    factors: Tensor

    @property
    def n_actions(self) -> int:
        return len(self.bits)

    @property
    def stop(self) -> int:
        return len(self.bits) - 1

    @property
    def pairs(self) -> Tensor:
        """(n_actions,) bool: which actions flip two bits."""
        return (self.bits < self.n_bits).sum(dim=1) > 1


def one_bit_actions(n_bits: int, device: str | torch.device = "cpu") -> ActionSet:
    """b + 1 actions: action k < b flips bit k, action b stops."""
    return _action_set(n_bits, torch.arange(n_bits)[:, None], device)


def two_bit_actions(n_bits: int, device: str | torch.device = "cpu") -> ActionSet:
    """1 + b + b(b-1)/2 actions: the b single flips as before, then the pairs (0,1), (0,2), ..., then the stop."""
    if n_bits > 255:
        raise UserError(
            f"pairs of bits can be flipped in codes of at most 255 bits: got n_bits={n_bits}; flip single bits"
        )
    singles = torch.stack([torch.arange(n_bits), torch.full((n_bits,), n_bits)], dim=1)
    return _action_set(n_bits, torch.cat([singles, torch.combinations(torch.arange(n_bits))]), device)


def _action_set(n_bits: int, flips: Tensor, device: str | torch.device) -> ActionSet:
    bits = torch.cat([flips, torch.full_like(flips[:1], n_bits)]).to(device)
    factors = torch.ones((len(bits), n_bits + 1), dtype=torch.int8, device=device)
    return ActionSet(n_bits, bits, factors.scatter_(1, bits, -1)[:, :n_bits].contiguous())


@dataclass(frozen=True)
class State:
    """Where n walks are. The image's feature is not here: it never changes.

    `signs` (n, b) int8; `history` (n, 10) int16 the last flips as action numbers, newest first, -1 for none yet;
    `steps` (n,) int32 flips made so far.
    """

    signs: Tensor
    history: Tensor
    steps: Tensor

    def __len__(self) -> int:
        return len(self.signs)

    def rows(self, index: Tensor | slice) -> "State":
        """The walks picked by an index, a mask or a slice."""
        return State(self.signs[index], self.history[index], self.steps[index])


def start_state(signs: Tensor) -> State:
    """Walks that begin at the codes `signs` (n, b), nothing flipped yet."""
    n, device = len(signs), signs.device
    history = torch.full((n, HISTORY), -1, dtype=torch.int16, device=device)
    return State(signs.to(torch.int8), history, torch.zeros(n, dtype=torch.int32, device=device))


def join_states(left: State, right: State) -> State:
    """The walks of both, one after another."""
    pairs = (left.signs, right.signs), (left.history, right.history), (left.steps, right.steps)
    return State(*(torch.cat(pair) for pair in pairs))


def step(state: State, action: Tensor, actions: ActionSet, max_steps: int) -> tuple[State, Tensor, Tensor]:
    """Each row takes its action (n,): (next state, terminated (n,), truncated (n,)).

    A stop terminates and leaves the state as it is, so it may be repeated for walks that are over. A walk that has
    made `max_steps` flips without a stop is truncated: its last state is not a terminal one.
    """
    stops = action == actions.stop
    newest = torch.cat([action[:, None].to(state.history.dtype), state.history[:, :-1]], dim=1)
    following = replace(
        state,
        signs=state.signs * actions.factors[action],
        history=torch.where(stops[:, None], state.history, newest),
        steps=state.steps + (~stops).to(state.steps.dtype),
    )
    return following, stops, ~stops & (following.steps >= max_steps)


def history_onehot(history: Tensor, actions: ActionSet) -> Tensor:
    """(n, 10 * b) float 0/1: place j marks the bits of the j-th last flip.

    For single flips this is the paper's h_t; a pair marks two bits, so the width stays 10 * b for any action set.
    """
    bits = actions.bits[history.long()]  # (n, 10, width); -1 asks for the last action, the stop, which flips no bit
    places = torch.arange(HISTORY, device=history.device)[:, None] * actions.n_bits
    marked = torch.where(bits < actions.n_bits, bits + places, HISTORY * actions.n_bits).flatten(1)
    onehot = torch.zeros((len(history), HISTORY * actions.n_bits + 1), device=history.device)
    return onehot.scatter_(1, marked, 1.0)[:, :-1]  # the last column takes what is no bit
