"""Q-learning of the default agent, top to bottom.

Replay keeps one state for each image: where the agent's own exploring walk had brought it. The dynamics are known, so
nothing else need be remembered: at replay the reward of every flip is computed anew, and the network learns all of them
at once, with a one-step look ahead at a sample of them through the slowly moving target network.

An epoch's randomness depends on (seed, epoch) alone, so a run that is taken up at an epoch goes on as if it had never
stopped.
"""

import math
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from drlh.hashers.codebook.adapt import agreement_target, move_codewords
from drlh.hashers.drlh.network import WalkNetwork, flip_values
from drlh.hashers.drlh.reward import Score, certainty_of, share_of, sharpness
from drlh.hashers.drlh.walk import walk
from drlh.hashers.drlh_paper.environment import random_signs
from drlh.hashers.training.checkpoint import Arrays, load_module, load_optimizer, module_arrays, optimizer_arrays
from drlh.hashers.training.distributed import (
    all_gather,
    all_reduce_gradients,
    broadcast_module,
    local_slice,
    per_rank_rng,
)
from drlh.hashers.training.epoch_report import EpochReport, distance_to_own
from drlh.hashers.training.epochs import epoch_rngs, one_cycle, parameter_groups

_GROWTH = 0.01  # how fast the running mean of confusions follows
_AN_EPOCH = 1 / 40  # how fast that of certainty follows: what was doubtful epochs ago no longer counts
_RANDOM_STATES = 0.2  # share of states drawn anywhere on the cube
_MOST_PRIORITY = 20.0  # times the weight of an image on average
_LEAST = 1e-12


@dataclass(frozen=True)
class Rules:
    """The choices of the default agent's learning."""

    n_epochs: int
    gamma: float
    learning_rate: float
    weight_decay: float
    batch: int
    n_ahead: int  # flips of each state whose next state is looked at
    target_rate: float  # how much of the target network stays at each update
    follow: float  # how far confused classes' codewords move together; 0 leaves the codebook alone
    spread: float
    max_steps: int
    body_rate: float = 1.0  # share of the learning rate that a backbone gets
    priority: float = 0.0  # how much more an image counts the further its values are off; 0 counts all alike
    top: float | None = None  # the most a code may state for its class; None leaves the score as it is


def priorities(errors: Tensor, exponent: float) -> Tensor:
    """(n,): weights of images, 1 on average, that grow with their errors (n,).

    Prioritised replay (Schaul et al., ICLR 2016) draws a transition as often as its error to a power says. Here every
    image is replayed once an epoch and counts as much as it would have been drawn.
    """
    larger = (errors / errors.mean().clamp(min=_LEAST)) ** exponent
    return (larger / larger.mean().clamp(min=_LEAST)).clamp(max=_MOST_PRIORITY)


