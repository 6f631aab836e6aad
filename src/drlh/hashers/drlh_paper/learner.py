"""Deep Q-learning on the binary cube, top to bottom: walk, remember, learn.

An epoch sends every training image on one walk. Its randomness depends on (seed, epoch) alone, so a run that is taken
up at an epoch goes on as if it had never stopped.
"""

from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from drlh.hashers.drlh_paper.environment import State, random_signs, start_state, step
from drlh.hashers.drlh_paper.network import PaperNetwork
from drlh.hashers.drlh_paper.replay import ReplayMemory, Steps
from drlh.hashers.drlh_paper.reward import Reward, guided_actions
from drlh.hashers.training.checkpoint import Arrays, load_module, load_optimizer, module_arrays, optimizer_arrays
from drlh.hashers.training.distributed import all_reduce_gradients, broadcast_module, local_slice, per_rank_rng
from drlh.hashers.training.epoch_report import EpochReport, distance_to_own
from drlh.hashers.training.epochs import epoch_rngs


@dataclass(frozen=True)
class Rules:
    """The choices of Q-learning. The paper gives the first block; it leaves the second open."""

    n_epochs: int = 25
    epsilon: tuple[float, float, int] = (1.0, 0.1, 15)  # from, to, over so many epochs
    guided: bool = True  # exploring, follow the expert that sees the label; else act at random

    max_steps: int = 32
    gamma: float = 0.9
    memory: int = 100_000
    n_walks: int = 128  # images that walk side by side
    batch: int = 128  # remembered steps in each update, one update for each step of the walks
    learning_rate: float = 0.01
    momentum: float = 0.9
    target_every: int = 1000  # updates between two copies to the target network; 0 learns without one
    double: bool = False  # the network chooses the next action, the target network values it
    huber: bool = False
    clip: float = 10.0  # largest norm of a gradient


