"""Deep Q-learning on the binary cube, top to bottom: walk, remember, learn.

An epoch sends every training image on one walk. Its randomness depends on (seed, epoch) alone: a resumed run is
bit-identical to an uninterrupted one. Where several processes learn together, each sees its `Shard` of a batch.
"""

import math
from copy import deepcopy
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor, nn

from drlh.hashers.drlh_paper.environment import State, join_states, start_state, step
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
    batch_size: int = 128  # images that walk side by side, and images of an update; one update for as many steps
    replay_ratio: int = 8  # remembered steps of each image of an update: samples learned for each step walked
    replay_capacity: int = 32  # steps remembered of each image
    pairs_from: int = 0  # epochs before this one leave out the flips of two bits; not in the paper
    hindsight: float = 0.0  # share of the remembered steps that are given to another image
    learning_rate: float = 0.05  # falls to 0 along half a cosine
    momentum: float = 0.9
    weight_decay: float = 0.0
    target_update_interval: int = 500  # updates between two copies to the target network; 0 learns without one
    double_q: bool = False  # the network chooses the next action, the target network values it
    huber: bool = False
    max_grad_norm: float = 10.0


@dataclass
class _Tally:
    """What the walks of an epoch come to."""

    losses: list[float] = field(default_factory=list)
    total_reward: float = 0.0
    n_steps: int = 0
    n_stopped: int = 0
    n_ended: int = 0
    total_distance: float = 0.0

    def report(self, epoch: int, epsilon: float) -> EpochReport:
        n = max(1, self.n_ended)
        return EpochReport(
            epoch, epsilon, float(np.mean(self.losses)) if self.losses else 0.0, self.total_reward / n,
            self.n_steps / n, self.n_stopped / n, self.total_distance / n,
        )  # fmt: skip


