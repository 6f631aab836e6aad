"""Deep Q-learning on the binary cube, top to bottom: walk, remember, learn.

An epoch sends every training image on one walk. Its randomness depends on (seed, epoch) alone: a resumed run is
bit-identical to an uninterrupted one. Where several processes learn together, each sees its `Shard` of a batch.
"""

from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from drlh.hashers.drlh_paper.environment import State, start_state, step
from drlh.hashers.drlh_paper.network import QNetwork
from drlh.hashers.drlh_paper.replay import ReplayMemory, Transitions
from drlh.hashers.drlh_paper.reward import Reward, guided_actions
from drlh.hashers.training.agents import EpochReport, distance_to_own, random_signs
from drlh.hashers.training.checkpoint import Arrays, load_module, load_optimizer, module_arrays, optimizer_arrays
from drlh.hashers.training.distributed import Shard, broadcast_module, per_rank_rng
from drlh.hashers.training.epochs import epoch_rngs


@dataclass(frozen=True)
class DQNConfig:
    """The choices of Q-learning. The paper gives the first block; it leaves the second open."""

    n_epochs: int = 25
    epsilon: tuple[float, float, int] = (1.0, 0.1, 15)  # from, to, over so many epochs
    guided: bool = True  # exploring, follow the expert that sees the label; else act at random

    max_steps: int = 32
    gamma: float = 0.9
    replay_capacity: int = 100_000  # transitions
    n_walks: int = 128  # images that walk side by side
    batch_size: int = 128  # transitions of each update, one update for each step of the walks
    learning_rate: float = 0.01
    momentum: float = 0.9
    target_update_interval: int = 1000  # updates between two copies to the target network; 0 learns without one
    double_q: bool = False  # the network chooses the next action, the target network values it
    huber: bool = False
    max_grad_norm: float = 10.0


class DQNLearner:
    """Network, target network, optimiser and memory; `run_epoch` moves all of them on."""

    def __init__(
        self, network: QNetwork, reward: Reward, inputs: Tensor, labels: Tensor, config: DQNConfig, seed: int
    ) -> None:
        self.network, self.reward, self.config, self.seed = network, reward, config, seed
        self.inputs, self.labels = inputs, labels
        self.actions = reward.actions
        self.target_network = deepcopy(network).requires_grad_(False).eval()
        self.optimizer = torch.optim.SGD(network.parameters(), lr=config.learning_rate, momentum=config.momentum)
        self.memory = ReplayMemory(config.replay_capacity, self.actions.n_bits)
        self.n_updates = 0

    def run_epoch(self, epoch: int) -> EpochReport:
        """Every image walks once, in a random order; after each step of the walks the network learns."""
        with epoch_rngs(self.seed, epoch, self.inputs.device) as (rng, generator):
            order = torch.from_numpy(rng.permutation(len(self.inputs))).to(self.inputs.device)
            tallies = [self._walk(rows, epoch, rng, generator) for rows in torch.split(order, self.config.n_walks)]
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
        first, last, n_epochs = self.config.epsilon
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
            self.memory.add(Transitions(rows, state, action, earned))
            following, terminated, truncated = step(state, action, self.actions, self.config.max_steps)
            losses.append(self._update(rng))
            total += float(earned.sum())
            n_steps += len(rows)
            n_stopped += int(terminated.sum())
            going = ~(terminated | truncated)
            ended = following.rows(~going)
            away += float(distance_to_own(ended.signs, self.reward.codewords, self.labels[rows[~going]]).sum())
            rows, state = rows[going], following.rows(going)
        return float(np.mean(losses)), total, n_steps, n_stopped, away

    @torch.no_grad()
    def _choose(self, rows: Tensor, state: State, table: Tensor, epsilon: float, generator: torch.Generator) -> Tensor:
        """(n,) actions: the greedy one, or with probability epsilon the expert's or a random one."""
        device = rows.device
        explores = torch.rand(len(rows), generator=generator, device=device) < epsilon
        if self.config.guided:
            other = guided_actions(table, generator)
        else:
            other = torch.randint(self.actions.n_actions, (len(rows),), generator=generator, device=device)
        if bool(explores.all()):
            return other
        self.network.eval()
        greedy = _values(self.network, self.inputs.index_select(0, rows), state).max(dim=1).indices
        return torch.where(explores, other, greedy)

    def _update(self, rng: np.random.Generator) -> float:
        """One step of the optimiser on remembered transitions; returns the loss."""
        batch, shard = self._sample(rng)
        features = self.inputs.index_select(0, batch.rows)
        td_targets = self._td_targets(batch, features)
        self.network.train()
        with per_rank_rng(self.n_updates):
            values = _values(self.network, features, batch.state).gather(1, batch.actions[:, None])[:, 0]
        loss_of = nn.functional.smooth_l1_loss if self.config.huber else nn.functional.mse_loss
        self.optimizer.zero_grad(set_to_none=True)
        loss = shard.backward(loss_of(values, td_targets), self.network)
        nn.utils.clip_grad_norm_(self.network.parameters(), self.config.max_grad_norm)
        self.optimizer.step()
        self.n_updates += 1
        if self.config.target_update_interval and self.n_updates % self.config.target_update_interval == 0:
            self.target_network.load_state_dict(self.network.state_dict())
        return float(loss)

    def _sample(self, rng: np.random.Generator) -> tuple[Transitions, Shard]:
        """A batch of transitions from the replay memory; of several processes each takes its part."""
        drawn = self.memory.sample(self.config.batch_size, rng, self.inputs.device)
        shard = Shard(len(drawn.rows))
        rows, actions, rewards = shard.take(drawn.rows, drawn.actions, drawn.rewards)
        return Transitions(rows, drawn.state.rows(shard.place), actions, rewards), shard

    @torch.no_grad()
    def _td_targets(self, batch: Transitions, features: Tensor) -> Tensor:
        """r + gamma max_a Q(s', a); a stop has no future, the step limit does not end one."""
        following, terminated, _ = step(batch.state, batch.actions, self.actions, self.config.max_steps)
        self.network.eval()  # the target network always is
        valuer = self.target_network if self.config.target_update_interval else self.network
        next_values = _values(valuer, features, following)
        if self.config.double_q:
            choice = _values(self.network, features, following).argmax(dim=1, keepdim=True)
            best = next_values.gather(1, choice)[:, 0]
        else:
            best = next_values.amax(dim=1)
        return batch.rewards + self.config.gamma * best * ~terminated

    def arrays(self) -> Arrays:
        """Everything that a later epoch depends on, for a checkpoint."""
        parts = module_arrays(self.network, "network") | module_arrays(self.target_network, "target")
        own = {"n_updates": np.array(self.n_updates)}
        return parts | optimizer_arrays(self.optimizer) | self.memory.arrays() | own

    def load_arrays(self, arrays: Arrays) -> None:
        load_module(self.network, arrays, "network")
        load_module(self.target_network, arrays, "target")
        load_optimizer(self.optimizer, arrays)
        self.memory.load_arrays(arrays)
        self.n_updates = int(arrays["n_updates"])


def _values(network: QNetwork, features: Tensor, state: State) -> Tensor:
    values: Tensor = network(network.image(features), state)
    return values
