"""The base class of the deep methods: features in, one network, one objective, codes out."""

import inspect
from abc import abstractmethod
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from drlh.core.codes import Codes, round_to_codes
from drlh.core.progress import Progress
from drlh.hashers.base import Features, RandomState
from drlh.hashers.deep.loop import Training, TrainingConfig, outputs_of
from drlh.hashers.deep.networks import Head
from drlh.hashers.deep.objective import Objective, Task
from drlh.hashers.training.checkpoint import build_from_arrays, state_arrays
from drlh.hashers.training.checks import Check, is_count, is_whole
from drlh.hashers.training.epochs import EpochHasher
from drlh.hashers.training.preparation import column_scale, epochs_for, hold_out, powered, sizes_for

if TYPE_CHECKING:
    from drlh.networks.backbone import Body

_ENSEMBLE_SIZE = 4  # DRLH's networks: the hidden layer here has as many units as all of theirs together
Sizes = dict[str, Any]


class Shared(TypedDict, total=False):
    """The parameters that every deep method has in addition to its own; see `DeepHasher`."""

    hidden_size: int | None
    dropout: float | None
    feature_dropout: float | None
    n_epochs: int | None
    batch_size: int | None
    learning_rate: float | None
    weight_decay: float | None
    feature_power: float
    backbone: str | None
    backbone_weights: str | Path | None
    backbone_lr_scale: float | None
    validation_fraction: float
    patience: int
    device: str
    random_state: RandomState


