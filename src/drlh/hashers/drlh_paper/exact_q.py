"""Q* of the walk by value iteration, for codes so short that all of them can be listed.

For those who want to see how far a learned Q is from the exact one; the tests compare them too.
"""

import torch
from torch import Tensor

from drlh.core.errors import UserError
from drlh.hashers.drlh_paper.environment import ActionSet
from drlh.hashers.drlh_paper.reward import Reward

_MOST_BITS = 20


def all_signs(n_bits: int) -> Tensor:
    """(2^b, b): code number i has +1 at bit k where bit k of i is set."""
    if n_bits > _MOST_BITS:
        raise UserError(f"all codes can be listed up to {_MOST_BITS} bits: got n_bits={n_bits}")
    return (2 * (torch.arange(2**n_bits)[:, None] >> torch.arange(n_bits) & 1) - 1).to(torch.int8)


def code_numbers(signs: Tensor) -> Tensor:
    """(n,): the numbers of codes (n, b) in the order of `all_signs`."""
    return (signs > 0).long() @ (1 << torch.arange(signs.shape[1]))


def exact_q(reward: Reward, label: Tensor, gamma: float) -> Tensor:
    """(2^b, n_actions) float64 for one image's label: an id () or multi-hot (C,). No step limit; gamma < 1."""
    signs = all_signs(reward.actions.n_bits)
    return value_iteration(reward.table(signs, label.expand(len(signs), *label.shape)), reward.actions, gamma)


def value_iteration(rewards: Tensor, actions: ActionSet, gamma: float) -> Tensor:
    """Q* (2^b, n_actions) float64 where each action earns `rewards` (2^b, n_actions)."""
    earned = rewards.double()
    flipped = (actions.factors < 0).long() @ (1 << torch.arange(actions.n_bits))  # which bits of the number change
    following = torch.arange(len(earned))[:, None] ^ flipped
    goes_on = torch.ones(actions.n_actions, dtype=torch.float64)
    goes_on[actions.stop] = 0
    value = torch.zeros(len(earned), dtype=torch.float64)
    while True:
        q = earned + gamma * goes_on * value[following]
        if torch.allclose(q.amax(dim=1), value, rtol=0, atol=1e-10):
            return q
        value = q.amax(dim=1)
