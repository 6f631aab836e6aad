"""PGDH: sample codes, and make those likelier that keep similar images together."""

from typing import Unpack

import torch
from torch import Tensor, nn

from drlh.hashers.deep.hasher import DeepHasher, Shared
from drlh.hashers.deep.objective import Batch, Objective, Task, distinct_pairs, share_label
from drlh.hashers.training.checks import Check, is_whole


class PGDH(DeepHasher):
    """PGDH: relaxation-free deep hashing by policy gradient.

    **Idea.** Outputs are logits of bits, and codes are sampled from them, so the sign needs no relaxation. A sampled
    code is rewarded for being near the codes of similar images and far from those of others, and REINFORCE makes codes
    likelier that got a higher reward than the other samples of the same image.

    **Reference.** X. Yuan, L. Ren, J. Lu, J. Zhou, Relaxation-free deep hashing via policy gradient, ECCV 2018. Beyond
    the abstract (a policy in place of the sign, rewards for similarity preserved, a policy gradient) nothing could be
    checked; reward and constants are our interpretation of it.

    **Differences.** The reward is minus `beta` times the mean distance to similar images of the batch, minus 1 - `beta`
    times the mean amount by which distances to other images fall short of `margin`; distances are divided by `n_bits`.
    Means instead of sums keep the two in balance however many images are similar. The baseline of a sample is the mean
    of the image's other samples. `beta` was chosen on a development split, where with a larger one all bits learned the
    same partition. Optimiser and schedule are those of all deep methods here; the paper fine-tunes CNN-F and VGG.

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
        return SampledCodes(self.n_samples, self.beta, self.margin)


class SampledCodes(Objective):
    """A loss whose gradient is the negative policy gradient of the expected reward."""

    def __init__(self, n_samples: int, beta: float, margin: float) -> None:
        super().__init__()
        self.n_samples, self.beta, self.margin = n_samples, beta, margin

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        with torch.no_grad():
            bits = torch.bernoulli(outputs.sigmoid().expand(self.n_samples, *outputs.shape))
            advantage = advantages(rewards(2 * bits - 1, batch, self.beta, self.margin))
        return -(advantage * log_probabilities(outputs, bits)).mean()


def rewards(signs: Tensor, batch: Batch, beta: float, margin: float) -> Tensor:
    """(n_samples, n) of codes (n_samples, n, n_bits) of -1/+1; the k-th samples of all images are compared."""
    distances = (1 - signs @ signs.transpose(1, 2) / signs.shape[2]) / 2
    similarity = share_label(batch.labels, batch.labels)
    distinct = distinct_pairs(batch.rows, batch.rows).to(signs)
    together, apart = similarity * distinct, (1 - similarity) * distinct
    too_far = (distances * together).sum(dim=2) / together.sum(dim=1).clamp(min=1)
    too_near = ((margin - distances).clamp(min=0) * apart).sum(dim=2) / apart.sum(dim=1).clamp(min=1)
    return -(beta * too_far + (1 - beta) * too_near)


def advantages(rewards: Tensor) -> Tensor:
    """(n_samples, n): the reward of a sample minus the mean of the image's other samples."""
    return (rewards - rewards.mean(dim=0)) * (len(rewards) / (len(rewards) - 1))


def log_probabilities(logits: Tensor, bits: Tensor) -> Tensor:
    """(n_samples, n): log probability of sampled bits (n_samples, n, n_bits) under logits (n, n_bits)."""
    each = nn.functional.logsigmoid(torch.where(bits > 0, logits, -logits))
    return each.sum(dim=2)
