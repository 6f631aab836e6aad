"""DAGH: anchors carry what the network says of some images to the codes of all, and back."""

from typing import Unpack

import torch
from torch import Tensor

from drlh.hashers.deep.hasher import DeepHasher, Shared
from drlh.hashers.deep.objective import Batch, Objective, Outputs, Task
from drlh.hashers.deep.pairwise import MemoryBank, discrete_code_step, jaccard_similarity, signs_of
from drlh.hashers.training.checks import Check, is_count

Graph = tuple[Tensor, Tensor]  # Z (N, m), its rows summing to 1 or 0, and the sums of its columns (m,)


class DAGH(DeepHasher):
    """Deep anchor graph hashing.

    **Idea.** Some training images are anchors, and images are neighbours as far as they are tied to the same anchors.
    Every training image has a code, from which a linear map finds its labels and which should be near the outputs of
    its neighbours. The network learns from pairs, as in DPSH, and its outputs are pulled to the codes of neighbours.

    **Reference.** Y. Chen, Z. Lai, Y. Ding, K. Lin, W. K. Wong, Deep supervised hashing with anchor graph, ICCV 2019.
    Neither paper nor program could be read: this follows what a survey says (X. Luo et al., A survey on deep hashing
    methods, TKDD 2023): anchors, likelihood of pairs, labels regressed on codes, distances between outputs and codes
    weighted by the graph, and turns of network, map and codes of all training images.

    **Differences.** Ours, for want of the paper: an image is tied to the anchors with labels in common, by the share
    of labels in common; two images are neighbours by A = Z diag(sums of Z's columns)^-1 Z', as in W. Liu et al.,
    Hashing with graphs, ICML 2011; anchors are drawn anew in each epoch; pairs are of a batch's image and an anchor;
    `mu`, `nu` and `gamma` are our DSDH's, tried on a development split of CIFAR-10 alone. Optimiser and schedule are
    those of all deep methods here; the paper fine-tunes a CNN.

    Parameters
    ----------
    n_bits : int, default=32
        Length of the code.
    n_anchors : int, default=300
        Anchors in an epoch; all images where there are fewer.
    mu : float, default=0.1
        Weight of the squared error of the labels.
    nu : float, default=0.1
        Ridge penalty of the map from codes to labels.
    gamma : float, default=0.1
        Weight of the distances in the graph.
    **shared
        Parameters of every deep method: see `DeepHasher`, also for the fitted attributes.
    """

    def __init__(
        self,
        n_bits: int = 32,
        *,
        n_anchors: int = 300,
        mu: float = 0.1,
        nu: float = 0.1,
        gamma: float = 0.1,
        **shared: Unpack[Shared],
    ) -> None:
        super().__init__(n_bits, **shared)
        self.n_anchors = n_anchors
        self.mu = mu
        self.nu = nu
        self.gamma = gamma

    def _own_checks(self) -> list[Check]:
        return [
            ("n_anchors", is_count, "a whole number of at least 1"),
            ("mu", lambda value: value > 0, "above 0"),
            ("nu", lambda value: value > 0, "above 0"),
            ("gamma", lambda value: value >= 0, "at least 0"),
        ]

    def _objective(self, task: Task) -> Objective:
        return AnchorGraph(task, self.n_anchors, self.mu, self.nu, self.gamma)


class AnchorGraph(Objective):
    """Loss of pairs with anchors, and distances between outputs and codes of neighbours."""

    signs: Tensor

    def __init__(self, task: Task, n_anchors: int, mu: float, nu: float, gamma: float) -> None:
        super().__init__()
        self.n_anchors, self.mu, self.nu, self.gamma, self.memory_bank = n_anchors, mu, nu, gamma, MemoryBank(task)
        self.register_buffer("signs", torch.zeros_like(self.memory_bank.outputs))

    def start_epoch(self, epoch: int, n_epochs: int, outputs: Outputs) -> None:
        now, labels = outputs(), self.memory_bank.labels
        self.memory_bank.start_epoch(epoch, lambda: now)
        self.anchors = torch.randperm(len(labels), device=labels.device)[: self.n_anchors]
        graph = anchor_graph(labels, labels[self.anchors])
        signs = signs_of(now) if epoch == 0 else self.signs
        weight = self.gamma / (self.mu * now.shape[1])
        self.signs.copy_(discrete_code_step(signs, labels, smooth(graph, now), weight, self.nu / self.mu))
        self.wanted, self.tied = smooth(graph, self.signs), graph[0].sum(dim=1)

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        pairs = self.memory_bank.pairwise_loss(outputs, batch, self.anchors)
        return pairs + self.gamma * graph_loss(outputs, self.wanted[batch.rows], self.tied[batch.rows])


def anchor_graph(labels: Tensor, anchor_labels: Tensor) -> Graph:
    """Ties (N, m) by the share of labels in common; each row sums to 1, or to 0 where no anchor has a label of it."""
    common = jaccard_similarity(labels, anchor_labels)
    ties = common / common.sum(dim=1, keepdim=True).clamp(min=1e-6)
    return ties, ties.sum(dim=0)


def smooth(graph: Graph, values: Tensor) -> Tensor:
    """A `values` (N, b) for the neighbourhood A = Z diag(sums)^-1 Z', which is never written out."""
    ties, sums = graph
    return ties @ ((ties.T @ values) / sums.clamp(min=1e-6)[:, None])


def graph_loss(outputs: Tensor, wanted: Tensor, tied: Tensor) -> Tensor:
    """sum_j A_ij |u_i - b_j|^2, mean over images i and bits; `wanted` is row i of A B, `tied` the sum of A's row."""
    n_bits = outputs.shape[1]
    each = tied * (outputs.square().sum(dim=1) + n_bits) - 2 * (outputs * wanted).sum(dim=1)
    return each.mean() / n_bits
