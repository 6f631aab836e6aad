"""Control: classify the bits of DRLH's codewords one by one, without a walk."""

from typing import Unpack

import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from drlh.hashers.codebook.codebook import make_codebook
from drlh.hashers.deep.hasher import DeepHasher, Shared
from drlh.hashers.deep.objective import Batch, Objective, Task


class BCE(DeepHasher):
    """Binary cross-entropy on codewords.

    **Idea.** Every class has a BCH codeword, as in DRLH, and a network of DRLH's size learns each bit of it as a
    classification of its own. What DRLH gains over this is due to its walk and its reward.

    **Reference.** A control for Z. Wang, W. Hong, J. Yuan, WACV 2020; no paper of its own.

    **Differences.** Several labels: the target of a bit is the mean of the labels' bits, and 1/2 for an image without
    any.

    Parameters
    ----------
    n_bits : int, default=32
        Length of the code.
    codebook : {"bch", "bch-paper", "hadamard", "random"} or array of 0/1 (n_classes, n_bits), default="bch"
        One codeword for each class; `bch-paper` is that of the paper's agent.
    **shared
        Parameters of every deep method: see `DeepHasher`, also for the fitted attributes.
    """

    def __init__(self, n_bits: int = 32, *, codebook: str | ArrayLike = "bch", **shared: Unpack[Shared]) -> None:
        super().__init__(n_bits, **shared)
        self.codebook = codebook

    def _objective(self, task: Task) -> Objective:
        return CodewordBits(task, self.codebook)


class CodewordBits(Objective):
    """Mean binary cross-entropy between outputs and the bits of the image's codeword."""

    signs: Tensor

    def __init__(self, task: Task, codebook: str | ArrayLike = "bch") -> None:
        super().__init__()
        self.register_buffer("signs", codeword_signs(task, codebook))

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        count = batch.labels.sum(dim=1, keepdim=True).clamp(min=1)
        targets = (batch.labels @ self.signs / count + 1) / 2
        return nn.functional.binary_cross_entropy_with_logits(outputs, targets)


def codeword_signs(task: Task, kind: str | ArrayLike = "bch") -> Tensor:
    """(C, b) of -1/+1: the initial codewords of DRLH, or those of another kind of codebook."""
    codebook = make_codebook(task.n_classes, task.n_bits, kind=kind, random_state=int(task.rng.integers(2**31)))
    return torch.from_numpy(codebook.signs).to(task.labels)
