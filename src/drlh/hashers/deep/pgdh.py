"""PGDH: draw codes at random and raise the chance of those that keep similar images together."""

from typing import Unpack

import torch
from torch import Tensor, nn

from drlh.hashers.deep.hasher import DeepHasher, Shared
from drlh.hashers.deep.objective import Batch, Objective, Task, distinct_pairs, share_label
from drlh.hashers.training.checks import Check, is_whole


class PGDH(DeepHasher):
    """PGDH: relaxation-free deep hashing by policy gradient.

    **Idea.** Outputs are log odds of bits, and codes are drawn from them, so the sign needs no relaxation. A drawn code
    is rewarded for lying near the codes of similar images and far from those of others, and REINFORCE makes codes
    likelier that earned more than the other draws of the same image.

    **Reference.** X. Yuan, L. Ren, J. Lu, J. Zhou, Relaxation-free deep hashing via policy gradient, ECCV 2018. Beyond
    the abstract (a policy in place of the sign, rewards for similarity preserved, a policy gradient) nothing could be
    checked; reward and constants are a reading of it.

    **Differences.** The reward is minus `beta` times the mean distance to similar images of the batch, minus 1 - `beta`
    times the mean of what other images' distances lack of `margin`; distances are shares of the bits. Means instead of
    sums keep the two in balance however many images are similar. The baseline of a draw is the mean of the image's
    other draws. `beta` was chosen on a development split, where a larger one let all bits learn the same division.
    Optimiser and schedule are those of all deep methods here; the paper fine-tunes CNN-F and VGG.

    Parameters
    ----------
    n_bits : int, default=32
        Length of the code.
    n_samples : int, default=32
        Codes sampled for each image in every update.
    beta : float, default=0.1
        Weight of similar images in the reward.
    margin : float, default=0.5
        Share of the bits by which dissimilar images should differ.
    **shared
        Parameters of every deep method: see `DeepHasher`, also for the fitted attributes.
    """

    def __init__(
        self,
        n_bits: int = 32,
        *,
        n_samples: int = 32,
        beta: float = 0.1,
        margin: float = 0.5,
        **shared: Unpack[Shared],
    ) -> None:
        super().__init__(n_bits, **shared)
        self.n_samples = n_samples
        self.beta = beta
        self.margin = margin

    def _own_checks(self) -> list[Check]:
        return [
            ("n_samples", lambda value: is_whole(value) and value >= 2, "a whole number of at least 2"),
            ("beta", lambda value: 0 < value < 1, "between 0 and 1"),
            ("margin", lambda value: 0 < value <= 1, "above 0 and at most 1"),
        ]

    def _objective(self, task: Task) -> Objective:
        return DrawnCodes(self.n_samples, self.beta, self.margin)


class DrawnCodes(Objective):
    """A loss whose gradient is that of the expected reward, falling."""

    def __init__(self, n_samples: int, beta: float, margin: float) -> None:
        super().__init__()
        self.n_samples, self.beta, self.margin = n_samples, beta, margin

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        with torch.no_grad():
            bits = torch.bernoulli(outputs.sigmoid().expand(self.n_samples, *outputs.shape))
            gains = advantages(rewards(2 * bits - 1, batch, self.beta, self.margin))
        return -(gains * log_chances(outputs, bits)).mean()


def rewards(signs: Tensor, batch: Batch, beta: float, margin: float) -> Tensor:
    """(n_samples, n) of drawn codes (n_samples, n, n_bits) of -1/+1; distances are within a draw of the batch."""
    distances = (1 - signs @ signs.transpose(1, 2) / signs.shape[2]) / 2
    alike = share_label(batch.labels, batch.labels)
    others = distinct_pairs(batch.rows, batch.rows).to(signs)
    together, apart = alike * others, (1 - alike) * others
    too_far = (distances * together).sum(dim=2) / together.sum(dim=1).clamp(min=1)
    too_near = ((margin - distances).clamp(min=0) * apart).sum(dim=2) / apart.sum(dim=1).clamp(min=1)
    return -(beta * too_far + (1 - beta) * too_near)


def advantages(earned: Tensor) -> Tensor:
    """(n_samples, n): what a draw earned beyond the mean of the image's other draws."""
    return (earned - earned.mean(dim=0)) * (len(earned) / (len(earned) - 1))


def log_chances(logits: Tensor, bits: Tensor) -> Tensor:
    """(n_samples, n): log probability of drawn bits (n_samples, n, n_bits) under logits (n, n_bits)."""
    each = nn.functional.logsigmoid(torch.where(bits > 0, logits, -logits))
    return each.sum(dim=2)
