"""GraphBit: bits that are in doubt ask surer bits, and a policy learns which should ask which."""

from typing import ClassVar, Unpack

import torch
from torch import Tensor, nn

from drlh.core.codes import Codes, round_to_codes
from drlh.hashers.deep.hasher import DeepHasher, Shared, Sizes
from drlh.hashers.deep.networks import Head
from drlh.hashers.deep.objective import Arrays, Batch, Objective, Outputs, Task
from drlh.hashers.training.checks import Check, is_whole

_EPOCHS = 10  # half of them before the graph, as in the authors' program
_QUICKER = 5  # than other methods: the longer bits search, the more of them find the same direction
_STEPS_PER_BIT = 6  # of the policy
_JUDGED = 1000  # images on which a graph is judged
_EXPLORE = 0.05  # share of actions taken at random, as in the authors' program
_FILTERS = 32
_POLICY_RATE = 1e-3


class GraphBit(DeepHasher):
    """GraphBit, unsupervised.

    **Idea.** A network gives every bit a probability, and every pair of bits one more: what the second bit is, as the
    first would have it. A bit's probability is the mean of its own and of those along the edges that lead to it.
    Probabilities shall be far from 1/2, on average over images at 1/2, and not far from what they were without edges.
    Half way through learning a policy on the matrix of edges adds and removes some, rewarded by what the loss falls.

    **Reference.** Y. Duan, Z. Wang, J. Lu, X. Lin, J. Zhou, GraphBit: bitwise interaction mining via deep reinforcement
    learning, CVPR 2018; constants as in the authors' program.

    **Differences.** Outputs pass through a sigmoid, so that probabilities are some; in the authors' program they are
    linear. One linear layer stands for the authors' four, which have nothing between them. Before the graph is chosen,
    edges are drawn at random for every batch: with the authors' empty graph the outputs of edges learn nothing before
    they are judged. The policy walks on the same images at every step, each step an episode, may only add an edge
    between bits that have none, learns at a larger rate for its fewer steps, and the best graph on its way is kept, not
    the last. Thresholds are means over the training images; the authors take those of the set that is encoded.
    Optimiser and schedule of the network are those of all deep methods here, but with the authors' ten epochs and five
    times the rate, which was chosen with labels on a split of CIFAR-10 for development: nothing in the loss keeps bits
    from becoming the same, and slower learning made them more so.

    Parameters
    ----------
    n_bits : int, default=32
        Length of the code.
    alpha : float, default=0.2
        Weight of the probabilities' distance from 1/2 (the authors' 0.2).
    beta : float, default=0.4
        Weight of the distance from the probabilities without edges (the authors' 0.4).
    n_steps : int or None, default=None
        Steps of the policy; None is 6 for each bit, and 0 leaves the graph without edges.
    **shared
        Parameters of every deep method: see `DeepHasher`; `hidden_size` and `dropout` are not used.

    Attributes
    ----------
    objective_state_ : dict of ndarray
        `edges` (n_bits, n_bits) of the graph, and `thresholds` (n_bits,) of the probabilities.
    """

    supervised: ClassVar[bool] = False

    def __init__(
        self,
        n_bits: int = 32,
        *,
        alpha: float = 0.2,
        beta: float = 0.4,
        n_steps: int | None = None,
        **shared: Unpack[Shared],
    ) -> None:
        super().__init__(n_bits, **shared)
        self.alpha = alpha
        self.beta = beta
        self.n_steps = n_steps

    def _own_checks(self) -> list[Check]:
        return [
            ("alpha", lambda value: value >= 0, "at least 0"),
            ("beta", lambda value: value >= 0, "at least 0"),
            ("n_steps", lambda value: value is None or (is_whole(value) and value >= 0), "None or a count from 0 on"),
        ]

    def _sizes(self, n_images: int, n_features: int) -> Sizes:
        sizes = super()._sizes(n_images, n_features)
        quick = {"n_epochs": _EPOCHS, "learning_rate": _QUICKER * sizes["learning_rate"]}
        return sizes | {name: value for name, value in quick.items() if getattr(self, name) is None}

    def _network(self, n_in: int, sizes: Sizes) -> nn.Module:
        return Head(n_in, self.n_bits**2, hidden_size=0, dropout=(sizes["feature_dropout"], 0.0))

    def _objective(self, task: Task) -> Objective:
        n_steps = _STEPS_PER_BIT * self.n_bits if self.n_steps is None else self.n_steps
        return BitGraph(task, self.alpha, self.beta, n_steps)

    def _codes(self, outputs: Tensor) -> Codes:
        edges, thresholds = (
            torch.from_numpy(self.objective_state_[name]).to(outputs) for name in ("edges", "thresholds")
        )
        return round_to_codes((probabilities(pairs(outputs), edges) - thresholds).double().cpu().numpy())


class BitGraph(Objective):
    """The loss of the bits' probabilities under a graph."""

    chosen: Tensor  # whether the graph is
    edges: Tensor  # (b, b): 1 where the bit of the row speaks to the bit of the column

    def __init__(self, task: Task, alpha: float, beta: float, n_steps: int) -> None:
        super().__init__()
        self.weights, self.n_steps = (alpha, beta), n_steps
        self.register_buffer("edges", torch.zeros(task.n_bits, task.n_bits))
        self.register_buffer("chosen", torch.tensor(n_steps == 0))

    def start_epoch(self, epoch: int, n_epochs: int, outputs: Outputs) -> None:
        if epoch == n_epochs // 2 and self.n_steps:
            self.edges = best_edges(pairs(outputs()[:_JUDGED]), self.weights, self.n_steps)
            self.chosen = torch.ones_like(self.chosen)

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        return graph_loss(pairs(outputs), self.edges if self.chosen else random_edges(self.edges), self.weights)

    def finish(self, outputs: Outputs) -> Arrays:
        thresholds = probabilities(pairs(outputs()), self.edges).mean(dim=0)
        return {"edges": self.edges.double().cpu().numpy(), "thresholds": thresholds.double().cpu().numpy()}


