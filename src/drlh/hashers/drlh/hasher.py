"""DRLH as a hasher: its parameters, what follows from them, and the fitted agent."""

from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from drlh.hashers.base import RandomState
from drlh.hashers.drlh.network import WalkNetwork
from drlh.hashers.drlh.reward import LogScore, inverse_temperature, mean_label_share
from drlh.hashers.drlh.walk import WalkPolicy
from drlh.hashers.training.agents import AgentHasher, start_signs
from drlh.hashers.training.checkpoint import build_from_arrays, state_arrays
from drlh.hashers.training.checks import Check, count, fraction, not_negative, number, positive
from drlh.hashers.training.preparation import epochs_for, loss_weight_exponent_for, sizes_for

if TYPE_CHECKING:
    from drlh.hashers.drlh.learner import WalkLearner

_MAX_CONFIDENCE = 0.955  # a surer statement leaves too few codes between two codewords (CIFAR-10, VOC)


class DRLH(AgentHasher):
    """Deep reinforcement learning with label embedding reward.

    **Idea.** A code is a vertex of the binary cube. Starting somewhere, an agent flips one bit at a time until it
    decides to stop; a deep Q-network, which sees the image and where the walk is, values every flip. While learning,
    flips are paid by how much nearer they bring the code to the codeword of the image's class and away from the
    others'.

    **Reference.** Z. Wang, W. Hong, J. Yuan, Deep Reinforcement Learning with Label Embedding Reward for Supervised
    Image Hashing, WACV 2020. `DRLHPaper` is the paper's own agent.

    **Differences.** It keeps the walk, the actions and Q-learning, and departs in five things: a flip earns the change
    of a proper score of the whole code (`reward.py`); the network knows the dynamics and learns class probabilities
    (`network.py`); replay keeps states that carry no label and learns every action (`learner.py`); codewords of
    confused classes move nearer at half-time (`codebook/adapt.py`); features are compressed by a signed square root and
    standardised.

    Parameters
    ----------
    n_bits : int, default=32
        Length of the code.
    codebook : {"bch", "bch-paper", "hadamard", "random"} or array of 0/1 (n_classes, n_bits), default="bch"
        One codeword for each class.
    n_epochs : int, default=None
        Epochs of learning; None: 40 for few images to 12 for many.
    gamma : float, default=0.5
        Discount of later rewards, at least 0 and below 1.
    hidden_size : int, default=None
        Hidden units of each member of the ensemble; None: by the size of the data.
    dropout : float, default=None
        Dropout rate of the hidden units; None: by the size of the data.
    feature_dropout : float, default=None
        Dropout rate of the features; None: by the size of the data.
    learning_rate : float, default=None
        Largest rate of the one-cycle schedule; None: by the size of the data.
    batch_size : int, default=None
        Images of an update; None: about forty updates an epoch.
    weight_decay : float, default=None
        Of AdamW; None: by the size of the data.
    max_steps : int, default=None
        Longest walk; None: n_bits.
    start : {"image", "fixed"}, default="image"
        Walks begin at a code that depends on the image, or all at the same.
    ensemble_size : int, default=4
        Networks whose class probabilities are averaged.
    target_confidence : float or "auto", default="auto"
        Probability that a code on its codeword states for its class; "auto": as sure as the agent is of its images, at
        most 0.955.
    codebook_adaptation : float, default=0.4
        How far confused classes' codewords move together at half-time; 0 leaves the codebook alone.
    loss_weight_exponent : float, default=None
        How much more an image counts the further its values are off; None: 0 (all alike) below 20,000 images, else 1.
    feature_power : float, default=0.5
        Exponent of the signed power that compresses the features; 1 leaves them alone.
    backbone : {"cnn-small", "alexnet", "cnn-f", "nin"}, default=None
        CNN that learns with the Q-network, for X of square colour pictures (n, s, s, 3) or rows of their pixels.
    backbone_weights : path, default=None
        File of weights the backbone begins with; None: it learns from nothing.
    backbone_lr_scale : float, default=None
        The backbone's share of the learning rate; None: 0.1 with weights, else 1.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where torch computes.
    validation_fraction : float, default=0.0
        Share of the images kept out of learning; their mAP goes to `log_dir`.
    log_dir : path, default=None
        Directory for TensorBoard scalars of every epoch.
    random_state : int, Generator or RandomState, default=None
        Seed.

    Attributes
    ----------
    classes_ : array (n_classes,)
        The classes, in the order of the codewords.
    codewords_ : int8 array (n_classes, n_bits) of -1/+1
        The codebook after its adaptation.
    inverse_temperature_ : float
        Of the softmax over a code's agreements with the codewords.
    weights_ : dict of arrays
        The Q-network's state.
    projection_ : float32 array (n_features, n_bits)
        The start code of an image is the sign of its projection.
    mean_, scale_ : arrays (n_features,)
        Of the compressed features, which are standardised by them; none with a backbone.
    multilabel_ : bool
        Whether images may have several labels.
    n_features_in_ : int
        Number of features.
    """

    parameters_elsewhere: ClassVar[Mapping[str, str]] = dict.fromkeys(
        (
            "sigma", "eta", "max_flips", "guided", "double_q", "huber", "hindsight",
            "target_update_interval", "n_layers", "input_balance", "code_input", "use_history", "replay_ratio",
            "replay_capacity", "pairs_from", "composed_pairs", "relative_actions", "label_correlation", "layer",
        ),
        "drlh-paper",
    )  # fmt: skip

    def __init__(
        self,
        n_bits: int = 32,
        *,
        codebook: str | ArrayLike = "bch",
        n_epochs: int | None = None,
        gamma: float = 0.5,
        hidden_size: int | None = None,
        dropout: float | None = None,
        feature_dropout: float | None = None,
        learning_rate: float | None = None,
        batch_size: int | None = None,
        weight_decay: float | None = None,
        max_steps: int | None = None,
        start: str = "image",
        ensemble_size: int = 4,
        target_confidence: float | str = "auto",
        codebook_adaptation: float = 0.4,
        loss_weight_exponent: float | None = None,
        feature_power: float = 0.5,
        backbone: str | None = None,
        backbone_weights: str | Path | None = None,
        backbone_lr_scale: float | None = None,
        device: str = "auto",
        validation_fraction: float = 0.0,
        log_dir: str | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_bits = n_bits
        self.codebook = codebook
        self.n_epochs = n_epochs
        self.gamma = gamma
        self.hidden_size = hidden_size
        self.dropout = dropout
        self.feature_dropout = feature_dropout
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.weight_decay = weight_decay
        self.max_steps = max_steps
        self.start = start
        self.ensemble_size = ensemble_size
        self.target_confidence = target_confidence
        self.codebook_adaptation = codebook_adaptation
        self.loss_weight_exponent = loss_weight_exponent
        self.feature_power = feature_power
        self.backbone = backbone
        self.backbone_weights = backbone_weights
        self.backbone_lr_scale = backbone_lr_scale
        self.device = device
        self.validation_fraction = validation_fraction
        self.log_dir = log_dir
        self.random_state = random_state

    def _checks(self) -> list[Check]:
        n_classes = len(self.classes_)
        return [
            count("n_epochs", optional=True),
            count("hidden_size", optional=True),
            fraction("dropout", optional=True),
            fraction("feature_dropout", optional=True),
            positive("learning_rate", optional=True),
            count("batch_size", optional=True),
            not_negative("weight_decay", optional=True),
            count("ensemble_size"),
            (
                "target_confidence",
                lambda value: value == "auto" or 1 / n_classes < value < 1,
                f"auto, or between 1 / {n_classes} classes and 1",
            ),
            not_negative("codebook_adaptation"),
            not_negative("loss_weight_exponent", optional=True),
            number("feature_power", "above 0 and at most 1", lambda value: 0 < value <= 1),
            not_negative("backbone_lr_scale", optional=True),
        ]

    def _learner(self, inputs: Tensor, labels: Tensor, seed: int) -> "tuple[WalkLearner, int]":
        from drlh.hashers.codebook.codebook import make_codebook
        from drlh.hashers.drlh.learner import WalkConfig, WalkLearner

        n_images, n_classes = len(inputs), len(self.classes_)
        codebook = make_codebook(n_classes, self.n_bits, kind=self.codebook, random_state=seed)
        targets = (torch.nn.functional.one_hot(labels, n_classes) if labels.ndim == 1 else labels).to(inputs)
        automatic = self.target_confidence == "auto"
        confidence = _MAX_CONFIDENCE if automatic else float(self.target_confidence)
        # No code can state several labels each with the target confidence: they share it.
        stated = max(confidence * mean_label_share(targets), 1.01 / n_classes)
        score = LogScore(
            torch.from_numpy(codebook.signs).to(inputs), inverse_temperature(self.n_bits, n_classes, stated)
        )
        self.multilabel_ = labels.ndim == 2
        body = self._body(inputs.shape[1], inputs)
        sizes = self._sizes(n_images, body.n_features if body else inputs.shape[1])
        network = WalkNetwork(
            inputs.shape[1], n_classes, self.n_bits, ensemble_size=self.ensemble_size, hidden_size=sizes["hidden_size"],
            dropout=(sizes["feature_dropout"], sizes["dropout"]), multilabel=self.multilabel_, body=body,
        ).to(inputs.device)  # fmt: skip
        config = WalkConfig(
            n_epochs=sizes["n_epochs"], gamma=self.gamma, batch_size=sizes["batch_size"], n_lookahead=8, ema_decay=0.99,
            learning_rate=sizes["learning_rate"], weight_decay=sizes["weight_decay"],
            loss_weight_exponent=sizes["loss_weight_exponent"], codebook_adaptation=self.codebook_adaptation,
            separation=0.9, max_steps=self._step_limit(), target_confidence=confidence if automatic else None,
            backbone_lr_scale=self._body_rate(),
        )  # fmt: skip
        start = start_signs(inputs, torch.from_numpy(self.projection_).to(inputs.device)).to(inputs)
        return WalkLearner(network, score, inputs, targets, start, config, seed), config.n_epochs

    def _sizes(self, n_images: int, n_features: int) -> dict[str, Any]:
        """Parameters where they are given, else what the size of the data suggests."""
        sizes = sizes_for(n_images, n_features) | {
            "n_epochs": epochs_for(n_images),
            "loss_weight_exponent": loss_weight_exponent_for(n_images),
        }
        return sizes | {name: getattr(self, name) for name in sizes if getattr(self, name) is not None}

    def _keep(self, learner: "WalkLearner") -> None:
        self.weights_: dict[str, NDArray[Any]] = state_arrays(learner.policy_network)
        self.inverse_temperature_ = learner.score.beta
        self.codewords_ = learner.score.codewords.cpu().numpy().astype(np.int8)

    def _policy(self) -> WalkPolicy:
        device = self._torch_device()
        ensemble_size, _, hidden_size = self.weights_["first"].shape
        network = build_from_arrays(
            lambda: WalkNetwork(
                self.n_features_in_, len(self.codewords_), self.n_bits, ensemble_size=ensemble_size,
                hidden_size=hidden_size, multilabel=self.multilabel_, body=self._body(self.n_features_in_),
            ),
            self.weights_,
        ).to(device)  # fmt: skip
        codewords = torch.from_numpy(self.codewords_).double().to(device)
        return WalkPolicy(
            network=network,
            head=deepcopy(network.value_head).double(),
            score=LogScore(codewords, self.inverse_temperature_),
            projection=torch.from_numpy(self.projection_).to(device),
            gamma=self.gamma,
            max_steps=self._step_limit(),
        )
