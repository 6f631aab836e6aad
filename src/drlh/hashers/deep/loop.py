"""The one training loop of all deep methods.

An epoch's randomness depends on (seed, epoch) alone, so a resumed run is bit-identical to an uninterrupted one.
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

_ROWS_AT_ONCE = 4096  # images that pass through the network together when no gradient is needed


@dataclass(frozen=True)
class TrainingConfig:
    """Hyperparameters of training that all methods share."""

    n_epochs: int
    batch_size: int
    learning_rate: float
    weight_decay: float
    backbone_lr_scale: float = 1.0  # the backbone's learning rate over that of the other layers


class Training:
    """Network, objective and optimiser of a run, trained epoch by epoch with `run_epoch`."""

    def __init__(
        self,
        network: nn.Module,
        objective: Objective,
        inputs: Tensor,
        labels: Tensor,
        config: TrainingConfig,
        seed: int,
        optimizer: torch.optim.Optimizer | None = None,
    ) -> None:
        """`optimizer`: AdamW unless given; each of its parameter groups learns at `rate` times the learning rate."""
        self.network, self.objective, self.config, self.seed = network, objective, config, seed
        self.inputs, self.labels = inputs, labels
        self.optimizer = optimizer or torch.optim.AdamW(
            [
                *parameter_groups(network, config.backbone_lr_scale),
                {"params": list(objective.parameters()), "rate": 1.0},
            ],
            weight_decay=config.weight_decay,
        )
        self.n_updates = 0
        self.seconds = 0.0  # spent in epochs, including those before the run was resumed
        self.best_score, self.epochs_since_best = -1.0, 0  # on the validation images, where there are any
        self.best_state: Arrays = {}

    def run_epoch(self, epoch: int) -> float:
        """Trains on every image once; returns the mean loss."""
        start = time.perf_counter()
        with epoch_rngs(self.seed, epoch, self.inputs.device) as (rng, _):
            self.objective.start_epoch(epoch, self.config.n_epochs, self.outputs)
            order = torch.from_numpy(rng.permutation(len(self.inputs))).to(self.inputs.device)
            loss = float(np.mean([self._update(rows) for rows in _batches(order, self.config.batch_size)]))
            broadcast_module(self.network)
        self.seconds += time.perf_counter() - start
        return loss

    def _update(self, rows: Tensor) -> float:
        self.network.train()
        self.objective.train()
        local = local_slice(rows)
        with per_rank_rng(self.n_updates):
            local_outputs = self.network(self.inputs.index_select(0, rows[local]))
        outputs = all_gather(local_outputs, local, len(rows))
        loss = self.objective.loss(outputs, Batch(rows, self.labels.index_select(0, rows)))
        for group in self.optimizer.param_groups:
            group["lr"] = group["rate"] * self.config.learning_rate * one_cycle(self._progress())
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        all_reduce_gradients(self.network.parameters())  # every process has the objective's own in full
        self.optimizer.step()
        self.n_updates += 1
        return float(loss.detach())

    def _progress(self) -> float:
        n_batches = max(1, len(self.inputs) // self.config.batch_size)
        return min(1.0, self.n_updates / max(1, self.config.n_epochs * n_batches - 1))

    def outputs(self) -> Tensor:
        """(N, n_outputs) for all training images, without dropout and without gradients."""
        local = local_slice(self.inputs)
        return all_gather(outputs_of(self.network, self.inputs[local]), local, len(self.inputs))

    def record_validation(self, score: float) -> None:
        """Notes the validation score of an epoch, and keeps a copy of the network if it is the best so far."""
        self.epochs_since_best += 1
        if score > self.best_score:
            self.best_score, self.epochs_since_best = score, 0
            self.best_state = {name: array.copy() for name, array in self._modules().items()}

    def restore_best(self) -> None:
        """Goes back to the network with the best validation score, if there was any validation."""
        if self.best_state:
            self._load_modules(self.best_state)

    def _modules(self) -> Arrays:
        return module_arrays(self.network, "network") | module_arrays(self.objective, "objective")

    def _load_modules(self, arrays: Arrays) -> None:
        load_module(self.network, arrays, "network")
        load_module(self.objective, arrays, "objective")

    def arrays(self) -> Arrays:
        """Everything the remaining epochs depend on, for a checkpoint."""
        own = {"n_updates": np.array(self.n_updates), "validation": np.array([self.best_score, self.epochs_since_best])}
        own["seconds"] = np.array(self.seconds)
        best = {f"best.{name}": array for name, array in self.best_state.items()}
        return self._modules() | optimizer_arrays(self.optimizer) | own | best

    def load_arrays(self, arrays: Arrays) -> None:
        self._load_modules(arrays)
        load_optimizer(self.optimizer, arrays)
        self.n_updates = int(arrays["n_updates"])
        self.seconds = float(arrays["seconds"])
        self.best_score, self.epochs_since_best = float(arrays["validation"][0]), int(arrays["validation"][1])
        self.best_state = {name[5:]: array for name, array in arrays.items() if name.startswith("best.")}


@torch.no_grad()
def outputs_of(network: nn.Module, inputs: Tensor) -> Tensor:
    network.eval()
    return torch.cat([network(part) for part in torch.split(inputs, _ROWS_AT_ONCE)])


def _batches(order: Tensor, batch_size: int) -> list[Tensor]:
    """Batches of at least `batch_size` images: an incomplete one, with few pairs and triplets, joins the one before."""
    parts = list(torch.split(order, batch_size))
    if len(parts) > 1 and len(parts[-1]) < batch_size:
        parts[-2:] = [torch.cat(parts[-2:])]
    return parts
