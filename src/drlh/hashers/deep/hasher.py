"""What all deep methods are as hashers: features in, one network, one objective, codes out."""

import inspect
from abc import abstractmethod
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TypedDict

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from drlh.core.codes import Codes, round_to_codes
from drlh.core.progress import Progress
from drlh.hashers.base import Features, RandomState
from drlh.hashers.deep.loop import Rules, Training, outputs_of
from drlh.hashers.deep.networks import Head
from drlh.hashers.deep.objective import Objective, Task
from drlh.hashers.drlh.presets import epochs_for, sizes_for
from drlh.hashers.training.checkpoint import build_from_arrays, state_arrays
from drlh.hashers.training.checks import Check, is_count, is_whole
from drlh.hashers.training.epochs import EpochHasher
from drlh.hashers.training.probe import hold_out
from drlh.hashers.training.scaling import column_scale, powered
from drlh.networks.backbone import Body

_BRANCHES = 4  # DRLH's, whose hidden units all stand in one layer here
Sizes = dict[str, Any]


class Shared(TypedDict, total=False):
    """The parameters every deep method has, beside its own; see `DeepHasher`."""

    hidden: int | None
    dropout: float | None
    feature_dropout: float | None
    n_epochs: int | None
    batch: int | None
    learning_rate: float | None
    weight_decay: float | None
    power: float
    backbone: str | None
    backbone_weights: str | Path | None
    backbone_lr_scale: float | None
    hold_out: float
    patience: int
    device: str
    random_state: RandomState


