"""The default reward: a flip earns the change of a proper score of the whole code.

Codewords act as classes of a softmax, Phi(s; c) = log softmax_c(kappa s . S_c). An image with label weights w (1 for
each label it has) has the potential sum_c w_c Phi(s; c), the score a forecaster earns who states the softmax of the
code's agreements. Its best code does not stand on a codeword but at distances that express how likely
each class is.

For codewords of -1/+1 the gain of a flip has a closed form. With shares sigma = softmax(kappa s . S),

    gain_k = -s_k (2 kappa (w S)_k) - |w| log(cosh 2 kappa - s_k sinh 2 kappa (sigma S)_k),

linear in the label weights: an agent that knows how likely each label is knows the expected gain.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor


def sharpness(n_bits: int, n_classes: int, top: float) -> float:
    """kappa at which a code on its codeword states its class with probability `top`, codewords being equidistant."""
    spread = 1 + 1 / (n_classes - 1)
    return math.log((n_classes - 1) * top / (1 - top)) / (n_bits * spread)


def share_of(weights: Tensor) -> float:
    """Mean of 1 / (number of labels), for label weights (n, C): no code can state several labels each fully."""
    return float((1 / weights.sum(dim=1).clamp(min=1)).mean())


def certainty_of(likely: Tensor) -> float:
    """Mean of |p|^2 for label weights (n, C), each row made to sum to 1: the chance that two draws from p agree.

    An agent that knows every label reaches 1, or `share_of` the labels where there are several.
    """
    return float((likely.square().sum(dim=1) / likely.sum(dim=1).square()).mean())


@dataclass(frozen=True)
class Score:
    """`embedding` (C, b) signs, one codeword for each class; floats, as the arithmetic wants them."""

    embedding: Tensor
    kappa: float

    def pull(self, weights: Tensor) -> Tensor:
        """(..., b): what the label weights (..., C) want of each bit; constant along a walk."""
        return 2 * self.kappa * (weights @ self.embedding)

    def shares(self, signs: Tensor) -> Tensor:
        """(..., C): how the code (..., b) divides itself among the classes."""
        return torch.softmax(self.kappa * (signs @ self.embedding.T), dim=-1)

    def gains(self, signs: Tensor, shares: Tensor, pull: Tensor, mass: Tensor | float = 1.0) -> Tensor:
        """(..., b): the expected reward of flipping each bit; `mass` (..., 1) is the sum of the label weights."""
        wide, narrow = math.cosh(2 * self.kappa), math.sinh(2 * self.kappa)
        return -signs * pull - mass * torch.log(wide - narrow * signs * (shares @ self.embedding))
