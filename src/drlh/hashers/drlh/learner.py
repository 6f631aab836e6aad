"""Q-learning of the default agent, top to bottom.

Replay keeps one state for each image: where the agent's own exploring walk had brought it. The dynamics are known, so
nothing else need be remembered: at replay the true reward of every flip is computed anew, and the network learns all of
them at once, with a one-step look-ahead at a sample of them through the slowly moving target network.

An epoch's randomness depends on (seed, epoch) alone: a resumed run is bit-identical to an uninterrupted one. Where
several processes learn together, each sees its `Shard` of a batch; see `training/distributed.py`.
"""

import math
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from drlh.hashers.codebook.adapt import agreement_target, move_codewords
from drlh.hashers.drlh.network import WalkNetwork, flip_values
from drlh.hashers.drlh.reward import LogScore, inverse_temperature, mean_certainty, mean_label_share
from drlh.hashers.drlh.walk import walk
from drlh.hashers.training.agents import EpochReport, distance_to_own, random_signs
from drlh.hashers.training.checkpoint import Arrays, load_module, load_optimizer, module_arrays, optimizer_arrays
from drlh.hashers.training.distributed import Shard, broadcast_module, per_rank_rng
from drlh.hashers.training.epochs import epoch_rngs, one_cycle, parameter_groups

_CONFUSION_RATE = 0.01  # of the running mean of confusions
_CERTAINTY_RATE = 1 / 40  # of that of certainty: what was doubtful epochs ago no longer counts
_RANDOM_STATES = 0.2  # share of states drawn anywhere on the cube
_MAX_LOSS_WEIGHT = 20.0  # times the weight of an image on average
_LEAST = 1e-12


@dataclass(frozen=True)
class WalkConfig:
    """The choices of the default agent's learning."""

    n_epochs: int
    gamma: float
    learning_rate: float
    weight_decay: float
    batch_size: int
    n_lookahead: int  # flips of each state whose next state is looked at
    ema_decay: float  # of the target network, at each update
    codebook_adaptation: float  # how far confused classes' codewords move together; 0 leaves the codebook alone
    separation: float  # how far apart codewords are kept on average, as a share of the most that is possible
    max_steps: int
    backbone_lr_scale: float = 1.0
    loss_weight_exponent: float = 0.0  # how much more an image counts the further its values are off; 0: all alike
    target_confidence: float | None = None  # the most a code may state for its class; None leaves the score as it is


def loss_weights(errors: Tensor, exponent: float) -> Tensor:
    """(n,): weights of images, 1 on average, that grow with their errors (n,).

    Prioritised replay (Schaul et al., ICLR 2016) draws a transition as often as its error to a power says. Here every
    image is replayed once an epoch and counts as much as it would have been drawn.
    """
    larger = (errors / errors.mean().clamp(min=_LEAST)) ** exponent
    return (larger / larger.mean().clamp(min=_LEAST)).clamp(max=_MAX_LOSS_WEIGHT)


