"""A backbone learns to classify: its weights then begin the learning of codes, or make features."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from drlh.cnn.backbones import Body, begin_body, module_of
from drlh.core.errors import UserError
from drlh.core.files import digest
from drlh.core.progress import Progress, quiet
from drlh.hashers.deep.loop import Training, TrainingConfig, outputs_of
from drlh.hashers.deep.objective import Batch, Objective
from drlh.hashers.training.checks import Check, check_values, is_count, is_whole
from drlh.hashers.training.epochs import parameter_groups, resumable_epochs

Rows = NDArray[np.float32]
_SMOOTHING = 0.2
_TEMPERATURE = 9.0  # of the scores, so that learning does not begin too sure
_QUICK = 64.0  # times the filters' rate, for the shifts of norms whose gains are frozen

_CHECKS: list[Check] = [
    ("n_epochs", is_count, "a whole number of at least 1"),
    ("batch_size", lambda value: is_whole(value) and value >= 2, "a whole number of at least 2"),
    ("learning_rate", lambda value: value > 0, "above 0"),
    ("weight_decay", lambda value: value >= 0, "at least 0"),
    ("momentum", lambda value: 0 < value < 1, "above 0 and below 1"),
]


class Classifier(nn.Module):
    """Rows of pixels → scores of the classes."""

    def __init__(self, body: Body, n_classes: int, recipe: dict[str, Any]) -> None:
        super().__init__()
        self.body, self.recipe = body, recipe
        self.seconds = 0.0  # of learning, breaks left out
        self.scores = nn.Linear(body.n_features, n_classes, bias=False)

    def forward(self, rows: Tensor) -> Tensor:
        scores: Tensor = self.scores(self.body(rows)) / _TEMPERATURE
        return scores


class Classification(Objective):
    """Cross-entropy: of one class with smoothed labels, of several each for itself."""

    def __init__(self, multilabel: bool) -> None:
        super().__init__()
        self.multilabel = multilabel

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        if self.multilabel:
            return nn.functional.binary_cross_entropy_with_logits(outputs, batch.labels)
        return nn.functional.cross_entropy(outputs, batch.labels.argmax(dim=1), label_smoothing=_SMOOTHING)


def pretrain(
    rows: Rows,
    labels: NDArray[Any],
    n_classes: int,
    backbone: str,
    *,
    weights: str | Path | None = None,
    seed: int = 0,
    resume_from: str | Path | None = None,
    progress: Progress = quiet,
    **recipe: Any,
) -> Classifier:
    """A body with scores on it, learned from rows of pixels (n, 3·s²) and their labels.

    `recipe` replaces values of the backbone's RECIPE: n_epochs, batch, learning_rate, weight_decay, momentum.
    """
    chosen = recipe_of(backbone, recipe)
    inputs = torch.from_numpy(np.asarray(rows, np.float32))
    many_hot = np.eye(n_classes, dtype=np.float32)[labels] if labels.ndim == 1 else labels.astype(np.float32)
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)  # the network's first weights
        body = begin_body(backbone, weights, inputs)
        network = Classifier(body, n_classes, chosen)
    config = TrainingConfig(chosen["n_epochs"], chosen["batch_size"], chosen["learning_rate"], chosen["weight_decay"])
    optimizer = torch.optim.SGD(
        _groups(network, chosen["weight_decay"], 1.0 if weights is None else 0.1),
        momentum=chosen["momentum"],
        nesterov=True,
    )
    objective = Classification(labels.ndim == 2)
    run = Training(network, objective, inputs, torch.from_numpy(many_hot), config, seed, optimizer)
    fingerprint = digest(inputs.numpy(), many_hot, backbone, str(weights), str(seed), str(sorted(chosen.items())))
    for epoch in resumable_epochs(run, config.n_epochs, resume_from, fingerprint, f"{backbone} epochs", progress):
        run.run_epoch(epoch)
    network.seconds = run.seconds
    return network


def recipe_of(backbone: str, given: dict[str, Any]) -> dict[str, Any]:
    """How a backbone learns to classify, with what is given in place of its own."""
    own: dict[str, Any] = module_of(backbone).RECIPE
    unknown = sorted(set(given) - set(own))
    if unknown:
        raise UserError(f"{backbone} learns by no {unknown[0]!r}: what can be set is {', '.join(own)}")
    chosen = own | given
    check_values(backbone, _CHECKS, chosen.__getitem__)
    return chosen


def _groups(network: nn.Module, weight_decay: float, body_rate: float) -> list[dict[str, Any]]:
    """Every parameter is pulled to 0 by the same share of the learning rate's peak, whatever its own rate."""
    norms = [layer for layer in network.modules() if isinstance(layer, nn.BatchNorm2d)]
    shifts = [layer.bias for layer in norms if not layer.weight.requires_grad]
    quick = {id(shift) for shift in shifts}
    groups = [
        group | {"params": [one for one in group["params"] if id(one) not in quick], "weight_decay": weight_decay}
        for group in parameter_groups(network, body_rate)
    ]
    if shifts:
        groups.append({"params": shifts, "rate": _QUICK * body_rate, "weight_decay": weight_decay / _QUICK})
    return groups


def accuracy(network: Classifier, rows: Rows, labels: NDArray[Any], *, mirrored: bool = False) -> float:
    """Share of pictures whose best score is that of a label of theirs; `mirrored` adds the mirror image's scores."""
    inputs = torch.from_numpy(np.asarray(rows, np.float32))
    scores = outputs_of(network, inputs)
    if mirrored:
        scores = scores + outputs_of(network, _mirrored(inputs, network.body.pictures.raster))
    best = scores.argmax(dim=1).numpy()
    right = best == labels if labels.ndim == 1 else labels[np.arange(len(labels)), best] > 0
    return float(right.mean())


def _mirrored(inputs: Tensor, side: int) -> Tensor:
    return inputs.view(-1, side, side, 3).flip(2).flatten(1)
