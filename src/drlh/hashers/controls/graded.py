"""Control: codewords whose bits matter more or less, so that a doubtful image lies between its classes."""

from typing import Unpack

import torch
from torch import Tensor, nn

from drlh.hashers.controls.bce import codeword_signs
from drlh.hashers.deep.hasher import DeepHasher, Shared
from drlh.hashers.deep.objective import Batch, Objective, Task


class Graded(DeepHasher):
    """Magnitude-weighted cross-entropy on graded codewords.

    **Idea.** Each bit of each codeword gets a weight, uniform in (0, 1). A network that learns the bits under these
    weights finds the sign of the weighted mean of the likely classes' codewords: between a cat and a dog the bits
    switch one after the other instead of all at once, and Hamming distance becomes a graded similarity.

    **Reference.** The strongest control without reinforcement for Z. Wang, W. Hong, J. Yuan, WACV 2020; no paper of
    its own.

    **Differences.** Several labels: the weighted codewords of an image's labels are added up; an image without any
    label wants nothing.

    Parameters
    ----------
    n_bits : int, default=32
        Length of the code.
    **shared
        Parameters of every deep method: see `DeepHasher`, also for the fitted attributes.
    """

    def __init__(self, n_bits: int = 32, **shared: Unpack[Shared]) -> None:
        super().__init__(n_bits, **shared)

    def _objective(self, task: Task) -> Objective:
        return GradedBits(task)


class GradedBits(Objective):
    """Binary cross-entropy between outputs and the signs of graded codewords, weighted by their magnitudes."""

    graded: Tensor

    def __init__(self, task: Task) -> None:
        super().__init__()
        signs = codeword_signs(task)
        magnitudes = torch.from_numpy(task.rng.random(tuple(signs.shape))).to(signs)
        self.register_buffer("graded", signs * magnitudes)

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        wanted = batch.labels @ self.graded
        return nn.functional.binary_cross_entropy_with_logits(outputs, (wanted > 0).to(outputs), weight=wanted.abs())
