"""The one training loop of all deep methods.

An epoch's randomness depends on (seed, epoch) alone, so a run that is taken up at an epoch goes on as if it had never
stopped.
"""

import time
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from drlh.hashers.deep.objective import Batch, Objective
from drlh.hashers.training.checkpoint import Arrays, load_module, load_optimizer, module_arrays, optimizer_arrays
from drlh.hashers.training.distributed import (
    all_gather,
    all_reduce_gradients,
    broadcast_module,
    local_slice,
    per_rank_rng,
)
from drlh.hashers.training.epochs import epoch_rngs, one_cycle, parameter_groups

_ROWS = 4096  # images whose outputs are computed side by side


@dataclass(frozen=True)
class Rules:
    """The choices of learning that all methods share."""

    n_epochs: int
    batch: int
    learning_rate: float
    weight_decay: float
    body_rate: float = 1.0  # share of the learning rate that a pre-trained body gets


class Training:
    """Network, objective and optimiser; `run_epoch` moves all of them on."""

    def __init__(
        self,
        network: nn.Module,
        objective: Objective,
        inputs: Tensor,
        labels: Tensor,
        rules: Rules,
        seed: int,
        optimizer: torch.optim.Optimizer | None = None,
    ) -> None:
        """`optimizer`: AdamW unless given; a group of its parameters learns at `rate` times the rules' rate."""
        self.network, self.objective, self.rules, self.seed = network, objective, rules, seed
        self.inputs, self.labels = inputs, labels
        self.optimizer = optimizer or torch.optim.AdamW(
            [*parameter_groups(network, rules.body_rate), {"params": list(objective.parameters()), "rate": 1.0}],
            weight_decay=rules.weight_decay,
        )
        self.n_updates = 0
        self.seconds = 0.0  # in epochs, those before a break included
        self.best_score, self.n_worse = -1.0, 0  # of images held out, where some are
        self.best: Arrays = {}

    def run_epoch(self, epoch: int) -> float:
        """Learns from every image once; returns the mean loss."""
        start = time.perf_counter()
        with epoch_rngs(self.seed, epoch, self.inputs.device) as (rng, _):
            self.objective.start_epoch(epoch, self.rules.n_epochs, self.outputs)
            order = torch.from_numpy(rng.permutation(len(self.inputs))).to(self.inputs.device)
            loss = float(np.mean([self._update(rows) for rows in _batches(order, self.rules.batch)]))
            broadcast_module(self.network)
        self.seconds += time.perf_counter() - start
        return loss

    def _update(self, rows: Tensor) -> float:
        self.network.train()
        self.objective.train()
        mine = local_slice(rows)
        with per_rank_rng(self.n_updates):
            seen = self.network(self.inputs.index_select(0, rows[mine]))
        outputs = all_gather(seen, mine, len(rows))
        loss = self.objective.loss(outputs, Batch(rows, self.labels.index_select(0, rows)))
        for group in self.optimizer.param_groups:
            group["lr"] = group["rate"] * self.rules.learning_rate * one_cycle(self._progress())
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        all_reduce_gradients(self.network.parameters())  # the objective's own are those of the whole batch already
        self.optimizer.step()
        self.n_updates += 1
        return float(loss.detach())

    def _progress(self) -> float:
        n_batches = max(1, len(self.inputs) // self.rules.batch)
        return min(1.0, self.n_updates / max(1, self.rules.n_epochs * n_batches - 1))

    def outputs(self) -> Tensor:
        """(N, n_outputs) for all training images, without dropout and without gradients."""
        mine = local_slice(self.inputs)
        return all_gather(outputs_of(self.network, self.inputs[mine]), mine, len(self.inputs))

    def judge(self, score: float) -> None:
        """Remembers the best network by its score, and how many epochs have passed since."""
        self.n_worse += 1
        if score > self.best_score:
            self.best_score, self.n_worse = score, 0
            self.best = {name: array.copy() for name, array in self._modules().items()}

    def take_best(self) -> None:
        """Goes back to the best network that was judged, if any was."""
        if self.best:
            self._load_modules(self.best)

    def _modules(self) -> Arrays:
        return module_arrays(self.network, "network") | module_arrays(self.objective, "objective")

    def _load_modules(self, arrays: Arrays) -> None:
        load_module(self.network, arrays, "network")
        load_module(self.objective, arrays, "objective")

    def arrays(self) -> Arrays:
        """Everything that a later epoch depends on, for a checkpoint."""
        own = {"n_updates": np.array(self.n_updates), "judged": np.array([self.best_score, self.n_worse])}
        own["seconds"] = np.array(self.seconds)
        best = {f"best.{name}": array for name, array in self.best.items()}
        return self._modules() | optimizer_arrays(self.optimizer) | own | best

    def load_arrays(self, arrays: Arrays) -> None:
        self._load_modules(arrays)
        load_optimizer(self.optimizer, arrays)
        self.n_updates = int(arrays["n_updates"])
        self.seconds = float(arrays["seconds"])
        self.best_score, self.n_worse = float(arrays["judged"][0]), int(arrays["judged"][1])
        self.best = {name[5:]: array for name, array in arrays.items() if name.startswith("best.")}


@torch.no_grad()
def outputs_of(network: nn.Module, inputs: Tensor) -> Tensor:
    network.eval()
    return torch.cat([network(part) for part in torch.split(inputs, _ROWS)])


def _batches(order: Tensor, batch: int) -> list[Tensor]:
    """Batches of at least `batch` images: a small rest has few pairs and triplets, so it joins the last."""
    parts = list(torch.split(order, batch))
    if len(parts) > 1 and len(parts[-1]) < batch:
        parts[-2:] = [torch.cat(parts[-2:])]
    return parts
