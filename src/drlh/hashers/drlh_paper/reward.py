"""Rewards: what each action earns, for all actions at once. They see labels; the dynamics do not.

A flip earns the change of a potential that says how good a code is for its labels. Every potential here is a
function of the products p_c = s . E_c between the code's signs s and one row E_c for each class; flipping bit k
moves p_c by -2 s_k E_ck. For codewords of -1/+1 the Hamming distance is d_c = (b - p_c) / 2, moved by s_k E_ck.

Labels are class ids (n,) or multi-hot (n, C); every image has at least one.
"""

from abc import ABC, abstractmethod

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from drlh.core.errors import UserError
from drlh.hashers.codebook.codebook import Codebook
from drlh.hashers.drlh_paper.environment import ActionSet

_MOST_ELEMENTS = 1 << 23  # of one (rows, actions, classes) block: 32 MB
_LARGEST_EXPONENT = 15.0  # keeps exp(2 kappa |E|) and its inverse well inside float32


def label_mask(labels: Tensor, n_classes: int) -> Tensor:
    """(n, C) bool: which classes each image has."""
    if labels.ndim == 2:
        return labels.bool()
    return torch.nn.functional.one_hot(labels.long(), n_classes).bool()


def check_labels(labels: Tensor, n_classes: int) -> None:
    """Refuses ids outside 0 .. C-1, a multi-hot of another width, and images without any label."""
    if labels.ndim == 2 and labels.shape[1] == n_classes:
        bare = torch.nonzero(~labels.bool().any(dim=1))
        if len(bare):
            raise UserError(f"every image needs a label to earn rewards: row {int(bare[0])} has none; leave it out")
    elif labels.ndim != 1 or not bool(((labels >= 0) & (labels < n_classes)).all()):
        raise UserError(
            f"labels must be ids 0..{n_classes - 1} (n,) or multi-hot (n, {n_classes}): got shape "
            f"{tuple(labels.shape)} with values up to {labels.max().item()}"
        )


