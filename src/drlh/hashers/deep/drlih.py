"""DRLIH: a recurrent agent decides on one bit after the other."""

from typing import Unpack

import torch
from torch import Tensor, nn

from drlh.hashers.deep.hasher import DeepHasher, Shared, Sizes
from drlh.hashers.deep.networks import Head
from drlh.hashers.deep.objective import Batch, Objective, Task, squared_distances
from drlh.hashers.deep.triplets import MAX_QUERIES, label_triplets
from drlh.hashers.training.checks import Check, is_count

_SAFE = 1e-8  # keeps the root's slope finite where two images have the same probabilities


class DRLIH(DeepHasher):
    """DRLIH: deep reinforcement learning for image hashing.

    **Idea.** A recurrent network makes the bits in turn: its state passes through the same cell once for each bit, and
    one vector reads the probability of a 1 from every state, so a later bit knows of the earlier ones. A triplet loss
    on the probabilities teaches it, and serves as a penalty of the actions taken, weighted as in a policy gradient.

    **Reference.** Y. Peng, J. Zhang, Z. Ye, Deep reinforcement learning for image hashing, IEEE TMM 2020. Network and
    loss are those of the authors' code, in which the triplet loss has 99.9 % of the weight.

    **Differences.** The state has `state_size` numbers instead of 4,096. The authors' cell sees the state twice, as
    input and as memory, so its two matrices are one here; it begins orthogonal, so that the last bits hear of the image
    at all. All triplets of a batch count, at most 128 images as queries; the penalty of a query's actions is the mean
    of its triplets. Groups of actions, which the authors' code lacks, are left out. Optimiser and schedule are those of
    all deep methods here; the paper fine-tunes VGG-19 by SGD.

    Parameters
    ----------
    n_bits : int, default=32
        Length of the code.
    state_size : int, default=256
        Units of the agent's recurrent state.
    margin : float, default=1.0
        Margin of the triplet loss (the authors' 1).
    policy_weight : float, default=1e-3
        Share of the policy-gradient term in the loss (the authors' 0.001).
    **shared
        Parameters of every deep method: see `DeepHasher`, also for the fitted attributes.
    """

    def __init__(
        self,
        n_bits: int = 32,
        *,
        state_size: int = 256,
        margin: float = 1.0,
        policy_weight: float = 1e-3,
        **shared: Unpack[Shared],
    ) -> None:
        super().__init__(n_bits, **shared)
        self.state_size = state_size
        self.margin = margin
        self.policy_weight = policy_weight

    def _own_checks(self) -> list[Check]:
        return [
            ("state_size", is_count, "a whole number of at least 1"),
            ("margin", lambda value: value > 0, "above 0"),
            ("policy_weight", lambda value: 0 <= value <= 1, "between 0 and 1"),
        ]

    def _network(self, n_in: int, sizes: Sizes) -> nn.Module:
        dropout = sizes["feature_dropout"], sizes["dropout"]
        return Agent(
            Head(n_in, self.state_size, hidden_size=sizes["hidden_size"], dropout=dropout), self.state_size, self.n_bits
        )

    def _objective(self, task: Task) -> Objective:
        return ActionTriplets(self.margin, self.policy_weight)


class Agent(nn.Module):
    """Features (n, n_in) → logits (n, n_bits), one for each time the state has passed through the cell."""

    def __init__(self, first_state: nn.Module, state_size: int, n_bits: int) -> None:
        super().__init__()
        self.n_bits = n_bits
        self.first_state = first_state
        self.cell = nn.Linear(state_size, state_size)
        nn.init.orthogonal_(self.cell.weight)
        nn.init.zeros_(self.cell.bias)
        self.actor = nn.Linear(state_size, 1)

    def forward(self, features: Tensor) -> Tensor:
        state, states = self.first_state(features), []
        for _ in range(self.n_bits):
            state = self.cell(state).tanh()
            states.append(state)
        logits: Tensor = self.actor(torch.stack(states, dim=1)).squeeze(2)
        return logits


class ActionTriplets(Objective):
    """Triplet hinge on the probabilities, and the same as a penalty of the query's actions."""

    def __init__(self, margin: float, policy_weight: float) -> None:
        super().__init__()
        self.margin, self.policy_weight = margin, policy_weight

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        chances, asking = outputs.sigmoid(), outputs[:MAX_QUERIES]
        triplets = label_triplets(batch.labels)
        distances = (squared_distances(chances[:MAX_QUERIES], chances) + _SAFE).sqrt()
        hinge = (self.margin + triplets.gaps(distances)).clamp(min=0)
        penalties = triplets.query_means(hinge.detach(), len(asking))
        policy = (surprise(asking) * penalties).mean()
        return self.policy_weight * policy + (1 - self.policy_weight) * triplets.mean(hinge)


def surprise(logits: Tensor) -> Tensor:
    """(n,): minus the mean log probability of the likelier action of each bit."""
    return nn.functional.softplus(-logits.abs()).mean(dim=1)