class DQNLearner:
    """Network, target network, optimiser and memory; `run_epoch` moves all of them on."""

    def __init__(
        self, network: QNetwork, reward: Reward, inputs: Tensor, labels: Tensor, config: DQNConfig, seed: int
    ) -> None:
        self.network, self.reward, self.config, self.seed = network, reward, config, seed
        self.inputs, self.labels = inputs, labels
        self.actions = reward.actions
        self.target_network = deepcopy(network).requires_grad_(False).eval()
        self.optimizer = torch.optim.SGD(
            network.parameters(), lr=config.learning_rate, momentum=config.momentum, weight_decay=config.weight_decay
        )
        self.memory = ReplayMemory(len(inputs), config.replay_capacity, self.actions.n_bits)
        self.n_updates = 0
        self.leaves_out_pairs, self._pairs = config.pairs_from > 0, self.actions.pairs

    def run_epoch(self, epoch: int) -> EpochReport:
        """Every image walks once, in a random order; as one walk ends, the next image takes its place."""
        tally, epsilon, batch_size = _Tally(), self.epsilon_of(epoch), self.config.batch_size
        self.leaves_out_pairs = epoch < self.config.pairs_from
        with epoch_rngs(self.seed, epoch, self.inputs.device) as (rng, generator):
            waiting = torch.from_numpy(rng.permutation(len(self.inputs))).to(self.inputs.device)
            rows, state, waiting = self._start(waiting, batch_size, generator)
            n_walked = 0  # since the last update
            while len(rows):
                n_walked += len(rows)
                following, going = self._step(rows, state, epsilon, generator, tally)
                fresh, starts, waiting = self._start(waiting, int((~going).sum()), generator)
                rows, state = torch.cat([rows[going], fresh]), join_states(following.rows(going), starts)
                if n_walked >= batch_size:
                    n_walked -= batch_size
                    self._set_learning_rate((epoch + tally.n_ended / len(self.inputs)) / self.config.n_epochs)
                    tally.losses.append(self._update(rng))
        broadcast_module(self.network)
        return tally.report(epoch, epsilon)

    def _possible(self, values: Tensor) -> Tensor:
        """Values or rewards (n, n_actions), lowest for the actions that are left out for now."""
        return values.masked_fill(self._pairs, -torch.inf) if self.leaves_out_pairs else values

    def epsilon_of(self, epoch: int) -> float:
        first, last, n_epochs = self.config.epsilon
        return first + (last - first) * min(1.0, epoch / max(1, n_epochs))

    def _set_learning_rate(self, done: float) -> None:
        """After `done` (0 to 1) of all walks."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.config.learning_rate * (1 + math.cos(math.pi * done)) / 2

    def _start(self, waiting: Tensor, n: int, generator: torch.Generator) -> tuple[Tensor, State, Tensor]:
        """(up to n images, their walks at random codes, the images that wait on)."""
        rows = waiting[:n]
        return rows, start_state(random_signs(len(rows), self.actions.n_bits, generator)), waiting[n:]

    def _step(
        self, rows: Tensor, state: State, epsilon: float, generator: torch.Generator, tally: _Tally
    ) -> tuple[State, Tensor]:
        """Each walk takes one step, which is remembered: (the states that follow, which walks go on)."""
        table = self.reward.table(state.signs, self.labels[rows])
        action = self._choose(rows, state, table, epsilon, generator)
        earned = table.gather(1, action[:, None])[:, 0]
        self.memory.add(Transitions(rows, state, action, earned))
        following, terminated, truncated = step(state, action, self.actions, self.config.max_steps)
        ended = terminated | truncated
        tally.total_reward += float(earned.sum())
        tally.n_steps += len(rows)
        tally.n_stopped += int(terminated.sum())
        tally.n_ended += int(ended.sum())
        own = distance_to_own(following.signs[ended], self.reward.codewords, self.labels[rows[ended]])
        tally.total_distance += float(own.sum())
        return following, ~ended

    @torch.no_grad()
    def _choose(self, rows: Tensor, state: State, table: Tensor, epsilon: float, generator: torch.Generator) -> Tensor:
        """(n,) actions: the greedy one, or with probability epsilon the expert's or a random one."""
        device = rows.device
        explores = torch.rand(len(rows), generator=generator, device=device) < epsilon
        if self.config.guided:
            other = guided_actions(self._possible(table), generator)
        else:
            possible = torch.nonzero(self._possible(table[0]).isfinite())[:, 0]
            other = possible[torch.randint(len(possible), (len(rows),), generator=generator, device=device)]
        if bool(explores.all()):
            return other
        self.network.eval()
        values = _values(self.network, self.inputs.index_select(0, rows), state)
        greedy = self._possible(values).max(dim=1).indices
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
        config = self.config
        drawn = self.memory.sample(config.batch_size, config.replay_ratio, rng, self.inputs.device)
        if config.hindsight:
            drawn = self._relabelled(drawn, round(config.hindsight * config.replay_ratio))
        shard = Shard(len(drawn.rows))
        return drawn.of_images(shard.place), shard

    def _relabelled(self, drawn: Transitions, n_each: int) -> Transitions:
        """`n_each` of the steps of every image become those of the image before it in the batch, paid for its labels.

        Where a code leads does not depend on the image, and what it earns is known: a walk teaches every class.
        """
        shape = len(drawn.rows), drawn.steps_per_image
        places = torch.arange(len(drawn.actions), device=drawn.actions.device).view(shape)
        places[:, :n_each] = places[:, :n_each].roll(1, dims=0)
        places = places.flatten()
        moved = Transitions(drawn.rows, drawn.state.rows(places), drawn.actions[places], drawn.rewards)
        table = self.reward.table(moved.state.signs, self.labels[moved.row_of_each])
        return replace(moved, rewards=table.gather(1, moved.actions[:, None])[:, 0])

    @torch.no_grad()
    def _td_targets(self, batch: Transitions, features: Tensor) -> Tensor:
        """r + gamma max_a Q(s', a); a stop has no future, the step limit does not end one."""
        following, terminated, _ = step(batch.state, batch.actions, self.actions, self.config.max_steps)
        self.network.eval()  # the target network always is
        valuer = self.target_network if self.config.target_update_interval else self.network
        next_values = self._possible(_values(valuer, features, following))
        if self.config.double_q:
            choice = self._possible(_values(self.network, features, following)).argmax(dim=1, keepdim=True)
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
