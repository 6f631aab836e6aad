"""DPSH: outputs whose inner products say which images share a label."""

from typing import Unpack

from torch import Tensor

from drlh.hashers.deep.hasher import DeepHasher, Shared
from drlh.hashers.deep.objective import Batch, Objective, Outputs, Task
from drlh.hashers.deep.pairwise import MemoryBank, quantization_loss, signs_of
from drlh.hashers.training.checks import Check


class DPSH(DeepHasher):
    """Deep pairwise-supervised hashing.

    **Idea.** Two images share a label with probability sigma(u_i . u_j / 2), u being the network's outputs. Each image
    of a batch is compared with all training images, whose latest outputs are kept in a memory. A penalty pulls outputs
    to their signs.

    **Reference.** W.-J. Li, S. Wang, W.-C. Kang, Feature learning based deep supervised hashing with pairwise labels,
    IJCAI 2016.

    **Differences.** The loss is a mean over pairs and the penalty a mean over images and bits, so `eta` is not the
    paper's 10, which stands beside a sum: with 5,000 training images that would be `10 * n_bits / 5000`, from 0.02 at
    12 bits to 0.1 at 48. No image is paired with itself. Beyond 12,000 training images each batch is compared with a
    sample of 12,000. Optimiser and schedule are those of all deep methods here; the paper fine-tunes CNN-F by SGD.

    Parameters
    ----------
    n_bits : int, default=32
        Length of the code.
    eta : float, default=0.1
        Weight of the quantization loss.
    **shared
        Parameters of every deep method: see `DeepHasher`, also for the fitted attributes.
    """

    def __init__(self, n_bits: int = 32, *, eta: float = 0.1, **shared: Unpack[Shared]) -> None:
        super().__init__(n_bits, **shared)
        self.eta = eta

    def _own_checks(self) -> list[Check]:
        return [("eta", lambda value: value >= 0, "at least 0")]

    def _objective(self, task: Task) -> Objective:
        return PairLikelihood(task, self.eta)


class PairLikelihood(Objective):
    """Loss of pairs with all training images, and the penalty."""

    def __init__(self, task: Task, eta: float) -> None:
        super().__init__()
        self.eta, self.memory_bank = eta, MemoryBank(task)

    def start_epoch(self, epoch: int, n_epochs: int, outputs: Outputs) -> None:
        self.memory_bank.start_epoch(epoch, outputs)

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        return self.memory_bank.pairwise_loss(outputs, batch) + self.eta * quantization_loss(outputs, signs_of(outputs))
