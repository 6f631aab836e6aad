"""Deep Quantization Network: cosines of a bottleneck follow the labels, close to codewords of a product quantiser."""

from typing import Unpack

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from drlh.core.codes import Codes
from drlh.hashers.base import Features
from drlh.hashers.deep.hasher import DeepHasher, Shared, Sizes
from drlh.hashers.deep.networks import Head
from drlh.hashers.deep.objective import Arrays, Batch, Objective, Outputs, Task, share_label
from drlh.hashers.training.checks import Check, is_count

_MAX_BITS = 8  # of a subspace: 256 codewords, as in the paper
_LLOYD_STEPS = 5
_ASSIGNMENT_ROUNDS = 30  # of the index assignment
_REFRESH = 2  # epochs between two updates of the codewords, as in a public program


class DeepQuantizationNetwork(DeepHasher):
    """Deep quantization network.

    **Idea.** The cosine between two images' bottlenecks should be +1 where they share a label and -1 where not. The
    bottleneck is split into subspaces, each with a codebook of its own, and a quantization loss pulls it to the nearest
    codewords: a code is the indices of its codewords. The method's own ranking compares a query's bottleneck with the
    codewords of an image, by inner product.

    **Reference.** Y. Cao, M. Long, J. Wang, H. Zhu, Q. Wen, Deep quantization network for efficient image retrieval,
    AAAI 2016; constants as in the program of thulab/DeepHash. The hyperbolic tangent of the bottleneck could not be
    checked against the paper.

    **Differences.** Any length: bits are divided among as few subspaces as can hold them with at most 8 each, as evenly
    as possible (12 is 6 and 6, 13 is 7 and 6); the paper has 8 bits in every subspace. Codewords are found by k-means
    in each subspace, every second epoch, and are not trained by gradients. Hamming distances of codeword indices mean
    nothing by themselves, so indices are assigned such that near codewords have near indices (the aim of M. Douze, H.
    Jégou, F. Perronnin, Polysemous codes, ECCV 2016): only plain Hamming ranking depends on that. Where there are fewer
    images than indices, there are fewer codewords. Optimiser and schedule are those of all deep methods here; the paper
    fine-tunes AlexNet.

    Parameters
    ----------
    n_bits : int, default=32
        Length of the code.
    n_dimensions : int, default=300
        Units of the bottleneck (the paper's 300).
    quantization : float, default=1e-4
        Weight of the quantization loss, used once there are codewords (1e-4 in the public program).
    **shared
        Parameters of every deep method: see `DeepHasher`, also for the fitted attributes.

    Attributes
    ----------
    objective_state_ : dict of ndarray
        `codewords0`, `bits0` and so on: the codewords of each subspace, and the bits of each codeword.
    """

    def __init__(
        self, n_bits: int = 32, *, n_dimensions: int = 300, quantization: float = 1e-4, **shared: Unpack[Shared]
    ) -> None:
        super().__init__(n_bits, **shared)
        self.n_dimensions = n_dimensions
        self.quantization = quantization

    def _own_checks(self) -> list[Check]:
        n_subspaces = len(subspace_bits(self.n_bits))
        enough = f"a whole number of at least {n_subspaces}, one for each subspace of the code"
        return [
            ("n_dimensions", lambda value: is_count(value) and value >= n_subspaces, enough),
            ("quantization", lambda value: value >= 0, "at least 0"),
        ]

    def _network(self, n_in: int, sizes: Sizes) -> nn.Module:
        dropout = sizes["feature_dropout"], sizes["dropout"]
        return nn.Sequential(
            Head(n_in, self.n_dimensions, hidden_size=sizes["hidden_size"], dropout=dropout), nn.Tanh()
        )

    def _objective(self, task: Task) -> Objective:
        return QuantizedCosine(task, self.n_dimensions, self.quantization)

    def _codes(self, outputs: Tensor) -> Codes:
        bits = [self.objective_state_[f"bits{part}"][rows] for part, rows in enumerate(self._nearest(outputs))]
        return np.concatenate(bits, axis=1).astype(np.uint8)

    def query_vectors(self, X: ArrayLike) -> Features:
        """Bottlenecks `(n, n_dimensions)`."""
        return self._real_outputs(X).double().cpu().numpy()

    def database_vectors(self, X: ArrayLike) -> Features:
        """Bottlenecks as their codes represent them, `(n, n_dimensions)`: the nearest codewords, concatenated."""
        rows = self._nearest(self._real_outputs(X))
        return np.concatenate(
            [self.objective_state_[f"codewords{part}"][rows[part]] for part in range(len(rows))], axis=1
        )

    def _real_outputs(self, X: ArrayLike) -> Tensor:
        features: Features = self._validated(X, dtype=np.float64, reset=False)
        return self._outputs(features)

    def _nearest(self, outputs: Tensor) -> list[NDArray[np.int64]]:
        """For each subspace, the row (n,) of the nearest codeword."""
        parts = torch.tensor_split(outputs, len(subspace_bits(self.n_bits)), dim=1)
        codebooks = [
            torch.from_numpy(self.objective_state_[f"codewords{part}"]).to(outputs) for part in range(len(parts))
        ]
        return [nearest(points, codebook).cpu().numpy() for points, codebook in zip(parts, codebooks, strict=True)]