class WalkLearner:
    """Network, target network, optimiser, states and codewords; `run_epoch` moves all of them on."""

    def __init__(
        self,
        network: WalkNetwork,
        score: LogScore,
        inputs: Tensor,
        targets: Tensor,
        start: Tensor,
        config: WalkConfig,
        seed: int,
    ) -> None:
        self.network, self.score, self.config, self.seed = network, score, config, seed
        self.inputs, self.targets, self.start = inputs, targets, start
        self.target_network = deepcopy(network).requires_grad_(False).eval()
        groups = parameter_groups(network, config.backbone_lr_scale)
        self.optimizer = torch.optim.AdamW(groups, weight_decay=config.weight_decay)
        self.states = start.clone()
        self.confusion = 0.1 * torch.eye(targets.shape[1], device=inputs.device)
        self.certainty = 0.0
        self.n_updates = 0

    @property
    def policy_network(self) -> WalkNetwork:
        """The network that encodes: the exponential moving average of the last updates."""
        return self.target_network

    def run_epoch(self, epoch: int) -> EpochReport:
        """Learns from every image's state once, then sends every image on a new exploring walk."""
        with epoch_rngs(self.seed, epoch, self.inputs.device) as (rng, generator):
            if self.config.codebook_adaptation and epoch == self.config.n_epochs // 2:
                self._adapt_codebook(rng)
            if self.config.target_confidence is not None and self.n_updates and epoch >= self.config.n_epochs // 2:
                self._set_temperature(self.config.target_confidence)
            order = torch.from_numpy(rng.permutation(len(self.inputs))).to(self.inputs.device)
            batches = torch.split(order, self.config.batch_size)
            loss = float(np.mean([self._update(rows, generator) for rows in batches]))
            return self._explore(epoch, loss, rng, generator)

    def _adapt_codebook(self, rng: np.random.Generator) -> None:
        """Moves the codewords of confused classes nearer; old states belong to the old codewords."""
        confusion = self.confusion.double().cpu().numpy()
        strength, separation = self.config.codebook_adaptation, self.config.separation
        agreements = agreement_target(confusion, strength=strength, separation=separation)
        n_starts = 6 if len(confusion) <= 50 else 1
        moved = move_codewords(self.score.codewords.double().cpu().numpy(), agreements, rng, n_starts=n_starts)
        self.score = LogScore(torch.from_numpy(moved).to(self.score.codewords), self.score.beta)
        self.states = self.start.clone()

    def _set_temperature(self, target_confidence: float) -> None:
        """A code on its codeword states its class as surely as the agent knows one, never above the target.

        At a lower temperature a doubtful image stays so far from all codewords that nothing finds it.
        """
        n_bits, n_classes = self.start.shape[1], self.targets.shape[1]
        share = mean_label_share(self.targets)
        confidence = max(min(target_confidence, math.sqrt(self.certainty / share)) * share, 1.01 / n_classes)
        self.score = LogScore(self.score.codewords, inverse_temperature(n_bits, n_classes, confidence))

    def _update(self, rows: Tensor, generator: torch.Generator) -> float:
        """One step of the optimiser on the states of some images; returns the loss."""
        n_lookahead = self.config.n_lookahead if self.config.gamma else 0
        signs = self._sample_states(rows, generator)
        bits = torch.randint(signs.shape[1], (len(rows), n_lookahead), generator=generator, device=rows.device)
        shard = Shard(len(rows))
        rows, signs, bits = shard.take(rows, signs, bits)
        self.network.train()
        with per_rank_rng(self.n_updates):
            member_probs = self.network.member_probs(self.inputs[rows])
        loss = self._loss(rows, signs, bits, member_probs, shard)
        for group in self.optimizer.param_groups:
            group["lr"] = group["rate"] * self._learning_rate()
        self.optimizer.zero_grad(set_to_none=True)
        loss = shard.backward(loss, self.network)
        self.optimizer.step()
        self.n_updates += 1
        self._move_target(shard.gather(member_probs.detach().transpose(0, 1)).transpose(0, 1))
        return float(loss)

    def _sample_states(self, rows: Tensor, generator: torch.Generator) -> Tensor:
        """The remembered states, and for some images a random one: no state tells the label by itself."""
        signs = self.states[rows]
        anywhere = random_signs(len(rows), signs.shape[1], generator).to(signs.dtype)
        draws = torch.rand(len(rows), 1, generator=generator, device=rows.device)
        return torch.where(draws < _RANDOM_STATES, anywhere, signs)

    def _loss(self, rows: Tensor, signs: Tensor, bits: Tensor, member_probs: Tensor, shard: Shard) -> Tensor:
        """Squared errors of every member's expected rewards, and of the value head against its TD targets."""
        posterior = self.score.posterior(signs)
        true_rewards = self.score.rewards_for(self.targets[rows], signs, posterior)
        errors = (self.score.rewards_for(member_probs, signs, posterior) - true_rewards).square()  # (members, n, b)
        if self.config.loss_weight_exponent:
            by_image = shard.gather(errors.detach().mean(dim=(0, 2)))
            errors = errors * loss_weights(by_image, self.config.loss_weight_exponent)[shard.place, None]
        unit = (2 * self.score.beta) ** 2  # rewards are of the size 2 beta, whatever the length of the code
        loss = errors.mean(dim=(1, 2)).sum() / unit
        if not self.config.gamma:
            return loss
        class_probs = member_probs.detach().mean(dim=0)
        with torch.no_grad():
            expected = self.score.rewards_for(class_probs, signs, posterior)
        values = self.network.value_head(expected, posterior, class_probs).gather(1, bits)
        td_loss = torch.nn.functional.mse_loss(values, self._td_targets(rows, signs, bits))
        return loss + self.config.gamma * td_loss / unit

    @torch.no_grad()
    def _td_targets(self, rows: Tensor, signs: Tensor, bits: Tensor) -> Tensor:
        """(n, n_lookahead): the best value the target network sees after each flip of `bits` (n, n_lookahead)."""
        probs = self.target_network.class_probs(self.inputs[rows])[:, None].expand(-1, bits.shape[1], -1)
        flipped = signs[:, None].repeat(1, bits.shape[1], 1)
        flipped.scatter_(2, bits[:, :, None], -flipped.gather(2, bits[:, :, None]))
        head, posterior = self.target_network.value_head, self.score.posterior(flipped)
        values = flip_values(head, self.score, flipped, posterior, probs, self.config.gamma)
        return values.amax(dim=2).clamp(min=0)  # stopping there is worth 0

    def _learning_rate(self) -> float:
        n_batches = math.ceil(len(self.inputs) / self.config.batch_size)
        done = self.n_updates / max(1, self.config.n_epochs * n_batches - 1)
        return self.config.learning_rate * one_cycle(done)

    @torch.no_grad()
    def _move_target(self, member_probs: Tensor) -> None:
        """Moves the averages on: target network, confusion of classes, certainty."""
        decay = min(self.config.ema_decay, self.n_updates / (self.n_updates + 10))
        for slow, fast in zip(self.target_network.parameters(), self.network.parameters(), strict=True):
            slow.lerp_(fast, 1 - decay)
        for kept, new in zip(self.target_network.buffers(), self.network.buffers(), strict=True):  # of a backbone
            kept.copy_(kept.lerp(new, 1 - decay) if kept.is_floating_point() else new)
        flat = member_probs.flatten(0, 1)
        self.confusion.lerp_(flat.T @ flat / len(flat), _CONFUSION_RATE)
        self.certainty += max(_CERTAINTY_RATE, 1 / self.n_updates) * (mean_certainty(flat) - self.certainty)

    def epsilon_of(self, epoch: int) -> float:
        """1 at first, 0.1 from six tenths of the epochs on, as the paper's 15 of 25."""
        return max(0.1, 1 - 0.9 * epoch / (0.6 * self.config.n_epochs))

    @torch.no_grad()
    def _explore(self, epoch: int, loss: float, rng: np.random.Generator, generator: torch.Generator) -> EpochReport:
        """New states: exploring walks from the start codes, cut at a random length. Greedy walks for the report."""
        broadcast_module(self.network, self.target_network)
        shard = Shard(len(self.inputs))
        (own,) = shard.take(self.inputs)
        probs = shard.gather(torch.cat([self.target_network.class_probs(part) for part in torch.split(own, 4096)]))
        head, epsilon, gamma = self.target_network.value_head, self.epsilon_of(epoch), self.config.gamma
        length = int(rng.integers(1, max(2, self.start.shape[1])))
        self.states = walk(
            head, self.score, probs, self.start, gamma, length, epsilon=epsilon, generator=generator
        ).signs
        start, targets = self.start[:1024], self.targets[:1024]
        greedy = walk(head, self.score, probs[:1024], start, gamma, self.config.max_steps)
        change = self.score.posterior(greedy.signs).log() - self.score.posterior(start).log()
        mean_return = (targets * change).sum(dim=1).mean()
        steps, stopped = greedy.steps.double().mean(), greedy.stopped.double().mean()
        away = distance_to_own(greedy.signs, self.score.codewords, targets).mean()
        return EpochReport(epoch, epsilon, loss, float(mean_return), float(steps), float(stopped), float(away))

    def arrays(self) -> Arrays:
        """Everything that a later epoch depends on, for a checkpoint."""
        own = {
            "states": self.states.to(torch.int8),
            "confusion": self.confusion,
            "codewords": self.score.codewords,
            "n_updates": torch.tensor(self.n_updates),
            "certainty": torch.tensor(self.certainty, dtype=torch.float64),
            "beta": torch.tensor(self.score.beta, dtype=torch.float64),
        }
        parts = module_arrays(self.network, "network") | module_arrays(self.target_network, "target")
        return parts | optimizer_arrays(self.optimizer) | {name: value.cpu().numpy() for name, value in own.items()}

    def load_arrays(self, arrays: Arrays) -> None:
        load_module(self.network, arrays, "network")
        load_module(self.target_network, arrays, "target")
        load_optimizer(self.optimizer, arrays)
        self.states = torch.from_numpy(arrays["states"]).to(self.start)
        self.confusion = torch.from_numpy(arrays["confusion"]).to(self.confusion)
        self.score = LogScore(torch.from_numpy(arrays["codewords"]).to(self.start), float(arrays["beta"]))
        self.certainty = float(arrays["certainty"])
        self.n_updates = int(arrays["n_updates"])
