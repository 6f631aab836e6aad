"""DQN: a bottleneck whose cosines follow the labels, kept near the codewords of a product quantiser."""

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

_MOST_BITS = 8  # of a part: 256 codewords, as in the paper
_LLOYD_STEPS = 5
_ROUNDS = 30  # of handing out numbers
_REFRESH = 2  # epochs between two refreshes of codewords, as in a public program


class DQN(DeepHasher):
    """Deep quantization network.

    **Idea.** The cosine between two images' bottlenecks shall be +1 where they share a label and -1 where not. The
    bottleneck is cut into parts, each with codewords of its own, and a second term draws it to the nearest ones: a
    code is the numbers of its codewords. The method's own ranking compares a query's bottleneck with the codewords of
    an image, by inner product.

    **Reference.** Y. Cao, M. Long, J. Wang, H. Zhu, Q. Wen, Deep quantization network for efficient image retrieval,
    AAAI 2016; constants as in the program of thulab/DeepHash. The hyperbolic tangent of the bottleneck could not be
    checked against the paper.

    **Differences.** Any length: bits are shared out over as few parts as can hold them with at most 8 each, the parts'
    lengths differing by one at most (12 is 6 and 6, 13 is 7 and 6); the paper has parts of 8 alone. Codewords are
    found by k-means in each part, every second epoch, and never move by gradients. Numbers of codewords mean nothing
    to Hamming distance, so they are handed out such that near codewords get near numbers (the aim of M. Douze,
    H. Jégou, F. Perronnin, Polysemous codes, ECCV 2016): that moves plain Hamming ranking alone. Where there are fewer
    images than numbers, there are fewer codewords. Optimiser and schedule are those of all deep methods here; the paper
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
        n_parts = len(part_bits(self.n_bits))
        wide = f"a whole number of at least {n_parts}, one for each part of the code"
        return [
            ("n_dimensions", lambda value: is_count(value) and value >= n_parts, wide),
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
        """Bottlenecks as their codes know them, `(n, n_dimensions)`: the nearest codewords side by side."""
        rows = self._nearest(self._real_outputs(X))
        return np.concatenate(
            [self.objective_state_[f"codewords{part}"][rows[part]] for part in range(len(rows))], axis=1
        )

    def _real_outputs(self, X: ArrayLike) -> Tensor:
        features: Features = self._validated(X, dtype=np.float64, reset=False)
        return self._outputs(features)

    def _nearest(self, outputs: Tensor) -> list[NDArray[np.int64]]:
        """For each part, the row (n,) of the nearest codeword."""
        parts = torch.tensor_split(outputs, len(part_bits(self.n_bits)), dim=1)
        books = [torch.from_numpy(self.objective_state_[f"codewords{part}"]).to(outputs) for part in range(len(parts))]
        return [nearest(points, book).cpu().numpy() for points, book in zip(parts, books, strict=True)]


class QuantizedCosine(Objective):
    """Mean squared error of cosines between pairs, and of bottlenecks' distance to their codewords."""

    quantized: Tensor
    known: Tensor  # whether there are codewords yet

    def __init__(self, task: Task, n_dimensions: int, quantization: float) -> None:
        super().__init__()
        self.bits, self.quantization = part_bits(task.n_bits), quantization
        self.seed = int(task.rng.integers(2**31))
        self.register_buffer("quantized", torch.zeros(task.n_images, n_dimensions))
        self.register_buffer("known", torch.tensor(False))

    def start_epoch(self, epoch: int, n_epochs: int, outputs: Outputs) -> None:
        if epoch and epoch % _REFRESH == 0:
            parts = self._parts(outputs())
            self.quantized = torch.cat([book[nearest(points, book)] for points, book in parts], dim=1)
            self.known = torch.ones_like(self.known)

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        wanted = 2 * share_label(batch.labels, batch.labels) - 1
        unit = nn.functional.normalize(outputs, dim=1)
        error = (wanted - unit @ unit.T).square().mean()
        if not self.known:
            return error
        return error + self.quantization * (outputs - self.quantized[batch.rows]).square().sum(dim=1).mean()

    def finish(self, outputs: Outputs) -> Arrays:
        found: Arrays = {}
        for part, (points, book) in enumerate(self._parts(outputs())):
            found[f"codewords{part}"] = book.double().cpu().numpy()
            share = torch.bincount(nearest(points, book), minlength=len(book)).double().cpu().numpy()
            found[f"bits{part}"] = number_codewords(found[f"codewords{part}"], share, self.bits[part])
        return found

    def _parts(self, outputs: Tensor) -> list[tuple[Tensor, Tensor]]:
        """(points (N, d), codewords (k, d)) of every part of the bottleneck."""
        rng = np.random.default_rng(self.seed)
        parts = torch.tensor_split(outputs, len(self.bits), dim=1)
        return [(points, k_means(points, 2**bits, rng)) for points, bits in zip(parts, self.bits, strict=True)]


def part_bits(n_bits: int) -> list[int]:
    """Bits of each part: at most 8, and nearly the same for all."""
    return [len(part) for part in np.array_split(np.arange(n_bits), -(-n_bits // _MOST_BITS))]


def k_means(points: Tensor, at_most: int, rng: np.random.Generator) -> Tensor:
    """Codewords (k, d) of points (n, d) after a few steps of Lloyd; fewer than asked where points repeat."""
    first = rng.choice(len(points), min(at_most, len(points)), replace=False)
    book: Tensor = torch.unique(points[torch.from_numpy(first).to(points.device)], dim=0)
    for _ in range(_LLOYD_STEPS):
        rows = nearest(points, book)
        count = torch.bincount(rows, minlength=len(book))[:, None]
        sums = torch.zeros_like(book).index_add_(0, rows, points)
        book = torch.where(count > 0, sums / count.clamp(min=1), book)
    return book


def nearest(points: Tensor, book: Tensor) -> Tensor:
    """The row (n,) of the codeword (k, d) that is nearest to each point (n, d)."""
    rows: Tensor = (book.square().sum(dim=1) / 2 - points @ book.T).argmin(dim=1)
    return rows


def number_codewords(book: Features, share: Features, n_bits: int) -> NDArray[np.float64]:
    """Different bits (k, n_bits) for codewords (k, d), near ones for near codewords; `share` (k,) is how many use each.

    Maximises the sum over pairs of images of (inner product of signs) x (inner product of codewords about their mean).
    It is convex in the assignment, so that no round, a linear assignment each, lowers it.
    """
    from scipy.optimize import linear_sum_assignment

    numbers = 2.0 * (np.arange(2**n_bits)[:, None] >> np.arange(n_bits) & 1) - 1  # all signs, (2^n_bits, n_bits)
    weight = share / share.sum()
    points = (book - weight @ book) * weight[:, None]
    directions = np.linalg.svd(points, full_matrices=False)[2][:n_bits]
    taken = linear_sum_assignment(points @ directions.T @ numbers[:, : len(directions)].T, maximize=True)[1]
    for _ in range(_ROUNDS):
        directions = numbers[taken].T @ points
        taken = linear_sum_assignment(points @ directions.T @ numbers.T, maximize=True)[1]
    return np.asarray((numbers[taken] + 1) / 2)