def pairs(outputs: Tensor) -> Tensor:
    """Probabilities (n, b, b) of the bit of the column, in the eyes of the bit of the row, from outputs (n, b * b)."""
    n_bits = round(outputs.shape[1] ** 0.5)
    return outputs.sigmoid().view(-1, n_bits, n_bits)


def probabilities(told: Tensor, edges: Tensor) -> Tensor:
    """(n, b): the mean of a bit's own probability and of those along its edges."""
    heard = edges + torch.eye(len(edges), device=edges.device)
    return torch.einsum("njk,jk->nk", told, heard) / heard.sum(dim=0)


def graph_loss(told: Tensor, edges: Tensor, weights: tuple[float, float]) -> Tensor:
    """Imbalance of bits over images, less their distance from 1/2, plus what edges change."""
    alone, found = torch.diagonal(told, dim1=1, dim2=2), probabilities(told, edges)
    imbalance = (found.mean(dim=0) - 0.5).square().mean()
    certainty = ((found - 0.5).abs() + 0.5).log().mean()
    return imbalance - weights[0] * certainty + weights[1] * (alone - found).square().mean()


def random_edges(edges: Tensor) -> Tensor:
    """Every edge with a chance of one half."""
    return (torch.rand_like(edges) < 0.5).to(edges.dtype).fill_diagonal_(0)


def best_edges(told: Tensor, weights: tuple[float, float], n_steps: int) -> Tensor:
    """The graph (b, b) of least loss on the way of a policy that learns as it walks, from no edge at all."""
    policy = Policy().to(told)
    optimizer = torch.optim.RMSprop(policy.parameters(), lr=_POLICY_RATE)
    walk = Walk(told, weights)
    for _ in range(n_steps):
        learn_from(walk.step(policy), optimizer)
    return walk.best


def learn_from(surprise: Tensor, optimizer: torch.optim.Optimizer) -> None:
    """One update of the policy, if there was anything to do at all: a single bit has no edges."""
    if surprise.requires_grad:
        optimizer.zero_grad()
        surprise.backward()  # type: ignore[no-untyped-call]
        optimizer.step()


class Walk:
    """A graph that a policy changes, edge by edge, and the best there was."""

    def __init__(self, told: Tensor, weights: tuple[float, float]) -> None:
        self.told, self.weights = told, weights
        self.edges = self.best = torch.zeros_like(told[0])
        self.loss = self.least = float(graph_loss(told, self.edges, weights))

    def step(self, policy: nn.Module) -> Tensor:
        """Adds an edge, then perhaps removes one; returns what the policy should make small (REINFORCE)."""
        chances: Tensor = policy(self.edges)
        surprise = torch.zeros_like(chances[0, 0].detach())
        for add in (True, False):
            liking, allowed = (chances, can_add(self.edges)) if add else (-chances.log(), anywhere(self.edges))
            place, log_chance = draw(liking, allowed)
            if place is not None:
                surprise = surprise - self._set(place, float(add)) * log_chance
        return surprise

    def _set(self, place: int, value: float) -> float:
        """Changes a place of the flattened matrix; returns the reward, what the loss falls."""
        self.edges = self.edges.clone()
        self.edges.view(-1)[place] = value
        before, self.loss = self.loss, float(graph_loss(self.told, self.edges, self.weights))
        if self.loss < self.least:
            self.best, self.least = self.edges, self.loss
        return before - self.loss


def can_add(edges: Tensor) -> Tensor:
    """(b, b): whether two different bits have no edge between them, either way."""
    return (edges + edges.T + torch.eye(len(edges), device=edges.device)) == 0


def anywhere(edges: Tensor) -> Tensor:
    """(b, b): the places an edge may be taken from, though it be not there: the more edges, the more are removed."""
    return torch.eye(len(edges), device=edges.device) == 0


def draw(liking: Tensor, allowed: Tensor) -> tuple[int | None, Tensor]:
    """A place of the flattened matrix, drawn in proportion to a liking (b, b), and the logarithm of its chance."""
    allowed = allowed.flatten().to(liking.dtype)
    if not allowed.any():
        return None, liking.new_zeros(())
    liked = liking.flatten() * allowed
    chances = (1 - _EXPLORE) * liked / liked.sum() + _EXPLORE * allowed / allowed.sum()
    place = int(torch.multinomial(chances.detach(), 1))
    return place, chances[place].log()


class Policy(nn.Module):
    """Edges (b, b) → chances of all places (b, b), of sum 1."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, _FILTERS, 5, padding=2), nn.ReLU(),
            nn.Conv2d(_FILTERS, _FILTERS, 3, padding=1), nn.ReLU(),
            nn.Conv2d(_FILTERS, 1, 1),
        )  # fmt: skip

    def forward(self, edges: Tensor) -> Tensor:
        scores: Tensor = self.layers(edges[None, None])
        return scores.flatten().softmax(dim=0).view_as(edges)
