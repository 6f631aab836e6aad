"""GraphBit: uncertain bits are estimated from surer ones, along edges that a policy chooses."""

from typing import ClassVar, Unpack

import torch
from torch import Tensor, nn

from drlh.core.codes import Codes, round_to_codes
from drlh.hashers.deep.hasher import DeepHasher, Shared, Sizes
from drlh.hashers.deep.networks import Head
from drlh.hashers.deep.objective import Arrays, Batch, Objective, Outputs, Task
from drlh.hashers.training.checks import Check, is_whole

_N_EPOCHS = 10  # half of them before the graph is chosen, as in the authors' program
_LR_SCALE = 5  # over other methods: the slower the training, the more bits find the same direction
_STEPS_PER_BIT = 6  # of the policy
_N_REWARD_IMAGES = 1000  # on which the loss of a graph is computed
_EPSILON = 0.05  # probability of a random action, as in the authors' program
_FILTERS = 32
_POLICY_LEARNING_RATE = 1e-3


class GraphBit(DeepHasher):
    """GraphBit, unsupervised.

    **Idea.** A network gives every bit a probability, and every ordered pair of bits one more: an estimate of the
    second bit by the first. A bit's probability is the mean of its own and of the estimates along its incoming edges.
    Probabilities should be far from 1/2, on average over images 1/2, and near what they would be without edges. Half
    way through training a policy on the adjacency matrix adds and removes edges, rewarded by the decrease of the loss.

    **Reference.** Y. Duan, Z. Wang, J. Lu, X. Lin, J. Zhou, GraphBit: bitwise interaction mining via deep reinforcement
    learning, CVPR 2018; constants as in the authors' program.

    **Differences.** Outputs pass through a sigmoid, so that they are probabilities; in the authors' program they are
    linear. One linear layer replaces the authors' four, which have no activation between them. Before the graph is
    chosen, each batch has random edges: with the authors' empty graph the estimates along edges are untrained when the
    policy needs them. The policy is rewarded on the same images at every step, each step is an episode, an edge may
    only be added between bits that have none, the learning rate is higher for the fewer steps, and the best graph found
    is used, not the last. Thresholds are means over the training images; the authors' are those of the set to encode.
    Optimiser and schedule of the network are those of all deep methods here, but with the authors' ten epochs and five
    times the rate, which was chosen with labels on a development split of CIFAR-10: nothing in the loss keeps bits from
    becoming equal, and slower training made them more so.

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
        own = {"n_epochs": _N_EPOCHS, "learning_rate": _LR_SCALE * sizes["learning_rate"]}
        return sizes | {name: value for name, value in own.items() if getattr(self, name) is None}

    def _network(self, n_in: int, sizes: Sizes) -> nn.Module:
        return Head(n_in, self.n_bits**2, hidden_size=0, dropout=(sizes["feature_dropout"], 0.0))

    def _objective(self, task: Task) -> Objective:
        n_steps = _STEPS_PER_BIT * self.n_bits if self.n_steps is None else self.n_steps
        return BitGraph(task, self.alpha, self.beta, n_steps)

    def _codes(self, outputs: Tensor) -> Codes:
        edges, thresholds = (
            torch.from_numpy(self.objective_state_[name]).to(outputs) for name in ("edges", "thresholds")
        )
        return round_to_codes((probabilities(pairwise_estimates(outputs), edges) - thresholds).double().cpu().numpy())


class BitGraph(Objective):
    """The loss of the bits' probabilities under a graph."""

    chosen: Tensor  # a boolean: whether the policy has chosen the graph
    edges: Tensor  # (b, b): 1 where an edge leads from the bit of the row to the bit of the column

    def __init__(self, task: Task, alpha: float, beta: float, n_steps: int) -> None:
        super().__init__()
        self.weights, self.n_steps = (alpha, beta), n_steps
        self.register_buffer("edges", torch.zeros(task.n_bits, task.n_bits))
        self.register_buffer("chosen", torch.tensor(n_steps == 0))

    def start_epoch(self, epoch: int, n_epochs: int, outputs: Outputs) -> None:
        if epoch == n_epochs // 2 and self.n_steps:
            self.edges = best_edges(pairwise_estimates(outputs()[:_N_REWARD_IMAGES]), self.weights, self.n_steps)
            self.chosen = torch.ones_like(self.chosen)

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        return graph_loss(
            pairwise_estimates(outputs), self.edges if self.chosen else random_edges(self.edges), self.weights
        )

    def finish(self, outputs: Outputs) -> Arrays:
        thresholds = probabilities(pairwise_estimates(outputs()), self.edges).mean(dim=0)
        return {"edges": self.edges.double().cpu().numpy(), "thresholds": thresholds.double().cpu().numpy()}


