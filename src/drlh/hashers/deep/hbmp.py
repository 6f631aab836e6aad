"""HBMP: codes for sets of labels by a pursuit of similarity, bit by bit; then a network learns the bits."""

from typing import Unpack

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from drlh.core.codes import signs
from drlh.hashers.base import Features
from drlh.hashers.deep.hasher import DeepHasher, Shared
from drlh.hashers.deep.objective import Arrays, Batch, Objective, Outputs, Task
from drlh.hashers.training.checks import Check

_DRAWS = 100  # random bits looked at before a poor one is taken
_NEAR_ZERO = 1e-6  # the authors' tolerance, here for each pair
_RIDGE = 1e-6  # likewise


class HBMP(DeepHasher):
    """Hashing with binary matrix pursuit.

    **Idea.** Images with the same labels shall have the same code, so only distinct sets of labels need one. Their
    similarity, +1 or -1 for a pair, is approached by a weighted sum of rank-one matrices of signs: each bit is the
    signs of the leading eigenvector of what is left, and after each bit all weights are fitted anew. A network then
    learns the bits by a hinge loss. The method's own ranking weights the bits.

    **Reference.** F. Cakir, K. He, S. Sclaroff, Hashing with binary matrix pursuit, ECCV 2018 (arXiv 1808.01990);
    details as in the authors' program.

    **Differences.** Weights are fitted under the bound that none is negative, which the authors' program has but leaves
    off: plain Hamming distance would count a bit of negative weight the wrong way. A small ridge shares weight among
    bits that say the same. Where a bit repeats or does not help, at most 100 random bits are drawn for a new one (the
    authors draw until one is found, which with few classes never ends). The hinge loss is a mean over bits. Optimiser
    and schedule are those of all deep methods here; the paper fine-tunes VGG-F.

    Parameters
    ----------
    n_bits : int, default=32
        Length of the code.
    weighted : bool, default=True
        Whether bits have weights; if not, similarities are scaled to the length and every bit counts 1.
    **shared
        Parameters of every deep method: see `DeepHasher`, also for the fitted attributes.

    Attributes
    ----------
    objective_state_ : dict of ndarray
        `weights` (n_bits,) of the bits.
    """

    def __init__(self, n_bits: int = 32, *, weighted: bool = True, **shared: Unpack[Shared]) -> None:
        super().__init__(n_bits, **shared)
        self.weighted = weighted

    def _own_checks(self) -> list[Check]:
        return [("weighted", lambda value: value in (True, False), "True or False")]

    def _objective(self, task: Task) -> Objective:
        return BitHinge(task, self.weighted)

    def query_vectors(self, X: ArrayLike) -> Features:
        """Signs times the bits' weights `(n, n_bits)`."""
        return np.asarray(self.database_vectors(X) * self.objective_state_["weights"])

    def database_vectors(self, X: ArrayLike) -> Features:
        """Signs of the codes `(n, n_bits)`."""
        return signs(self.transform(X)).astype(np.float64)


class BitHinge(Objective):
    """Mean hinge loss between outputs and the bits of the image's set of labels."""

    targets: Tensor
    weights: Tensor

    def __init__(self, task: Task, weighted: bool) -> None:
        super().__init__()
        sets, which = np.unique(task.labels.cpu().numpy(), axis=0, return_inverse=True)
        similarity = np.where(sets @ sets.T > 0, 1.0, -1.0)
        bits, weights = pursue(similarity, task.n_bits, weighted, task.rng)
        self.register_buffer("targets", torch.from_numpy(bits[which.ravel()]).to(task.labels))
        self.register_buffer("weights", torch.from_numpy(weights))

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        return torch.relu(1 - outputs * self.targets[batch.rows]).mean()

    def finish(self, outputs: Outputs) -> Arrays:
        return {"weights": self.weights.cpu().numpy()}


def pursue(
    similarity: Features, n_bits: int, weighted: bool, rng: np.random.Generator
) -> tuple[Features, NDArray[np.float64]]:
    """(signs (n, n_bits), weights (n_bits,)) whose weighted products approach a similarity (n, n) off its diagonal."""
    wanted = without_diagonal(similarity if weighted else similarity * n_bits)
    bits, weights = np.empty((len(wanted), 0)), np.empty(0)
    for _ in range(n_bits):
        left = wanted - without_diagonal((bits * weights) @ bits.T)
        bits = np.column_stack([bits, next_bit(left, bits, weighted, rng)])
        weights = fitted_weights(wanted, bits) if weighted else np.ones(bits.shape[1])
    return bits, weights


def next_bit(left: Features, known: Features, new_only: bool, rng: np.random.Generator) -> NDArray[np.float64]:
    """Signs of the leading eigenvector of what is left (n, n); random ones where those are no gain."""
    bit = np.where(leading_eigenvector(left, rng) > 0, 1.0, -1.0)
    drawn, floor = bit, _NEAR_ZERO * len(left) ** 2
    for _ in range(_DRAWS if new_only else 0):
        repeats = (np.abs(known.T @ drawn) == len(drawn)).any()
        if not repeats and drawn @ left @ drawn > -floor:
            return drawn
        drawn = rng.choice([-1.0, 1.0], len(bit))
    return bit


def leading_eigenvector(matrix: Features, rng: np.random.Generator) -> Features:
    """Of a symmetric matrix (n, n); by Lanczos iterations where it is large."""
    from scipy.sparse.linalg import eigsh

    if len(matrix) <= 200:
        return np.asarray(np.linalg.eigh(matrix)[1][:, -1])
    vectors = eigsh(matrix, k=1, which="LA", v0=rng.standard_normal(len(matrix)), tol=1e-4)[1]
    return np.asarray(vectors[:, 0])


def fitted_weights(wanted: Features, bits: Features) -> NDArray[np.float64]:
    """Weights of at least 0 (k,) of bits (n, k) with the least squared error, from normal equations of size k."""
    from scipy.optimize import nnls

    # Off the diagonal, products of bits s and t have the inner product (s.t)^2 - n. The ridge shares a weight among
    # bits that say the same, as a pseudo-inverse would.
    gram = np.square(bits.T @ bits) - len(bits) + _RIDGE * len(bits) ** 2 * np.eye(bits.shape[1])
    target = ((wanted @ bits) * bits).sum(axis=0)
    root = np.linalg.cholesky(gram)
    return np.asarray(nnls(root.T, np.linalg.solve(root, target))[0])


def without_diagonal(matrix: Features) -> Features:
    """The matrix with zeros where a row meets itself."""
    return np.asarray(matrix * (1 - np.eye(len(matrix))))