class Reward(ABC):
    """`embedding` (C, b) float: the rows E_c."""

    def __init__(self, embedding: ArrayLike, actions: ActionSet) -> None:
        self.actions = actions
        self.embedding = torch.as_tensor(embedding, dtype=torch.float32, device=actions.bits.device)
        if self.embedding.ndim != 2 or self.embedding.shape[1] != actions.n_bits:
            raise UserError(
                f"the rows for the classes must have the {actions.n_bits} bits of the actions: "
                f"got shape {tuple(self.embedding.shape)}"
            )

    @property
    def n_classes(self) -> int:
        return len(self.embedding)

    def potential(self, signs: Tensor, labels: Tensor) -> Tensor:
        """(n,): how good the codes are; a flip earns the difference."""
        return self._score(signs.float() @ self.embedding.T, label_mask(labels, self.n_classes))

    def table(self, signs: Tensor, labels: Tensor) -> Tensor:
        """(n, n_actions): what every action earns from the codes `signs` (n, b)."""
        return torch.cat([self._flips(signs.float(), labels), self._stop(signs.float(), labels)[:, None]], dim=1)

    @abstractmethod
    def _score(self, products: Tensor, mask: Tensor) -> Tensor:
        """The potential from products (..., C), with `mask` of matching shape."""

    @abstractmethod
    def _stop(self, signs: Tensor, labels: Tensor) -> Tensor:
        """(n,): what stopping earns."""

    def _flips(self, signs: Tensor, labels: Tensor) -> Tensor:
        """(n, n_flips): for any action set and any labels, in blocks of bounded size."""
        mask = label_mask(labels, self.n_classes)
        n_rows = max(1, _MOST_ELEMENTS // (self.actions.n_actions * self.n_classes * 2))
        blocks = zip(torch.split(signs, n_rows), torch.split(mask, n_rows), strict=True)
        return torch.cat([self._flip_block(*block) for block in blocks])

    def _flip_block(self, signs: Tensor, mask: Tensor) -> Tensor:
        products = signs @ self.embedding.T
        changes = torch.nn.functional.pad(-2 * signs[:, :, None] * self.embedding.T, (0, 0, 0, 1))  # (n, b + 1, C)
        after = products[:, None]
        for bits in self.actions.bits[:-1].T:  # the first bit of every flip, then the second
            after = after + changes[:, bits]
        return self._score(after, mask[:, None]) - self._score(products, mask)[:, None]

    def _linear_flips(self, gains: Tensor) -> Tensor:
        """(n, n_flips) where single flips earn `gains` (n, b) and a pair earns the sum of its two."""
        padded = torch.nn.functional.pad(gains, (0, 1))
        return padded[:, self.actions.bits[:-1]].sum(dim=2)


def _best_true(values: Tensor, mask: Tensor) -> Tensor:
    return values.masked_fill(~mask, -torch.inf).amax(dim=-1)


class PaperReward(Reward):
    """Equations 1 and 2 of the paper.

    A flip earns (d_pos - d_neg) - (d_pos' - d_neg'); a stop earns +sigma if d_pos <= eta, else -sigma. d_pos is the
    distance to the codeword of the nearest true class, chosen anew for each code; d_neg is the mean distance to the
    codewords of the classes the image does not have (0 where it has all). `eta` is half the radius unless given.
    """

    def __init__(self, codebook: Codebook, actions: ActionSet, *, sigma: float = 5.0, eta: float | None = None) -> None:
        super().__init__(codebook.signs, actions)
        self.sigma = sigma
        self.eta = codebook.paper_radius / 2 if eta is None else eta
        others = (self.embedding.sum(dim=0) - self.embedding) / (self.n_classes - 1)
        self.margins = self.embedding - others  # V: flipping bit k of class y earns -s_k V[y, k]

    def _score(self, products: Tensor, mask: Tensor) -> Tensor:
        distances = (self.actions.n_bits - products) / 2
        n_others = (~mask).sum(dim=-1).clamp(min=1)
        return (distances * ~mask).sum(dim=-1) / n_others + _best_true(-distances, mask)

    def _stop(self, signs: Tensor, labels: Tensor) -> Tensor:
        products = _best_true(signs @ self.embedding.T, label_mask(labels, self.n_classes))
        inside = (self.actions.n_bits - products) / 2 <= self.eta
        return torch.where(inside, self.sigma, -self.sigma)

    def _flips(self, signs: Tensor, labels: Tensor) -> Tensor:
        if labels.ndim == 2:
            return super()._flips(signs, labels)
        return self._linear_flips(-signs * self.margins[labels])


class GradedReward(Reward):
    """Every (class, bit) has a magnitude W: flipping bit k of class y earns -s_k S[y, k] W[y, k].

    With several labels the best true class counts, chosen anew for each code. A stop earns `stop` times the share
    of the class's total magnitude that the code has right minus what it has wrong, between -stop and +stop.
    """

    def __init__(self, codebook: Codebook, magnitudes: ArrayLike, actions: ActionSet, *, stop: float = 5.0) -> None:
        sizes = torch.as_tensor(magnitudes, dtype=torch.float32)
        if sizes.shape != codebook.codewords.shape or not bool((sizes >= 0).all() and (sizes.sum(dim=1) > 0).all()):
            raise UserError(
                f"magnitudes must be {codebook.codewords.shape} numbers of at least 0, some above 0 in every row: "
                f"got shape {tuple(sizes.shape)}, smallest {sizes.min().item():g}"
            )
        super().__init__(torch.from_numpy(codebook.signs) * sizes, actions)
        self.stop = stop
        self.total = self.embedding.abs().sum(dim=1)

    def _score(self, products: Tensor, mask: Tensor) -> Tensor:
        return _best_true(products, mask) / 2

    def _stop(self, signs: Tensor, labels: Tensor) -> Tensor:
        shares = signs @ self.embedding.T / self.total
        return self.stop * _best_true(shares, label_mask(labels, self.n_classes))

    def _flips(self, signs: Tensor, labels: Tensor) -> Tensor:
        if labels.ndim == 2:
            return super()._flips(signs, labels)
        return self._linear_flips(-signs * self.embedding[labels])


class ScoreReward(Reward):
    """Paid for the code as a whole: the change of Phi(s; y) = log softmax_c(kappa s . E_c)[y].

    With several labels Phi is the log of the probability that all true classes have together. The rows E_c may be
    any real numbers. A stop earns the constant `stop`. Rewards add up to Phi(end) - Phi(start) when gamma is 1.
    """

    def __init__(self, embedding: ArrayLike, actions: ActionSet, *, kappa: float, stop: float = 0.0) -> None:
        super().__init__(embedding, actions)
        self.kappa, self.stop = kappa, stop
        exponents = 2 * kappa * self.embedding
        largest = exponents.abs().max().item()
        if largest > _LARGEST_EXPONENT:
            raise UserError(
                f"2 * kappa * |embedding| must stay below {_LARGEST_EXPONENT:.0f}: got {largest:.1f}; lower kappa"
            )
        self.growth, self.decay = exponents.exp(), (-exponents).exp()

    def _score(self, products: Tensor, mask: Tensor) -> Tensor:
        logits = self.kappa * products
        true = logits.masked_fill(~mask, -torch.inf)
        return true.logsumexp(dim=-1) - logits.logsumexp(dim=-1)

    def _stop(self, signs: Tensor, labels: Tensor) -> Tensor:
        return torch.full_like(signs[:, 0], self.stop)

    def _flips(self, signs: Tensor, labels: Tensor) -> Tensor:
        """Single flips need no (n, b, C) block: a logsumexp moves by log sum_c p_c exp(-2 kappa s_k E_ck)."""
        if self.actions.bits.shape[1] > 1:
            return super()._flips(signs, labels)
        logits = self.kappa * signs @ self.embedding.T
        true = logits.masked_fill(~label_mask(labels, self.n_classes), -torch.inf)
        return self._logsumexp_change(true, signs) - self._logsumexp_change(logits, signs)

    def _logsumexp_change(self, logits: Tensor, signs: Tensor) -> Tensor:
        shares = logits.softmax(dim=1)
        return torch.where(signs > 0, shares @ self.decay, shares @ self.growth).log()


def guided_actions(table: Tensor, generator: torch.Generator) -> Tensor:
    """(n,): the expert that sees the rewards picks at random among the actions that earn more than 0.

    Where no action does, it stops.
    """
    wanted = (table > 0).float()
    wanted[:, -1] += (~wanted.any(dim=1)).float()
    return torch.multinomial(wanted, 1, generator=generator)[:, 0]
