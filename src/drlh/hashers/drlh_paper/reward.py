"""The paper's reward, equations 1 and 2, for all actions at once. It sees labels; the dynamics do not.

With p_c = s . S_c the product of the code's signs s and the codeword S_c of class c, the Hamming distance is
d_c = (b - p_c) / 2; flipping bit k moves it by s_k S_ck.

Labels are class ids (n,) or multi-hot (n, C); every image has at least one.
"""

import torch
from torch import Tensor

from drlh.core.errors import UserError
from drlh.hashers.codebook.codebook import Codebook
from drlh.hashers.drlh_paper.environment import ActionSet

_MOST_ELEMENTS = 1 << 23  # of one (rows, actions, classes) block: 32 MB


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


def class_likeness(features: Tensor, labels: Tensor, n_classes: int) -> Tensor:
    """(C, C), 0 to 1: how alike two classes are on images with standardised features (n, d).

    For class ids the cosine of the classes' mean features about the mean of these means, 0 where it is negative; for
    multi-hot labels the share of the images with either class that have both.
    """
    mask = label_mask(labels, n_classes).double()
    counts = mask.sum(dim=0)
    if labels.ndim == 2:
        both = mask.T @ mask
        return both / (counts[:, None] + counts - both).clamp(min=1)
    means = mask.T @ features.double() / counts.clamp(min=1)[:, None]
    means = (means - means.sum(dim=0) / (counts > 0).sum()) * (counts > 0)[:, None]  # of a class without images: 0
    means = torch.nn.functional.normalize(means, dim=1)
    return (means @ means.T).clamp(0, 1)


class Reward:
    """A flip earns (d_pos - d_neg) - (d_pos' - d_neg'); a stop earns +sigma if d_pos <= eta, else -sigma.

    d_pos is the distance to the codeword of the nearest true class, chosen anew for each code; d_neg is the mean
    distance to the codewords of the classes the image does not have (0 where it has all). `eta` is half the codebook's
    radius unless given.

    Not in the paper: with `likeness` A (C, C) of values 0 to 1, d_neg is a weighted mean. A class c weighs 1 less the
    mean of A[t, c] over the image's own classes t, at least a millionth; weights are divided by their sum.
    """

    def __init__(
        self,
        codebook: Codebook,
        actions: ActionSet,
        *,
        sigma: float = 5.0,
        eta: float | None = None,
        likeness: Tensor | None = None,
    ) -> None:
        if codebook.n_bits != actions.n_bits:
            raise UserError(f"codewords must have the {actions.n_bits} bits of the actions: got {codebook.n_bits} bits")
        self.actions = actions
        self.codewords = torch.as_tensor(codebook.signs, dtype=torch.float32, device=actions.bits.device)
        self.sigma = sigma
        self.eta = codebook.paper_radius / 2 if eta is None else eta
        self.likeness = None if likeness is None else likeness.to(self.codewords)
        self.margins = self._margins()  # V: flipping bit k of class y earns -s_k V[y, k]

    @property
    def n_classes(self) -> int:
        return len(self.codewords)

    def table(self, signs: Tensor, labels: Tensor) -> Tensor:
        """(n, n_actions): what every action earns from the codes `signs` (n, b)."""
        signs = signs.float()
        flips = self._flips(signs, labels) if labels.ndim == 2 else self._single_label_flips(signs, labels)
        return torch.cat([flips, self._stop(signs, labels)[:, None]], dim=1)

    def potential(self, signs: Tensor, labels: Tensor) -> Tensor:
        """(n,): d_neg - d_pos of each code; a flip earns the difference."""
        return self._margin(signs.float() @ self.codewords.T, label_mask(labels, self.n_classes))

    def _margins(self) -> Tensor:
        """(C, b): a class's codeword less the mean of the others'."""
        if self.likeness is None:
            return self.codewords - (self.codewords.sum(dim=0) - self.codewords) / (self.n_classes - 1)
        weights = self._weights(torch.eye(self.n_classes, dtype=torch.bool, device=self.codewords.device))
        # Twice the weight of those that differ: exactly 0 at a bit that all share, which no guided walk should flip.
        return torch.where(
            self.codewords > 0, 2 * weights @ (self.codewords < 0).float(), -2 * weights @ (self.codewords > 0).float()
        )

    def _weights(self, mask: Tensor) -> Tensor:
        """(..., C): how much each class counts in d_neg, 0 for the image's own."""
        assert self.likeness is not None
        own = mask.to(self.likeness)
        alike = own @ self.likeness / own.sum(dim=-1, keepdim=True)
        weights = (1 - alike).clamp(min=1e-6) * ~mask
        return weights / weights.sum(dim=-1, keepdim=True).clamp(min=1e-12)

    def _margin(self, products: Tensor, mask: Tensor) -> Tensor:
        """d_neg - d_pos from products (..., C), with `mask` of matching shape."""
        distances = (self.actions.n_bits - products) / 2
        if self.likeness is None:
            d_neg = (distances * ~mask).sum(dim=-1) / (~mask).sum(dim=-1).clamp(min=1)
        else:
            d_neg = (distances * self._weights(mask)).sum(dim=-1)
        return d_neg + _best_true(-distances, mask)

    def _single_label_flips(self, signs: Tensor, labels: Tensor) -> Tensor:
        """(n, n_flips): linear in the bits, so a pair earns the sum of its two single flips."""
        single = torch.nn.functional.pad(-signs * self.margins[labels], (0, 1))
        return single[:, self.actions.bits[:-1]].sum(dim=2)

    def _flips(self, signs: Tensor, labels: Tensor) -> Tensor:
        """(n, n_flips) for any labels, in blocks of bounded size."""
        mask = label_mask(labels, self.n_classes)
        n_rows = max(1, _MOST_ELEMENTS // (self.actions.n_actions * self.n_classes * 2))
        blocks = zip(torch.split(signs, n_rows), torch.split(mask, n_rows), strict=True)
        return torch.cat([self._flip_block(*block) for block in blocks])

    def _flip_block(self, signs: Tensor, mask: Tensor) -> Tensor:
        products = signs @ self.codewords.T
        changes = torch.nn.functional.pad(-2 * signs[:, :, None] * self.codewords.T, (0, 0, 0, 1))  # (n, b + 1, C)
        after = products[:, None]
        for bits in self.actions.bits[:-1].T:  # the first bit of every flip, then the second
            after = after + changes[:, bits]
        return self._margin(after, mask[:, None]) - self._margin(products, mask)[:, None]

    def _stop(self, signs: Tensor, labels: Tensor) -> Tensor:
        products = _best_true(signs @ self.codewords.T, label_mask(labels, self.n_classes))
        inside = (self.actions.n_bits - products) / 2 <= self.eta
        return torch.where(inside, self.sigma, -self.sigma)


def _best_true(values: Tensor, mask: Tensor) -> Tensor:
    return values.masked_fill(~mask, -torch.inf).amax(dim=-1)


def guided_actions(table: Tensor, generator: torch.Generator) -> Tensor:
    """(n,): the expert that sees the rewards picks at random among the actions that earn more than 0.

    Where no action does, it stops.
    """
    wanted = (table > 0).float()
    wanted[:, -1] += (~wanted.any(dim=1)).float()
    return torch.multinomial(wanted, 1, generator=generator)[:, 0]