class Learner:
    """Network, target network, optimiser and memory; `run_epoch` moves all of them on."""

    def __init__(
        self, network: PaperNetwork, reward: Reward, features: Tensor, labels: Tensor, rules: Rules, seed: int
    ) -> None:
        self.network, self.reward, self.rules, self.seed = network, reward, rules, seed
        self.features, self.labels = features, labels
        self.actions = reward.actions
        self.target = deepcopy(network).requires_grad_(False).eval()
        self.optimizer = torch.optim.SGD(network.parameters(), lr=rules.learning_rate, momentum=rules.momentum)
        self.memory = ReplayMemory(rules.memory, self.actions.n_bits)
        self.n_updates = 0

    @property
    def policy_network(self) -> PaperNetwork:
        """The network that encodes."""
        return self.network

    @property
    def embedding(self) -> Tensor:
        return self.reward.embedding

    def run_epoch(self, epoch: int) -> EpochReport:
        """Every image walks once, in a random order; after each step of the walks the network learns."""
        with epoch_rngs(self.seed, epoch, self.features.device) as (rng, generator):
            order = torch.from_numpy(rng.permutation(len(self.features))).to(self.features.device)
            tallies = [self._walk(rows, epoch, rng, generator) for rows in torch.split(order, self.rules.n_walks)]
        broadcast_module(self.network)
        losses, returns, steps, stopped, away = (np.array(column) for column in zip(*tallies, strict=True))
        n = len(order)
        return EpochReport(
            epoch,
            self.epsilon_of(epoch),
            float(np.mean(losses)),
            float(returns.sum() / n),
            float(steps.sum() / n),
            float(stopped.sum() / n),
            float(away.sum() / n),
        )

    def epsilon_of(self, epoch: int) -> float:
        first, last, n_epochs = self.rules.epsilon
        return first + (last - first) * min(1.0, epoch / max(1, n_epochs))

    def _walk(
        self, rows: Tensor, epoch: int, rng: np.random.Generator, generator: torch.Generator
    ) -> tuple[float, float, int, int, float]:
        """One walk of each image: (mean loss, sum of rewards, steps taken, walks that stopped, sum of distances)."""
        state = start_state(random_signs(len(rows), self.actions.n_bits, generator))
        losses, total, n_steps, n_stopped, away = [], 0.0, 0, 0, 0.0
        while len(rows):
            table = self.reward.table(state.signs, self.labels[rows])
            action = self._choose(rows, state, table, self.epsilon_of(epoch), generator)
            earned = table.gather(1, action[:, None])[:, 0]
            self.memory.add(Steps(rows, state, action, earned))
            following, terminated, truncated = step(state, action, self.actions, self.rules.max_steps)
            losses.append(self._update(rng))
            total += float(earned.sum())
            n_steps += len(rows)
            n_stopped += int(terminated.sum())
            going = ~(terminated | truncated)
            ended = following.rows(~going)
            away += float(distance_to_own(ended.signs, self.embedding, self.labels[rows[~going]]).sum())
            rows, state = rows[going], following.rows(going)
        return float(np.mean(losses)), total, n_steps, n_stopped, away

    @torch.no_grad()
    def _choose(self, rows: Tensor, state: State, table: Tensor, epsilon: float, generator: torch.Generator) -> Tensor:
        """(n,) actions: the greedy one, or with chance epsilon the expert's or a random one."""
        device = rows.device
        explores = torch.rand(len(rows), generator=generator, device=device) < epsilon
        if self.rules.guided:
            other = guided_actions(table, generator)
        else:
            other = torch.randint(self.actions.n_actions, (len(rows),), generator=generator, device=device)
        if bool(explores.all()):
            return other
        self.network.eval()
        greedy = _values(self.network, self.features.index_select(0, rows), state).max(dim=1).indices
        return torch.where(explores, other, greedy)

    def _update(self, rng: np.random.Generator) -> float:
        """One step of the optimiser on remembered steps; returns the loss."""
        sampled = self.memory.sample(self.rules.batch, rng, self.features.device)
        mine = local_slice(sampled.rows)
        batch = Steps(sampled.rows[mine], sampled.state.rows(mine), sampled.actions[mine], sampled.rewards[mine])
        features = self.features.index_select(0, batch.rows)
        targets = self._targets(batch, features)
        self.network.train()
        with per_rank_rng(self.n_updates):
            values = _values(self.network, features, batch.state).gather(1, batch.actions[:, None])[:, 0]
        loss_of = nn.functional.smooth_l1_loss if self.rules.huber else nn.functional.mse_loss
        loss = loss_of(values, targets)
        self.optimizer.zero_grad(set_to_none=True)
        loss = loss * len(batch.rows) / len(sampled.rows) if len(batch.rows) < len(sampled.rows) else loss
        loss.backward()  # type: ignore[no-untyped-call]
        all_reduce_gradients(self.network.parameters())
        nn.utils.clip_grad_norm_(self.network.parameters(), self.rules.clip)
        self.optimizer.step()
        self.n_updates += 1
        if self.rules.target_every and self.n_updates % self.rules.target_every == 0:
            self.target.load_state_dict(self.network.state_dict())
        return float(loss.detach())

    @torch.no_grad()
    def _targets(self, batch: Steps, features: Tensor) -> Tensor:
        """r + gamma max_a Q(s', a); a stop has no future, the step limit does not end one."""
        following, terminated, _ = step(batch.state, batch.actions, self.actions, self.rules.max_steps)
        self.network.eval()  # the target network always is
        valuer = self.target if self.rules.target_every else self.network
        next_values = _values(valuer, features, following)
        if self.rules.double:
            choice = _values(self.network, features, following).argmax(dim=1, keepdim=True)
            best = next_values.gather(1, choice)[:, 0]
        else:
            best = next_values.amax(dim=1)
        return batch.rewards + self.rules.gamma * best * ~terminated

    def arrays(self) -> Arrays:
        """Everything that a later epoch depends on, for a checkpoint."""
        parts = module_arrays(self.network, "network") | module_arrays(self.target, "target")
        own = {"n_updates": np.array(self.n_updates)}
        return parts | optimizer_arrays(self.optimizer) | self.memory.arrays() | own

    def load_arrays(self, arrays: Arrays) -> None:
        load_module(self.network, arrays, "network")
        load_module(self.target, arrays, "target")
        load_optimizer(self.optimizer, arrays)
        self.memory.load_arrays(arrays)
        self.n_updates = int(arrays["n_updates"])


def _values(network: PaperNetwork, features: Tensor, state: State) -> Tensor:
    values: Tensor = network(network.image(features), state)
    return values
