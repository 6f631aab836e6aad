"""DSDH: pairs teach the network, and codes from which the labels follow pull it."""

from typing import Unpack

import torch
from torch import Tensor

from drlh.hashers.deep.hasher import DeepHasher, Shared
from drlh.hashers.deep.objective import Batch, Objective, Outputs, Task
from drlh.hashers.deep.pairwise import MemoryBank, discrete_code_step, quantization_loss, signs_of
from drlh.hashers.training.checks import Check


class DSDH(DeepHasher):
    """Deep supervised discrete hashing.

    **Idea.** As in DPSH the inner products of outputs say which images share a label. Beside the network every
    training image has a code, from which a linear map finds its labels; codes and map are found in turns, the codes
    bit by bit and never relaxed. The network's outputs are pulled to these codes.

    **Reference.** Q. Li, Z. Sun, R. He, T. Tan, Deep supervised discrete hashing, NIPS 2017.

    **Differences.** Codes and map move once before each epoch, by the outputs of all images at that time; they begin as
    the signs of the first outputs. The loss is a mean over pairs, and every other term a mean over images (the distance
    to codes over bits too), so `eta` and `mu` are not the 55 and 1 that stand beside sums in public programs; these
    would let the labels hardly touch the codes. The paper's own values could not be checked; ours let labels and
    outputs weigh about alike in a code, and were tried on a development split of CIFAR-10 alone. Beyond 12,000 training
    images each batch is compared with a sample of 12,000. Optimiser and schedule are those of all deep methods here;
    the paper fine-tunes CNN-F by SGD.

    Parameters
    ----------
    n_bits : int, default=32
        Length of the code.
    mu : float, default=0.1
        Weight of the squared error of the labels.
    nu : float, default=0.1
        Ridge penalty of the map from codes to labels.
    eta : float, default=0.1
        Weight of the distance between outputs and codes.
    **shared
        Parameters of every deep method: see `DeepHasher`, also for the fitted attributes.
    """

    def __init__(
        self,
        n_bits: int = 32,
        *,
        mu: float = 0.1,
        nu: float = 0.1,
        eta: float = 0.1,
        **shared: Unpack[Shared],
    ) -> None:
        super().__init__(n_bits, **shared)
        self.mu = mu
        self.nu = nu
        self.eta = eta

    def _own_checks(self) -> list[Check]:
        return [
            ("mu", lambda value: value > 0, "above 0"),
            ("nu", lambda value: value > 0, "above 0"),
            ("eta", lambda value: value >= 0, "at least 0"),
        ]

    def _objective(self, task: Task) -> Objective:
        return PairsAndCodes(task, self.mu, self.nu, self.eta)


class PairsAndCodes(Objective):
    """Loss of pairs with all training images, and the distance to codes that are learned beside the network."""

    signs: Tensor

    def __init__(self, task: Task, mu: float, nu: float, eta: float) -> None:
        super().__init__()
        self.mu, self.nu, self.eta, self.memory_bank = mu, nu, eta, MemoryBank(task)
        self.register_buffer("signs", torch.zeros_like(self.memory_bank.outputs))

    def start_epoch(self, epoch: int, n_epochs: int, outputs: Outputs) -> None:
        now = outputs()
        self.memory_bank.start_epoch(epoch, lambda: now)
        signs = signs_of(now) if epoch == 0 else self.signs
        weight = self.eta / (self.mu * now.shape[1])
        self.signs.copy_(discrete_code_step(signs, self.memory_bank.labels, now, weight, self.nu / self.mu))

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        return self.memory_bank.pairwise_loss(outputs, batch) + self.eta * quantization_loss(
            outputs, self.signs[batch.rows]
        )