def pairwise_estimates(outputs: Tensor) -> Tensor:
    """Probabilities (n, b, b) of the bit of the column, estimated by the bit of the row, from outputs (n, b * b)."""
    n_bits = round(outputs.shape[1] ** 0.5)
    return outputs.sigmoid().view(-1, n_bits, n_bits)


def probabilities(estimates: Tensor, edges: Tensor) -> Tensor:
    """(n, b): the mean of a bit's own probability and of the estimates along its incoming edges."""
    incoming = edges + torch.eye(len(edges), device=edges.device)
    return torch.einsum("njk,jk->nk", estimates, incoming) / incoming.sum(dim=0)


def graph_loss(estimates: Tensor, edges: Tensor, weights: tuple[float, float]) -> Tensor:
    """Imbalance of bits over images, minus their distance from 1/2, plus the change that edges make."""
    without_edges, with_edges = torch.diagonal(estimates, dim1=1, dim2=2), probabilities(estimates, edges)
    imbalance = (with_edges.mean(dim=0) - 0.5).square().mean()
    certainty = ((with_edges - 0.5).abs() + 0.5).log().mean()
    return imbalance - weights[0] * certainty + weights[1] * (without_edges - with_edges).square().mean()


def random_edges(edges: Tensor) -> Tensor:
    """Every edge with probability 1/2."""
    return (torch.rand_like(edges) < 0.5).to(edges.dtype).fill_diagonal_(0)


def best_edges(estimates: Tensor, weights: tuple[float, float], n_steps: int) -> Tensor:
    """The graph (b, b) of least loss among those a policy visits while it learns, starting without edges."""
    policy = PairPolicy().to(estimates)
    optimizer = torch.optim.RMSprop(policy.parameters(), lr=_POLICY_LEARNING_RATE)
    search = GraphSearch(estimates, weights)
    for _ in range(n_steps):
        update_policy(search.step(policy), optimizer)
    return search.best


def update_policy(loss: Tensor, optimizer: torch.optim.Optimizer) -> None:
    """One REINFORCE update, unless there was no action to take: a single bit has no edges."""
    if loss.requires_grad:
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()


class GraphSearch:
    """A graph that a policy changes edge by edge, and the best graph so far."""

    def __init__(self, estimates: Tensor, weights: tuple[float, float]) -> None:
        self.estimates, self.weights = estimates, weights
        self.edges = self.best = torch.zeros_like(estimates[0])
        self.loss = self.best_loss = float(graph_loss(estimates, self.edges, weights))

    def step(self, policy: nn.Module) -> Tensor:
        """Adds an edge, then perhaps removes one; returns the REINFORCE loss of the two actions."""
        scores: Tensor = policy(self.edges)
        policy_loss = torch.zeros_like(scores[0, 0].detach())
        for add in (True, False):
            preference, allowed = (scores, can_add(self.edges)) if add else (-scores.log(), can_remove(self.edges))
            entry, log_probability = sample_entry(preference, allowed)
            if entry is not None:
                policy_loss = policy_loss - self._set(entry, float(add)) * log_probability
        return policy_loss

    def _set(self, entry: int, value: float) -> float:
        """Sets an entry of the flattened matrix; returns the reward, by how much the loss falls."""
        self.edges = self.edges.clone()
        self.edges.view(-1)[entry] = value
        before, self.loss = self.loss, float(graph_loss(self.estimates, self.edges, self.weights))
        if self.loss < self.best_loss:
            self.best, self.best_loss = self.edges, self.loss
        return before - self.loss


def can_add(edges: Tensor) -> Tensor:
    """(b, b): whether two different bits have no edge between them, either way."""
    return (edges + edges.T + torch.eye(len(edges), device=edges.device)) == 0


def can_remove(edges: Tensor) -> Tensor:
    """(b, b): all entries but the diagonal, edge or not: the more edges there are, the more are removed."""
    return torch.eye(len(edges), device=edges.device) == 0


def sample_entry(preference: Tensor, allowed: Tensor) -> tuple[int | None, Tensor]:
    """(entry of the flattened matrix, its log-probability), sampled in proportion to a preference (b, b)."""
    allowed = allowed.flatten().to(preference.dtype)
    if not allowed.any():
        return None, preference.new_zeros(())
    weights = preference.flatten() * allowed
    probabilities = (1 - _EPSILON) * weights / weights.sum() + _EPSILON * allowed / allowed.sum()
    entry = int(torch.multinomial(probabilities.detach(), 1))
    return entry, probabilities[entry].log()


class PairPolicy(nn.Module):
    """Edges (b, b) → probabilities of all entries (b, b), of sum 1."""

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
