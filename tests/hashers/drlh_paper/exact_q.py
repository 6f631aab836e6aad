"""Q* of the walk by value iteration: an oracle for codes so short that all of them can be listed."""

import torch

from drlh.hashers.drlh_paper.environment import ActionSet
from drlh.hashers.drlh_paper.reward import Reward


def all_signs(n_bits: int) -> torch.Tensor:
    """(2^b, b): code number i has +1 at bit k where bit k of i is set."""
    return (2 * (torch.arange(2**n_bits)[:, None] >> torch.arange(n_bits) & 1) - 1).to(torch.int8)


def exact_q(reward: Reward, label: torch.Tensor, gamma: float) -> torch.Tensor:
    """(2^b, n_actions) float64 for one image's label: an id () or multi-hot (C,). No step limit; gamma < 1."""
    signs = all_signs(reward.actions.n_bits)
    return value_iteration(reward.table(signs, label.expand(len(signs), *label.shape)), reward.actions, gamma)


def value_iteration(rewards: torch.Tensor, actions: ActionSet, gamma: float) -> torch.Tensor:
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
