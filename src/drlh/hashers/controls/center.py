"""Control: fixed class centres and one cosine loss, as recent deep methods have it."""

import math
from typing import Unpack

from torch import Tensor, nn

from drlh.hashers.controls.bce import codeword_signs
from drlh.hashers.deep.hasher import DeepHasher, Shared
from drlh.hashers.deep.objective import Batch, Objective, Task
from drlh.hashers.training.checks import Check


class Center(DeepHasher):
    """Fixed centres with a margin.

    **Idea.** Every class has a far-off corner of the cube for its centre. The cosine between an image's outputs and
    the centres is the logit of a softmax; the true class has to win by a margin. One loss brings images to their
    centre, keeps classes apart and leaves little to quantise.

    **Reference.** J. T. Hoe, K. W. Ng, T. Zhang, C. S. Chan, Y.-Z. Song, T. Xiang, One loss for all: deep hashing with
    a single cosine similarity based learning objective, NeurIPS 2021; centres in the manner of L. Yuan et al., Central
    similarity quantization, CVPR 2020.

    **Differences.** The centres are DRLH's BCH codewords instead of Hadamard rows or random bits, so that they fit any
    length and any number of classes. No batch normalisation of the outputs. Several labels share the softmax equally;
    an image without any label teaches nothing.

    Parameters
    ----------
    n_bits : int, default=32
        Length of the code.
    margin : float, default=0.2
        By how much the cosine of a true class has to exceed the others.
    logit_scale : float or None, default=None
        Factor of the cosines (inverse temperature); None is sqrt(2) log(C - 1), at least 2.
    **shared
        Parameters of every deep method: see `DeepHasher`, also for the fitted attributes.
    """

    def __init__(
        self, n_bits: int = 32, *, margin: float = 0.2, logit_scale: float | None = None, **shared: Unpack[Shared]
    ) -> None:
        super().__init__(n_bits, **shared)
        self.margin = margin
        self.logit_scale = logit_scale

    def _own_checks(self) -> list[Check]:
        return [
            ("margin", lambda value: 0 <= value < 2, "at least 0 and below 2"),
            ("logit_scale", lambda value: value is None or value > 0, "above 0"),
        ]

    def _objective(self, task: Task) -> Objective:
        usual = max(2.0, math.sqrt(2) * math.log(max(2, task.n_classes - 1)))
        return CenterCosines(task, self.margin, usual if self.logit_scale is None else self.logit_scale)


class CenterCosines(Objective):
    """Cross-entropy of the cosines with the centres."""

    centers: Tensor

    def __init__(self, task: Task, margin: float, logit_scale: float) -> None:
        super().__init__()
        self.margin, self.logit_scale = margin, logit_scale
        self.register_buffer("centers", codeword_signs(task) / math.sqrt(task.n_bits))

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        cosines = nn.functional.normalize(outputs, dim=1) @ self.centers.T
        shares = batch.labels / batch.labels.sum(dim=1, keepdim=True).clamp(min=1)
        return nn.functional.cross_entropy(self.logit_scale * (cosines - self.margin * batch.labels), shares)