class DeepHasher(EpochHasher):
    """A network trained by gradient descent. A method implements `_objective` and, if needed, the hooks below it.

    Where a size is None it is DRLH's for the same data, so that a comparison is one of methods and not of sizes.

    Parameters
    ----------
    n_bits : int, default=32
        Length of the code.
    hidden_size : int or None, default=None
        Units of the hidden layer; 0 makes the network linear.
    dropout : float or None, default=None
        Dropout rate of the hidden units.
    feature_dropout : float or None, default=None
        Dropout rate of the features.
    n_epochs : int or None, default=None
        Passes over the training images.
    batch_size : int or None, default=None
        Images in a batch.
    learning_rate : float or None, default=None
        Peak of the one-cycle schedule.
    weight_decay : float or None, default=None
        Weight decay of AdamW.
    feature_power : float, default=0.5
        Exponent of the signed power that compresses features; 1 leaves them as they are.
    backbone : {"cnn-small", "nin", "alexnet", "cnn-f"} or None, default=None
        A CNN before the network; X then holds square colour pictures (n, s, s, 3) or rows of their pixels.
    backbone_weights : str, Path or None, default=None
        File with the backbone's initial weights; None initialises it at random.
    backbone_lr_scale : float or None, default=None
        The backbone's learning rate over that of the other layers; None is 0.1 with `backbone_weights`, else 1.
    validation_fraction : float, default=0.0
        Fraction of the images set aside for early stopping by their mAP; 0 switches it off.
    patience : int, default=5
        Epochs without a better validation mAP after which training stops; the best network is kept.
    device : str, default="auto"
        "auto", "cpu" or "cuda".
    random_state : int, Generator, RandomState or None, default=None
        Seed of everything random.

    Attributes
    ----------
    weights_ : dict of ndarray
        Weights and statistics of the network.
    objective_state_ : dict of ndarray
        Arrays that encoding needs beside the network; empty for most methods.
    hidden_size_ : int
        Units of the hidden layer.
    multilabel_ : bool
        Whether the training labels were a multi-hot matrix.
    mean_, scale_ : ndarray of shape (n_features,)
        Mean and scale of the compressed features; absent with a backbone.
    classes_ : ndarray of shape (n_classes,)
        The class ids, where the method is supervised.
    n_features_in_ : int
        Number of features.
    """

    supervised: ClassVar[bool] = True

    def __init__(
        self,
        n_bits: int = 32,
        *,
        hidden_size: int | None = None,
        dropout: float | None = None,
        feature_dropout: float | None = None,
        n_epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        weight_decay: float | None = None,
        feature_power: float = 0.5,
        backbone: str | None = None,
        backbone_weights: str | Path | None = None,
        backbone_lr_scale: float | None = None,
        validation_fraction: float = 0.0,
        patience: int = 5,
        device: str = "auto",
        random_state: RandomState = None,
    ) -> None:
        self.n_bits = n_bits
        self.hidden_size = hidden_size
        self.dropout = dropout
        self.feature_dropout = feature_dropout
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.feature_power = feature_power
        self.backbone = backbone
        self.backbone_weights = backbone_weights
        self.backbone_lr_scale = backbone_lr_scale
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.device = device
        self.random_state = random_state

    def __init_subclass__(cls, **options: Any) -> None:
        """Gives the class a signature of its own parameters and the shared ones, which `__init__` takes as keywords."""
        super().__init_subclass__(**options)
        parameters = [*_parameters(cls), *_parameters(DeepHasher)]
        named = {parameter.name: parameter for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD}
        signature = inspect.Signature(sorted(named.values(), key=lambda parameter: parameter.kind))
        cls.__signature__ = signature  # type: ignore[attr-defined]

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted(inspect.signature(cls).parameters)

    @abstractmethod
    def _objective(self, task: Task) -> Objective:
        """The method's loss."""

    def _network(self, n_in: int, sizes: Sizes) -> nn.Module:
        """The network: a head with one output for each bit, unless the method overrides it."""
        dropout = sizes["feature_dropout"], sizes["dropout"]
        return Head(n_in, self.n_bits, hidden_size=sizes["hidden_size"], dropout=dropout)

    def _with_backbone(self, body: "Body | None", sizes: Sizes) -> nn.Module:
        """The network on features, or on those a backbone computes from pictures."""
        if body is None:
            return self._network(self.n_features_in_, sizes)
        return nn.Sequential(body, self._network(body.n_features, sizes))

    def _codes(self, outputs: Tensor) -> Codes:
        """Codes of outputs (n, n_outputs): a bit is 1 where an output is above 0. May use `self.objective_state_`."""
        return round_to_codes(outputs.double().cpu().numpy())

    def _own_checks(self) -> list[Check]:
        """Ranges of the method's own parameters."""
        return []

    def _fit(
        self, features: Features, labels: NDArray[Any] | None, rng: np.random.Generator, progress: Progress
    ) -> None:
        self._check([*_CHECKS, *self._own_checks()], partial(getattr, self))
        seed = int(rng.integers(2**31))
        multi_hot = self._multi_hot(len(features), labels)
        features, multi_hot, probe = hold_out(features, multi_hot, self.validation_fraction, rng)
        if self.backbone is None:
            self.mean_, self.scale_ = column_scale(powered(features, self.feature_power))
        inputs = self._inputs(features)
        task = Task(torch.from_numpy(multi_hot).to(inputs), self.n_bits, labels is not None and labels.ndim == 2, rng)
        self.multilabel_ = task.multilabel
        with torch.random.fork_rng([]):
            torch.manual_seed(seed)  # of the initial weights
            body = self._body(inputs.shape[1], inputs)
            sizes = self._sizes(len(features), body.n_features if body else inputs.shape[1])
            self.hidden_size_ = int(sizes["hidden_size"])
            network, objective = self._with_backbone(body, sizes), self._objective(task)
        config = TrainingConfig(
            sizes["n_epochs"], sizes["batch_size"], sizes["learning_rate"], sizes["weight_decay"], self._body_rate()
        )
        device = inputs.device
        run = Training(network.to(device), objective.to(device), inputs, task.labels, config, seed)
        for epoch in self._epochs(run, config.n_epochs, self._fingerprint(features, multi_hot, seed), progress):
            run.run_epoch(epoch)
            if probe:
                self._store(run)
                run.record_validation(probe.score(self._encode))
                if run.epochs_since_best >= self.patience:
                    break
        run.restore_best()
        self._store(run)

    def _store(self, run: Training) -> None:
        """Makes the network as it is now the fitted model."""
        self.objective_state_: Mapping[str, NDArray[Any]] = run.objective.finish(run.outputs)
        self.weights_ = state_arrays(run.network)

    def _encode(self, features: Features) -> Codes:
        return self._codes(self._outputs(features))

    def _outputs(self, features: Features) -> Tensor:
        """(n, n_outputs) of the fitted network."""
        sizes = {"hidden_size": self.hidden_size_, "dropout": 0.0, "feature_dropout": 0.0}
        inputs = self._inputs(features)

        def build() -> nn.Module:
            body = self._body(self.n_features_in_)
            return build_from_arrays(lambda: self._with_backbone(body, sizes), self.weights_).to(inputs.device)

        return outputs_of(self._built_once(build), inputs)

    def _inputs(self, features: Features) -> Tensor:
        """Features as the network takes them: compressed and standardised, unless they are a backbone's pixels."""
        inputs = features
        if self.backbone is None:
            inputs = (powered(features, self.feature_power) - self.mean_) / self.scale_
        return torch.from_numpy(inputs.astype(np.float32, copy=False)).to(self._torch_device())

    def _sizes(self, n_images: int, n_features: int) -> Sizes:
        """Shared parameters where they are given, else DRLH's for the same data."""
        sizes = sizes_for(n_images, n_features) | {"n_epochs": epochs_for(n_images)}
        sizes["hidden_size"] *= _ENSEMBLE_SIZE
        return sizes | {name: getattr(self, name) for name in sizes if getattr(self, name) is not None}

    def _multi_hot(self, n_images: int, labels: NDArray[Any] | None) -> NDArray[np.uint8]:
        """Labels (n, C) of 0 and 1; without columns where the method is unsupervised."""
        if labels is None:
            return np.zeros((n_images, 0), np.uint8)
        if labels.ndim == 2:
            return labels
        return np.asarray(np.eye(len(self.classes_), dtype=np.uint8)[labels])


def _parameters(cls: type) -> list[inspect.Parameter]:
    """The parameters of `__init__` without self."""
    return list(inspect.signature(cls.__init__).parameters.values())[1:]  # type: ignore[misc]


_CHECKS: list[Check] = [
    ("hidden_size", lambda value: value is None or (is_whole(value) and value >= 0), "a whole number of at least 0"),
    ("dropout", lambda value: value is None or 0 <= value < 1, "at least 0 and below 1"),
    ("feature_dropout", lambda value: value is None or 0 <= value < 1, "at least 0 and below 1"),
    ("n_epochs", lambda value: value is None or is_count(value), "a whole number of at least 1"),
    ("batch_size", lambda value: value is None or (is_whole(value) and value >= 2), "a whole number of at least 2"),
    ("learning_rate", lambda value: value is None or value > 0, "above 0"),
    ("weight_decay", lambda value: value is None or value >= 0, "at least 0"),
    ("feature_power", lambda value: 0 < value <= 1, "above 0 and at most 1"),
    ("backbone_lr_scale", lambda value: value is None or value >= 0, "at least 0"),
    ("validation_fraction", lambda value: 0 <= value < 1, "at least 0 and below 1"),
    ("patience", is_count, "a whole number of at least 1"),
]
