"""The default Q-network: it knows the cube's dynamics and learns what an image is likely to be.

The value of a flip is its expected reward plus the discounted value of what comes after,

    Q_k(f, s) = gain_k(s, p(f)) + gamma V_k,      V_k = max(-gain_k, m phi_k),      Q_stop = 0,

with p(f) the label weights the network sees in the image, m the best gain at hand, and phi_k >= 0 a small learned gate
on (shares of the code, p). Flipping back undoes a gain, so V_k is never below -gain_k. Several branches see the image
each on their own and are averaged, as in averaged deep Q-learning (Anschel, Baram and Shimkin, ICML 2017).
"""

import math

import torch
from torch import Tensor, nn

from drlh.hashers.drlh.reward import Score
from drlh.networks.backbone import Body


class LookAhead(nn.Module):
    """V_k, the value of the state after flip k, from what is known before it."""

    def __init__(self, n_classes: int, n_bits: int, n_hidden: int = 16) -> None:
        super().__init__()
        self.into = nn.Linear(2 * n_classes, n_hidden)
        self.out = nn.Linear(n_hidden, n_bits)
        nn.init.ones_(self.out.bias)

    def forward(self, gains: Tensor, shares: Tensor, labels: Tensor) -> Tensor:
        """(..., b) from the gains (..., b), the code's shares (..., C) and the image's label weights (..., C)."""
        phi = torch.relu(self.out(torch.tanh(self.into(torch.cat([shares, labels], dim=-1)))))
        best = gains.amax(dim=-1, keepdim=True).clamp(min=0)
        return torch.maximum(-gains, best * phi)


class WalkNetwork(nn.Module):
    """`labels` runs once for each image; what a step needs, `ahead`, is as small as the number of classes."""

    def __init__(
        self,
        n_features: int,
        n_classes: int,
        n_bits: int,
        *,
        n_branches: int,
        hidden: int,
        dropout: tuple[float, float] = (0.0, 0.0),  # of the features, of the hidden units
        multilabel: bool = False,
        body: Body | None = None,  # what makes features of pictures, where pictures come in
    ) -> None:
        super().__init__()
        self.body = body
        n_features = body.n_features if body else n_features
        self.n_branches, self.hidden, self.dropout, self.multilabel = n_branches, hidden, dropout, multilabel
        self.first = nn.Parameter(_uniform(n_branches, n_features, hidden))
        self.first_bias = nn.Parameter(torch.zeros(n_branches, 1, hidden))
        self.second = nn.Parameter(_uniform(n_branches, hidden, n_classes))
        # Of several labels most are absent: the weights begin small.
        self.second_bias = nn.Parameter(torch.full((n_branches, 1, n_classes), -2.0 if multilabel else 0.0))
        self.ahead = LookAhead(n_classes, n_bits)

    def branch_labels(self, features: Tensor) -> Tensor:
        """(n_branches, n, C): each branch's label weights, with dropout of its own while learning."""
        features = self.body(features) if self.body else features
        seen = features.expand(self.n_branches, *features.shape)
        seen = nn.functional.dropout(seen, self.dropout[0], self.training)
        hidden = torch.relu(torch.baddbmm(self.first_bias, seen, self.first))
        hidden = nn.functional.dropout(hidden, self.dropout[1], self.training)
        return self._weights(torch.baddbmm(self.second_bias, hidden, self.second))

    def labels(self, features: Tensor) -> Tensor:
        """(n, C): the mean over the branches."""
        return self.branch_labels(features).mean(dim=0)

    def _weights(self, logits: Tensor) -> Tensor:
        """One label among all, or each label for itself."""
        return torch.sigmoid(logits) if self.multilabel else torch.softmax(logits, dim=2)


def _uniform(n: int, n_in: int, n_out: int) -> Tensor:
    return (2 * torch.rand(n, n_in, n_out) - 1) / math.sqrt(n_in)


def flip_values(
    ahead: LookAhead, score: Score, signs: Tensor, shares: Tensor, pull: Tensor, labels: Tensor, gamma: float
) -> Tensor:
    """(..., b): Q of every flip; a stop is worth 0."""
    gains = score.gains(signs, shares, pull, labels.sum(dim=-1, keepdim=True))
    return torch.add(gains, ahead(gains, shares, labels), alpha=gamma) if gamma else gains
