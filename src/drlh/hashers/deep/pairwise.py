"""What pairwise methods share: the loss of a pair, a memory bank of all training images' outputs, discrete codes."""

import torch
from torch import Tensor, nn

from drlh.hashers.classic.sdh import classifier, discrete_step
from drlh.hashers.deep.objective import Batch, Outputs, Task, distinct_pairs, share_label

# A batch is compared with at most so many images: the mean over a sample is nearly that over all, at a smaller cost.
_MAX_CANDIDATES = 12_000
_MAX_SWEEPS = 10  # over the bits, as in SDH


def pairwise_loss(logits: Tensor, similarity: Tensor) -> Tensor:
    """Negative log-likelihood log(1 + exp t) - s t of each pair, s being 0 or 1 and sigma(t) the probability of 1."""
    return nn.functional.softplus(logits) - similarity * logits


def quantization_loss(outputs: Tensor, signs: Tensor) -> Tensor:
    """Squared distance between outputs and -1/+1 codes (n, b), mean over images and bits."""
    return (signs - outputs).square().mean()


def signs_of(outputs: Tensor) -> Tensor:
    """-1 or +1, without a gradient; 0 becomes -1 as it does in codes."""
    return torch.where(outputs.detach() > 0, 1.0, -1.0).to(outputs.dtype)


def jaccard_similarity(left: Tensor, right: Tensor) -> Tensor:
    """(n, m): labels two images both have over labels either has; 0 where neither has one."""
    both = left @ right.T
    return both / (left.sum(dim=1)[:, None] + right.sum(dim=1)[None] - both).clamp(min=1)


def discrete_code_step(signs: Tensor, labels: Tensor, targets: Tensor, weight: float, ridge: float) -> Tensor:
    """-1/+1 codes (N, b) after one step of SDH: fit a linear map W from codes to labels, then the codes to W.

    Neither half raises |Y - B W|^2 + ridge |W|^2 + weight |B - targets|^2.
    """
    codes, multi_hot, real = (part.double().cpu().numpy() for part in (signs, labels, targets))
    weights = classifier(codes, multi_hot, ridge)
    return torch.from_numpy(discrete_step(codes, multi_hot, weights, real, weight, _MAX_SWEEPS)).to(signs)


class MemoryBank(nn.Module):
    """The latest outputs (N, b) of all training images, with their labels (N, C)."""

    outputs: Tensor
    labels: Tensor

    def __init__(self, task: Task) -> None:
        super().__init__()
        self.register_buffer("outputs", task.labels.new_zeros(task.n_images, task.n_bits))
        self.register_buffer("labels", task.labels, persistent=False)  # known to every run: not in checkpoints

    def start_epoch(self, epoch: int, outputs: Outputs) -> None:
        """Fills the bank with the untrained network's outputs; later each batch updates its own rows."""
        if epoch == 0:
            self.outputs.copy_(outputs())

    def update(self, rows: Tensor, outputs: Tensor) -> None:
        self.outputs[rows] = outputs.detach()

    def candidates(self) -> Tensor:
        """Row numbers of the images a batch is compared with: all of them, or a random sample."""
        n_images, device = len(self.outputs), self.outputs.device
        if n_images <= _MAX_CANDIDATES:
            return torch.arange(n_images, device=device)
        return torch.randperm(n_images, device=device)[:_MAX_CANDIDATES]

    def pairwise_loss(self, outputs: Tensor, batch: Batch, candidates: Tensor | None = None) -> Tensor:
        """Mean loss of the pairs (image of the batch, any other image of `candidates`), with t = u_i . u_j / 2."""
        self.update(batch.rows, outputs)
        candidates = self.candidates() if candidates is None else candidates
        logits = outputs @ self.outputs[candidates].T / 2
        losses = pairwise_loss(logits, share_label(batch.labels, self.labels[candidates]))
        distinct = distinct_pairs(batch.rows, candidates).to(losses)
        return (distinct * losses).sum() / distinct.sum().clamp(min=1)