class DeepHasher(EpochHasher):
    """A network learned by gradients. A method fills in `_objective` and, where it must, the hooks below it.

    Shared parameters: `hidden` units, `dropout`, `feature_dropout`, `n_epochs`, `batch`, `learning_rate`,
    `weight_decay`: as many and as large as DRLH's for the same data unless given. `power` of the features.
    `backbone`: a CNN (`cnn-small`, `alexnet`, `cnn-f`, `nin`) before the network, for X of square colour pictures
    (n, s, s, 3) or rows of their pixels; `backbone_weights`: the file it begins with, from nothing where there is none;
    `backbone_lr_scale`: its share of the learning rate (0.1 with weights, else 1).
    `hold_out`: share of the images kept out of learning; then learning stops after `patience` epochs without a better
    mAP of theirs, and the best network is kept. `device`: `auto`, `cpu` or `cuda`. `random_state`: seed.
    """

    supervised: ClassVar[bool] = True

    def __init__(
        self,
        n_bits: int = 32,
        *,
        hidden: int | None = None,
        dropout: float | None = None,
        feature_dropout: float | None = None,
        n_epochs: int | None = None,
        batch: int | None = None,
        learning_rate: float | None = None,
        weight_decay: float | None = None,
        power: float = 0.5,
        backbone: str | None = None,
        backbone_weights: str | Path | None = None,
        backbone_lr_scale: float | None = None,
        hold_out: float = 0.0,
        patience: int = 5,
        device: str = "auto",
        random_state: RandomState = None,
    ) -> None:
        self.n_bits = n_bits
        self.hidden = hidden
        self.dropout = dropout
        self.feature_dropout = feature_dropout
        self.n_epochs = n_epochs
        self.batch = batch
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.power = power
        self.backbone = backbone
        self.backbone_weights = backbone_weights
        self.backbone_lr_scale = backbone_lr_scale
        self.hold_out = hold_out
        self.patience = patience
        self.device = device
        self.random_state = random_state

    def __init_subclass__(cls, **options: Any) -> None:
        """Shows the method's own parameters and the shared ones, which it takes as keywords, side by side."""
        super().__init_subclass__(**options)
        both = [*_parameters(cls), *_parameters(DeepHasher)]
        flat = {one.name: one for one in both if one.kind is not one.VAR_KEYWORD}
        cls.__signature__ = inspect.Signature(sorted(flat.values(), key=lambda one: one.kind))

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted(inspect.signature(cls).parameters)

    @abstractmethod
    def _objective(self, task: Task) -> Objective:
        """The method's loss."""

    def _network(self, n_in: int, sizes: Sizes) -> nn.Module:
        """The network; a head with one output for each bit unless the method says otherwise."""
        return Head(n_in, self.n_bits, hidden=sizes["hidden"], dropout=(sizes["feature_dropout"], sizes["dropout"]))

    def _whole(self, body: Body | None, sizes: Sizes) -> nn.Module:
        """The network on features, or on what a body makes of pictures."""
        if body is None:
            return self._network(self.n_features_in_, sizes)
        return nn.Sequential(body, self._network(body.n_features, sizes))

    def _codes(self, outputs: Tensor) -> Codes:
        """Codes of outputs (n, n_outputs): a bit is whether an output is above 0. `self.kept_` is at hand."""
        return round_to_codes(outputs.double().cpu().numpy())

    def _own_checks(self) -> list[Check]:
        """Ranges of the method's own parameters."""
        return []

    def _fit(
        self, features: Features, labels: NDArray[Any] | None, rng: np.random.Generator, progress: Progress
    ) -> None:
        self._check([*_CHECKS, *self._own_checks()], partial(getattr, self))
        seed = int(rng.integers(2**31))
        many_hot = self._many_hot(len(features), labels)
        features, many_hot, probe = hold_out(features, many_hot, self.hold_out, rng)
        if self.backbone is None:
            self.mean_, self.scale_ = column_scale(powered(features, self.power))
        inputs = self._inputs(features)
        task = Task(torch.from_numpy(many_hot).to(inputs), self.n_bits, labels is not None and labels.ndim == 2, rng)
        self.multilabel_ = task.multilabel
        with torch.random.fork_rng([]):
            torch.manual_seed(seed)  # the network's first weights
            body = self._body(inputs.shape[1], inputs)
            sizes = self._sizes(len(features), body.n_features if body else inputs.shape[1])
            self.hidden_ = int(sizes["hidden"])
            network, objective = self._whole(body, sizes), self._objective(task)
        rules = Rules(
            sizes["n_epochs"], sizes["batch"], sizes["learning_rate"], sizes["weight_decay"], self._body_rate()
        )
        device = inputs.device
        run = Training(network.to(device), objective.to(device), inputs, task.labels, rules, seed)
        for epoch in self._epochs(run, rules.n_epochs, self._fingerprint(features, many_hot, seed), progress):
            run.run_epoch(epoch)
            if probe:
                self._keep(run)
                run.judge(probe.score(self._encode))
                if run.n_worse >= self.patience:
                    break
        run.take_best()
        self._keep(run)

    def _keep(self, run: Training) -> None:
        """The network as it is now becomes the model."""
        self.kept_: Mapping[str, NDArray[Any]] = run.objective.finish(run.outputs)
        self.weights_ = state_arrays(run.network)

    def _encode(self, features: Features) -> Codes:
        return self._codes(self._outputs(features))

    def _outputs(self, features: Features) -> Tensor:
        """(n, n_outputs) of the fitted network."""
        sizes = {"hidden": self.hidden_, "dropout": 0.0, "feature_dropout": 0.0}
        network = build_from_arrays(lambda: self._whole(self._body(self.n_features_in_), sizes), self.weights_)
        inputs = self._inputs(features)
        return outputs_of(network.to(inputs.device), inputs)

    def _inputs(self, features: Features) -> Tensor:
        """Features as the network sees them."""
        seen = features
        if self.backbone is None:
            seen = (powered(features, self.power) - self.mean_) / self.scale_
        return torch.from_numpy(seen.astype(np.float32, copy=False)).to(self._torch_device())

    def _sizes(self, n_images: int, n_features: int) -> Sizes:
        """Shared parameters where they are given, else as DRLH has them for the same data."""
        sizes = sizes_for(n_images, n_features) | {"n_epochs": epochs_for(n_images)}
        sizes["hidden"] *= _BRANCHES
        return sizes | {name: getattr(self, name) for name in sizes if getattr(self, name) is not None}

    def _many_hot(self, n_images: int, labels: NDArray[Any] | None) -> NDArray[np.uint8]:
        """(n, C) of 0 and 1; no columns where the method is unsupervised."""
        if labels is None:
            return np.zeros((n_images, 0), np.uint8)
        if labels.ndim == 2:
            return labels
        return np.asarray(np.eye(len(self.classes_), dtype=np.uint8)[labels])


def _parameters(cls: type) -> list[inspect.Parameter]:
    """Those of `__init__` without self."""
    return list(inspect.signature(cls.__init__).parameters.values())[1:]  # type: ignore[misc]


_CHECKS: list[Check] = [
    ("hidden", lambda value: value is None or (is_whole(value) and value >= 0), "a whole number of at least 0"),
    ("dropout", lambda value: value is None or 0 <= value < 1, "at least 0 and below 1"),
    ("feature_dropout", lambda value: value is None or 0 <= value < 1, "at least 0 and below 1"),
    ("n_epochs", lambda value: value is None or is_count(value), "a whole number of at least 1"),
    ("batch", lambda value: value is None or (is_whole(value) and value >= 2), "a whole number of at least 2"),
    ("learning_rate", lambda value: value is None or value > 0, "above 0"),
    ("weight_decay", lambda value: value is None or value >= 0, "at least 0"),
    ("power", lambda value: 0 < value <= 1, "above 0 and at most 1"),
    ("backbone_lr_scale", lambda value: value is None or value >= 0, "at least 0"),
    ("hold_out", lambda value: 0 <= value < 1, "at least 0 and below 1"),
    ("patience", is_count, "a whole number of at least 1"),
]