class QuantizedCosine(Objective):
    """Mean squared error of the cosines of pairs, and the quantization loss: squared distances to the codewords."""

    quantized: Tensor
    has_codewords: Tensor  # a boolean

    def __init__(self, task: Task, n_dimensions: int, quantization: float) -> None:
        super().__init__()
        self.bits, self.quantization = subspace_bits(task.n_bits), quantization
        self.seed = int(task.rng.integers(2**31))
        self.register_buffer("quantized", torch.zeros(task.n_images, n_dimensions))
        self.register_buffer("has_codewords", torch.tensor(False))

    def start_epoch(self, epoch: int, n_epochs: int, outputs: Outputs) -> None:
        if epoch and epoch % _REFRESH == 0:
            parts = self._parts(outputs())
            self.quantized = torch.cat([codebook[nearest(points, codebook)] for points, codebook in parts], dim=1)
            self.has_codewords = torch.ones_like(self.has_codewords)

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        targets = 2 * share_label(batch.labels, batch.labels) - 1
        unit = nn.functional.normalize(outputs, dim=1)
        error = (targets - unit @ unit.T).square().mean()
        if not self.has_codewords:
            return error
        return error + self.quantization * (outputs - self.quantized[batch.rows]).square().sum(dim=1).mean()

    def finish(self, outputs: Outputs) -> Arrays:
        found: Arrays = {}
        for part, (points, codebook) in enumerate(self._parts(outputs())):
            found[f"codewords{part}"] = codebook.double().cpu().numpy()
            counts = torch.bincount(nearest(points, codebook), minlength=len(codebook)).double().cpu().numpy()
            found[f"bits{part}"] = assign_indices(found[f"codewords{part}"], counts, self.bits[part])
        return found

    def _parts(self, outputs: Tensor) -> list[tuple[Tensor, Tensor]]:
        """(points (N, d), codewords (k, d)) of every subspace of the bottleneck."""
        rng = np.random.default_rng(self.seed)
        parts = torch.tensor_split(outputs, len(self.bits), dim=1)
        return [(points, k_means(points, 2**bits, rng)) for points, bits in zip(parts, self.bits, strict=True)]


def subspace_bits(n_bits: int) -> list[int]:
    """Bits of each subspace: at most 8, and as equal as possible."""
    return [len(part) for part in np.array_split(np.arange(n_bits), -(-n_bits // _MAX_BITS))]


def k_means(points: Tensor, at_most: int, rng: np.random.Generator) -> Tensor:
    """Codewords (k, d) of points (n, d) after a few Lloyd iterations; fewer than `at_most` where points repeat."""
    first = rng.choice(len(points), min(at_most, len(points)), replace=False)
    codebook: Tensor = torch.unique(points[torch.from_numpy(first).to(points.device)], dim=0)
    for _ in range(_LLOYD_STEPS):
        rows = nearest(points, codebook)
        count = torch.bincount(rows, minlength=len(codebook))[:, None]
        sums = torch.zeros_like(codebook).index_add_(0, rows, points)
        codebook = torch.where(count > 0, sums / count.clamp(min=1), codebook)
    return codebook


def nearest(points: Tensor, codebook: Tensor) -> Tensor:
    """The row (n,) of the codeword (k, d) that is nearest to each point (n, d)."""
    rows: Tensor = (codebook.square().sum(dim=1) / 2 - points @ codebook.T).argmin(dim=1)
    return rows


def assign_indices(codebook: Features, counts: Features, n_bits: int) -> NDArray[np.float64]:
    """Distinct indices (k, n_bits) for codewords (k, d), near ones for near codewords; `counts` (k,) images use each.

    Maximises the sum over pairs of images of (inner product of signs) x (inner product of codewords about their mean).
    That is convex in the assignment, so no round, each a linear assignment, lowers it.
    """
    from scipy.optimize import linear_sum_assignment

    indices = 2.0 * (np.arange(2**n_bits)[:, None] >> np.arange(n_bits) & 1) - 1  # all signs, (2^n_bits, n_bits)
    weight = counts / counts.sum()
    points = (codebook - weight @ codebook) * weight[:, None]
    directions = np.linalg.svd(points, full_matrices=False)[2][:n_bits]
    taken = linear_sum_assignment(points @ directions.T @ indices[:, : len(directions)].T, maximize=True)[1]
    for _ in range(_ASSIGNMENT_ROUNDS):
        directions = indices[taken].T @ points
        taken = linear_sum_assignment(points @ directions.T @ indices.T, maximize=True)[1]
    return np.asarray((indices[taken] + 1) / 2)
