"""The default Q-network: it knows the cube's dynamics and learns what an image is likely to be.

The value of a flip is its expected reward plus the discounted value of what comes after,

    Q_k(x, s) = r_k(s, p(x)) + gamma V_k,      V_k = max(-r_k, m phi_k),      Q_stop = 0,

with p(x) the class probabilities the network gives the image, m the best reward at hand, and phi_k >= 0 a small learned
gate on (posterior of the code, p). Flipping back undoes a reward, so V_k is never below -r_k. The members of an
ensemble see the image each on their own and are averaged, as in averaged deep Q-learning (Anschel, Baram and Shimkin,
ICML 2017).
"""

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from drlh.hashers.drlh.reward import LogScore

if TYPE_CHECKING:
    from drlh.networks.backbone import Body


class ValueHead(nn.Module):
    """V_k, the value of the state after flip k, from what is known before it."""

    def __init__(self, n_classes: int, n_bits: int, n_hidden: int = 16) -> None:
        super().__init__()
        self.hidden = nn.Linear(2 * n_classes, n_hidden)
        self.out = nn.Linear(n_hidden, n_bits)
        nn.init.ones_(self.out.bias)

    def forward(self, rewards: Tensor, posterior: Tensor, class_probs: Tensor) -> Tensor:
        """(..., b) from the flip rewards (..., b), the posterior of the code and the image's class_probs (..., C)."""
        phi = torch.relu(self.out(torch.tanh(self.hidden(torch.cat([posterior, class_probs], dim=-1)))))
        best = rewards.amax(dim=-1, keepdim=True).clamp(min=0)
        return torch.maximum(-rewards, best * phi)


class WalkNetwork(nn.Module):
    """`class_probs` runs once for each image; what a step needs, `value_head`, is as small as the number of classes."""

    def __init__(
        self,
        n_features: int,
        n_classes: int,
        n_bits: int,
        *,
        ensemble_size: int,
        hidden_size: int,
        dropout: tuple[float, float] = (0.0, 0.0),  # of the features, of the hidden units
        multilabel: bool = False,
        body: "Body | None" = None,  # what makes features of pictures, where pictures come in
    ) -> None:
        super().__init__()
        self.body = body
        n_features = body.n_features if body else n_features
        self.ensemble_size, self.dropout, self.multilabel = ensemble_size, dropout, multilabel
        self.first = nn.Parameter(_uniform(ensemble_size, n_features, hidden_size))
        self.first_bias = nn.Parameter(torch.zeros(ensemble_size, 1, hidden_size))
        self.second = nn.Parameter(_uniform(ensemble_size, hidden_size, n_classes))
        # Of several labels most are absent: the probabilities begin small.
        self.second_bias = nn.Parameter(torch.full((ensemble_size, 1, n_classes), -2.0 if multilabel else 0.0))
        self.value_head = ValueHead(n_classes, n_bits)

    def member_probs(self, inputs: Tensor) -> Tensor:
        """(ensemble_size, n, C): each member's class probabilities, with dropout of its own while learning.

        One label among all, or with several labels each for itself.
        """
        features = self.body(inputs) if self.body else inputs
        features = features.expand(self.ensemble_size, *features.shape)
        features = nn.functional.dropout(features, self.dropout[0], self.training)
        hidden = torch.relu(torch.baddbmm(self.first_bias, features, self.first))
        hidden = nn.functional.dropout(hidden, self.dropout[1], self.training)
        logits = torch.baddbmm(self.second_bias, hidden, self.second)
        return torch.sigmoid(logits) if self.multilabel else torch.softmax(logits, dim=2)

    def class_probs(self, inputs: Tensor) -> Tensor:
        """(n, C): the mean over the ensemble."""
        return self.member_probs(inputs).mean(dim=0)


def _uniform(n: int, n_in: int, n_out: int) -> Tensor:
    return (2 * torch.rand(n, n_in, n_out) - 1) / math.sqrt(n_in)


def flip_values(
    head: ValueHead, score: LogScore, signs: Tensor, posterior: Tensor, class_probs: Tensor, gamma: float
) -> Tensor:
    """(..., b): Q of every flip; a stop is worth 0."""
    rewards = score.rewards_for(class_probs, signs, posterior)
    return torch.add(rewards, head(rewards, posterior, class_probs), alpha=gamma) if gamma else rewards
