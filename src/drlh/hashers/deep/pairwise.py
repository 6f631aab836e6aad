"""What methods that learn from pairs share: a pair's likelihood, a memory of all images' outputs, codes of all."""

import torch
from torch import Tensor, nn

from drlh.hashers.classic.sdh import classifier, discrete_step
from drlh.hashers.deep.objective import Batch, Outputs, Task, other_pairs, similar

# Images that a batch is compared with: a sample where there are more, whose mean is nearly theirs at a smaller cost.
_MOST_COLUMNS = 12_000
_SWEEPS = 10  # over the bits, at most: SDH's


def pair_loss(inner: Tensor, same: Tensor) -> Tensor:
    """log(1 + exp t) - s t for each pair: minus the log-likelihood of s (0 or 1) where sigma(t) is that of 1."""
    return nn.functional.softplus(inner) - same * inner


def code_loss(outputs: Tensor, signs: Tensor) -> Tensor:
    """Squared distance between outputs and -1/+1 codes (n, b), mean over images and bits."""
    return (signs - outputs).square().mean()


def signs_of(outputs: Tensor) -> Tensor:
    """-1 or +1, without a gradient; 0 becomes -1 as it does in codes."""
    return torch.where(outputs.detach() > 0, 1.0, -1.0).to(outputs.dtype)


def shared_labels(left: Tensor, right: Tensor) -> Tensor:
    """(n, m): labels two images both have over labels either has; 0 where neither has one."""
    both = left @ right.T
    return both / (left.sum(dim=1)[:, None] + right.sum(dim=1)[None] - both).clamp(min=1)


def codes_turn(signs: Tensor, labels: Tensor, wanted: Tensor, weight: float, ridge: float) -> Tensor:
    """-1/+1 codes (N, b) after one turn of SDH: a linear map W from codes to labels, then codes that suit it.

    Neither raises |Y - B W|^2 + ridge |W|^2 + weight |B - wanted|^2.
    """
    codes, targets, real = (part.double().cpu().numpy() for part in (signs, labels, wanted))
    weights = classifier(codes, targets, ridge)
    return torch.from_numpy(discrete_step(codes, targets, weights, real, weight, _SWEEPS)).to(signs)


class Memory(nn.Module):
    """The latest outputs (N, b) of all training images, beside their labels (N, C)."""

    outputs: Tensor
    labels: Tensor

    def __init__(self, task: Task) -> None:
        super().__init__()
        self.register_buffer("outputs", task.labels.new_zeros(task.n_images, task.n_bits))
        self.register_buffer("labels", task.labels, persistent=False)  # the run knows them: no need in a checkpoint

    def start_epoch(self, epoch: int, outputs: Outputs) -> None:
        """Begins with what the network says before it has learned; later each batch writes its own rows."""
        if epoch == 0:
            self.outputs.copy_(outputs())

    def write(self, rows: Tensor, outputs: Tensor) -> None:
        self.outputs[rows] = outputs.detach()

    def columns(self) -> Tensor:
        """Row numbers of the images a batch is compared with: all of them, or a sample."""
        n_images, device = len(self.outputs), self.outputs.device
        if n_images <= _MOST_COLUMNS:
            return torch.arange(n_images, device=device)
        return torch.randperm(n_images, device=device)[:_MOST_COLUMNS]

    def pair_loss(self, outputs: Tensor, batch: Batch, columns: Tensor | None = None) -> Tensor:
        """Mean loss of the pairs (image of the batch, any other image of `columns`), with t = u_i . u_j / 2."""
        self.write(batch.rows, outputs)
        columns = self.columns() if columns is None else columns
        inner = outputs @ self.outputs[columns].T / 2
        each = pair_loss(inner, similar(batch.labels, self.labels[columns]))
        others = other_pairs(batch.rows, columns).to(each)
        return (others * each).sum() / others.sum().clamp(min=1)
