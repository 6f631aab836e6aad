"""The default reward: a flip earns the change of a proper score of the whole code.

Codewords act as classes of a softmax: a code s states the posterior log p(c | s) = log softmax_c(beta s . S_c), with
beta the inverse temperature. An image with targets w (1 for each label it has) has the potential
sum_c w_c log p(c | s), the logarithmic score of a forecaster who states that posterior. Its best code does not stand
on a codeword but at distances that express how likely each class is.

For codewords of -1/+1 the reward of a flip has a closed form,

    r_k = -s_k (2 beta (w S)_k) - |w| log(cosh 2 beta - s_k sinh 2 beta (p S)_k),

linear in the targets: an agent that knows how likely each label is knows the expected reward. The first term is the
class field, what the targets want of each bit; |w| is the number of labels.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor


def inverse_temperature(n_bits: int, n_classes: int, confidence: float) -> float:
    """beta at which a code on its codeword states its class with probability `confidence`.

    Codewords count as equidistant.
    """
    separation = 1 + 1 / (n_classes - 1)
    return math.log((n_classes - 1) * confidence / (1 - confidence)) / (n_bits * separation)


def mean_label_share(targets: Tensor) -> float:
    """Mean of 1 / (number of labels), for targets (n, C): no code can state several labels each fully."""
    return float((1 / targets.sum(dim=1).clamp(min=1)).mean())


def mean_certainty(class_probs: Tensor) -> float:
    """Mean of |p|^2 for class probabilities (n, C), each row made to sum to 1: the chance that two draws agree.

    An agent that knows every label reaches 1, or the `mean_label_share` where there are several.
    """
    return float((class_probs.square().sum(dim=1) / class_probs.sum(dim=1).square()).mean())


@dataclass(frozen=True)
class LogScore:
    """`codewords` (C, b) signs, one for each class, as floats; `beta` is the inverse temperature."""

    codewords: Tensor
    beta: float

    def class_field(self, targets: Tensor) -> Tensor:
        """(..., b): what the targets (..., C) want of each bit; constant along a walk."""
        return 2 * self.beta * (targets @ self.codewords)

    def posterior(self, signs: Tensor) -> Tensor:
        """(..., C): the class probabilities that the code (..., b) states."""
        return torch.softmax(self.beta * (signs @ self.codewords.T), dim=-1)

    def flip_rewards(
        self, signs: Tensor, posterior: Tensor, class_field: Tensor, n_labels: Tensor | float = 1.0
    ) -> Tensor:
        """(..., b): the expected reward of flipping each bit; `n_labels` (..., 1) is the sum of the targets."""
        wide, narrow = math.cosh(2 * self.beta), math.sinh(2 * self.beta)
        return -signs * class_field - n_labels * torch.log(wide - narrow * signs * (posterior @ self.codewords))

    def rewards_for(self, targets: Tensor, signs: Tensor, posterior: Tensor) -> Tensor:
        """(..., b): `flip_rewards` of images with targets (..., C)."""
        return self.flip_rewards(signs, posterior, self.class_field(targets), targets.sum(dim=-1, keepdim=True))