class WalkLearner:
    """Network, target network, optimiser, states and embedding; `run_epoch` moves all of them on."""

    def __init__(
        self,
        network: WalkNetwork,
        score: Score,
        features: Tensor,
        weights: Tensor,
        start: Tensor,
        rules: Rules,
        seed: int,
    ) -> None:
        self.network, self.score, self.rules, self.seed = network, score, rules, seed
        self.features, self.weights, self.start = features, weights, start
        self.target = deepcopy(network).requires_grad_(False).eval()
        self.optimizer = torch.optim.AdamW(parameter_groups(network, rules.body_rate), weight_decay=rules.weight_decay)
        self.states = start.clone()
        self.confusion = 0.1 * torch.eye(weights.shape[1], device=features.device)
        self.certainty = 0.0
        self.n_updates = 0

    @property
    def n_classes(self) -> int:
        return self.weights.shape[1]

    @property
    def policy_network(self) -> WalkNetwork:
        """The network that encodes: the slow one, a mean over the last updates."""
        return self.target

    @property
    def embedding(self) -> Tensor:
        return self.score.embedding

    def run_epoch(self, epoch: int) -> EpochReport:
        """Learns from every image's state once, then sends every image on a new exploring walk."""
        with epoch_rngs(self.seed, epoch, self.features.device) as (rng, generator):
            if self.rules.follow and epoch == self.rules.n_epochs // 2:
                self._follow_confusions(rng)
            if self.rules.top is not None and self.n_updates and epoch >= self.rules.n_epochs // 2:
                self._sharpen(self.rules.top)
            order = torch.from_numpy(rng.permutation(len(self.features))).to(self.features.device)
            rows_of = torch.split(order, self.rules.batch)
            loss = float(np.mean([self._update(rows, generator) for rows in rows_of]))
            return self._explore(epoch, loss, rng, generator)

    def _follow_confusions(self, rng: np.random.Generator) -> None:
        """Moves the codewords of confused classes nearer; old states belong to the old codewords."""
        confusion = self.confusion.double().cpu().numpy()
        target = agreement_target(confusion, strength=self.rules.follow, spread=self.rules.spread)
        n_starts = 6 if self.n_classes <= 50 else 1
        moved = move_codewords(self.score.embedding.double().cpu().numpy(), target, rng, n_starts=n_starts)
        embedding = torch.from_numpy(moved).to(self.score.embedding)
        self.score = Score(embedding, self.score.kappa)
        self.states = self.start.clone()

    def _sharpen(self, top: float) -> None:
        """A code on its codeword states its class as surely as the agent knows one, and never above `top`.

        With a sharper score a doubtful image stays so far from all codewords that nothing finds it.
        """
        share = share_of(self.weights)
        stated = min(top, math.sqrt(self.certainty / share)) * share
        n_bits = self.start.shape[1]
        self.score = Score(self.embedding, sharpness(n_bits, self.n_classes, max(stated, 1.01 / self.n_classes)))

    def _update(self, rows: Tensor, generator: torch.Generator) -> float:
        """One step of the optimiser on the states of some images; returns the loss."""
        signs = self._states_of(rows, generator)
        n_ahead = self.rules.n_ahead if self.rules.gamma else 0
        bits = torch.randint(signs.shape[1], (len(rows), n_ahead), generator=generator, device=rows.device)
        mine = local_slice(rows)  # of a batch, where several processes learn together
        part, n_rows = len(rows[mine]) / len(rows), len(rows)
        rows, signs, bits = rows[mine], signs[mine], bits[mine]
        shares = self.score.shares(signs)
        earned = self._gains(signs, shares, self.weights[rows])
        self.network.train()
        with per_rank_rng(self.n_updates):
            by_branch = self.network.branch_labels(self.features[rows])
        expected = self._gains(signs, shares, by_branch)
        unit = (2 * self.score.kappa) ** 2  # gains are of the size 2 kappa, whatever the length of the code
        errors = (expected - earned).square()  # (branches, n, b)
        if self.rules.priority:
            by_image = all_gather(errors.detach().mean(dim=(0, 2)), mine, n_rows)
            errors = errors * priorities(by_image, self.rules.priority)[mine, None]
        loss = errors.mean(dim=(1, 2)).sum() / unit
        if self.rules.gamma:
            labels = by_branch.detach().mean(dim=0)
            loss = loss + self.rules.gamma * self._ahead_loss(rows, signs, shares, labels, bits) / unit
        loss = loss * part if part < 1 else loss
        for group in self.optimizer.param_groups:
            group["lr"] = group["rate"] * self._learning_rate()
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        all_reduce_gradients(self.network.parameters())
        self.optimizer.step()
        self.n_updates += 1
        self._move_target(all_gather(by_branch.detach().transpose(0, 1), mine, n_rows).transpose(0, 1))
        return float(loss.detach())

    def _gains(self, signs: Tensor, shares: Tensor, weights: Tensor) -> Tensor:
        return self.score.gains(signs, shares, self.score.pull(weights), weights.sum(dim=-1, keepdim=True))

    def _states_of(self, rows: Tensor, generator: torch.Generator) -> Tensor:
        """The remembered states, and for some images a random one: no state tells the label by itself."""
        signs = self.states[rows]
        anywhere = random_signs(len(rows), signs.shape[1], generator).to(signs.dtype)
        draws = torch.rand(len(rows), 1, generator=generator, device=rows.device)
        return torch.where(draws < _RANDOM_STATES, anywhere, signs)

    def _ahead_loss(self, rows: Tensor, signs: Tensor, shares: Tensor, labels: Tensor, bits: Tensor) -> Tensor:
        """Squared error of V_k against the best value the target network sees after flip k, for flips (n, n_ahead)."""
        with torch.no_grad():
            seen = self.target.labels(self.features[rows])[:, None].expand(-1, bits.shape[1], -1)
            flipped = signs[:, None].repeat(1, bits.shape[1], 1)
            flipped.scatter_(2, bits[:, :, None], -flipped.gather(2, bits[:, :, None]))
            pull = self.score.pull(seen)
            shares_after = self.score.shares(flipped)
            after = flip_values(self.target.ahead, self.score, flipped, shares_after, pull, seen, self.rules.gamma)
            wanted = after.amax(dim=2).clamp(min=0)  # stopping there is worth 0
            gains = self._gains(signs, shares, labels)
        ahead = self.network.ahead(gains, shares, labels).gather(1, bits)
        return torch.nn.functional.mse_loss(ahead, wanted)

    def _learning_rate(self) -> float:
        n_batches = math.ceil(len(self.features) / self.rules.batch)
        done = self.n_updates / max(1, self.rules.n_epochs * n_batches - 1)
        return self.rules.learning_rate * one_cycle(done)

    @torch.no_grad()
    def _move_target(self, by_branch: Tensor) -> None:
        stays = min(self.rules.target_rate, self.n_updates / (self.n_updates + 10))
        for slow, fast in zip(self.target.parameters(), self.network.parameters(), strict=True):
            slow.lerp_(fast, 1 - stays)
        for kept, seen in zip(self.target.buffers(), self.network.buffers(), strict=True):  # a backbone's statistics
            kept.copy_(kept.lerp(seen, 1 - stays) if kept.is_floating_point() else seen)
        flat = by_branch.flatten(0, 1)
        self.confusion.lerp_(flat.T @ flat / len(flat), _GROWTH)
        self.certainty += max(_AN_EPOCH, 1 / self.n_updates) * (certainty_of(flat) - self.certainty)

    def epsilon_of(self, epoch: int) -> float:
        """1 at first, 0.1 from six tenths of the epochs on, as the paper's 15 of 25."""
        return max(0.1, 1 - 0.9 * epoch / (0.6 * self.rules.n_epochs))

    @torch.no_grad()
    def _explore(self, epoch: int, loss: float, rng: np.random.Generator, generator: torch.Generator) -> EpochReport:
        """New states: exploring walks from the start codes, cut at a random length."""
        broadcast_module(self.network)
        broadcast_module(self.target)
        mine = local_slice(self.features)
        seen = [self.target.labels(part) for part in torch.split(self.features[mine], 4096)]
        labels = all_gather(torch.cat(seen), mine, len(self.features))
        epsilon, n_bits = self.epsilon_of(epoch), self.start.shape[1]
        found = walk(
            self.target.ahead, self.score, labels, self.start, self.rules.gamma, int(rng.integers(1, max(2, n_bits))),
            epsilon=epsilon, generator=generator,
        )  # fmt: skip
        self.states = found.signs
        sample = slice(0, 1024)
        greedy = walk(
            self.target.ahead, self.score, labels[sample], self.start[sample], self.rules.gamma, self.rules.max_steps
        )
        potential = self.score.shares(greedy.signs).log() - self.score.shares(self.start[sample]).log()
        earned = (self.weights[sample] * potential).sum(dim=1).mean()
        steps, stopped = greedy.steps.double().mean(), greedy.stopped.double().mean()
        away = distance_to_own(greedy.signs, self.embedding, self.weights[sample]).mean()
        return EpochReport(epoch, epsilon, loss, float(earned), float(steps), float(stopped), float(away))

    def arrays(self) -> Arrays:
        """Everything that a later epoch depends on, for a checkpoint."""
        own = {
            "states": self.states.to(torch.int8),
            "confusion": self.confusion,
            "embedding": self.score.embedding,
            "n_updates": torch.tensor(self.n_updates),
            "certainty": torch.tensor(self.certainty, dtype=torch.float64),
            "kappa": torch.tensor(self.score.kappa, dtype=torch.float64),
        }
        parts = module_arrays(self.network, "network") | module_arrays(self.target, "target")
        return parts | optimizer_arrays(self.optimizer) | {name: value.cpu().numpy() for name, value in own.items()}

    def load_arrays(self, arrays: Arrays) -> None:
        load_module(self.network, arrays, "network")
        load_module(self.target, arrays, "target")
        load_optimizer(self.optimizer, arrays)
        self.states = torch.from_numpy(arrays["states"]).to(self.start)
        self.confusion = torch.from_numpy(arrays["confusion"]).to(self.confusion)
        self.score = Score(torch.from_numpy(arrays["embedding"]).to(self.start), float(arrays["kappa"]))
        self.certainty = float(arrays["certainty"])
        self.n_updates = int(arrays["n_updates"])
