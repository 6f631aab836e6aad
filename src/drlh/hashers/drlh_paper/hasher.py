"""The paper's agent as a hasher: its parameters and the fitted Q-network."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from drlh.hashers.base import RandomState
from drlh.hashers.codebook.codebook import Codebook, make_codebook
from drlh.hashers.drlh_paper.environment import ActionSet, one_bit_actions, two_bit_actions
from drlh.hashers.drlh_paper.layers import KINDS as LAYERS
from drlh.hashers.drlh_paper.learner import DQNConfig, DQNLearner
from drlh.hashers.drlh_paper.network import GreedyPolicy, QNetwork
from drlh.hashers.drlh_paper.reward import Reward, check_labels, class_likeness
from drlh.hashers.training.agents import AgentHasher
from drlh.hashers.training.checkpoint import build_from_arrays, state_arrays
from drlh.hashers.training.checks import Check, count, flag, fraction, is_whole, not_negative, number, positive


class DRLHPaper(AgentHasher):
    """Deep reinforcement learning with label embedding reward, as the paper describes it.

    **Idea.** A code is a vertex of the binary cube. Starting somewhere, an agent flips one bit at a time until it
    decides to stop; a deep Q-network, which sees the image, the code and the last ten flips, values every action. While
    learning, a flip earns how much nearer it brings the code to the codeword of the image's class and away from the
    others'.

    **Reference.** Z. Wang, W. Hong, J. Yuan, Deep Reinforcement Learning with Label Embedding Reward for Supervised
    Image Hashing, WACV 2020. What it states, and where:

    - 3.1: action k flips bit k, one more action ends the walk: b + 1 in all (figure 5 adds pairs: `max_flips`).
    - 3.2: the state is the feature, the code and the last ten flips, each one-hot over the bits; the stop is not
      recorded; the first code is random.
    - 3.3: codewords are BCH codes of length 2^m - 1, cut or padded with random bits, as far apart as possible; R is
      half of their least distance less one.
    - 3.3, equation 1: a flip earns what it gains on d_pos - d_neg, the distance to the class's codeword and the mean
      distance to the others'; with several labels d_pos is that of the nearest true class at that step.
    - 3.3, equation 2: a stop earns sigma = 5 within eta of the codeword and -5 elsewhere; the best eta is about R / 2.
    - 4: Q-learning with a network and a replay memory; the policy is the action of highest value.
    - 4.1: the network has fully connected layers on the concatenated state, dropout on each, one value an action.
    - 4.2: stochastic gradient descent from random weights; 25 epochs in which every training image walks; epsilon falls
      from 1 to 0.1 over the first 15 and stays; exploration follows an expert that sees the label; at test at most b
      steps, no reward and no learning.

    **Differences.** None in what is stated. What the paper leaves open was chosen on held-out training images: features
    are standardised and scaled to the norm of the code, which is seen as -1/+1 (`input_balance`, `code_input`: without
    them the image drowns the code); several remembered steps are learned for each one walked (`replay_ratio`); the
    learning rate falls to 0; gamma, the sizes, the dropout rates, momentum 0.9, a largest gradient norm, a memory of
    the newest steps of each image, a target network; walks of learning have at most b steps; the expert picks at random
    among the actions that earn something. The start code at test is the sign of a random projection of the image, so
    that a code can be made again.

    Parameters
    ----------
    n_bits : int, default=32
        Length of the code.
    codebook : {"bch", "bch-paper", "hadamard", "random"} or array of 0/1 (n_classes, n_bits), default="bch-paper"
        One codeword for each class.
    n_epochs : int, default=25
        Epochs of learning; epsilon falls over the first three fifths, 15 of 25.
    gamma : float, default=0.9
        Discount of later rewards, at least 0 and below 1.
    hidden_size : int, default=512
        Units of each hidden layer.
    n_layers : int, default=2
        Number of hidden layers.
    dropout : float, default=0.3
        Dropout rate after each hidden layer.
    feature_dropout : float, default=0.5
        Dropout rate of the features.
    input_balance : float, default=1.0
        Norm of the features relative to the code's, as the first layer sees them; None: features as standardised.
    code_input : {"signs", "bits"}, default="signs"
        The network sees the code as -1/+1 or as 0/1.
    use_history : bool, default=True
        Whether the network sees the last ten flips.
    learning_rate : float, default=0.05
        Of stochastic gradient descent at the beginning; it falls to 0 along half a cosine.
    weight_decay : float, default=0.0
        Of stochastic gradient descent.
    batch_size : int, default=128
        Images that walk side by side, and images of an update; there is an update for each `batch_size` steps.
    replay_ratio : int, default=8
        Remembered steps of each image of an update: samples learned for each step walked.
    replay_capacity : int, default=32
        Steps remembered of each image.
    max_steps : int, default=None
        Longest walk of encoding, the paper's M; None: n_bits. Walks of learning have at most n_bits steps.
    start : {"image", "fixed"}, default="image"
        Walks at test begin at a code that depends on the image, or all at the same.
    sigma : float, default=5.0
        Reward of a stop, above 0.
    eta : float, default=None
        Distance to the codeword up to which a stop earns +sigma; None: half the codebook's radius.
    max_flips : {1, 2}, default=1
        Bits an action may flip; 2 adds all pairs.
    pairs_from : int, default=0
        Epochs before this one, below n_epochs, do without pairs; only with max_flips=2; not in the paper.
    composed_pairs : bool, default=False
        Make a pair's value from those of its two flips; only with max_flips=2; not in the paper.
    relative_actions : bool, default=False
        Two outputs for each flip, u - s g with the code's sign s; only with max_flips=1; not in the paper.
    label_correlation : float, default=0.0
        How much less classes like the image's own count in its reward, 0 to 1; not in the paper.
    layer : {"dense", "fastfood", "tensor-train"}, default="dense"
        What the wide matrices of the network are; all but dense not in the paper.
    guided : bool, default=True
        Exploring, follow the expert that sees the label; else act at random.
    double_q : bool, default=False
        Double Q-learning: the network chooses the next action, the target network values it.
    huber : bool, default=False
        Huber loss instead of the squared error.
    hindsight : float, default=0.0
        Share of the remembered steps that are given to another image and paid for its labels; not in the paper.
    target_update_interval : int, default=500
        Updates between two copies to the target network; 0 learns without one.
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
        The codebook.
    weights_ : dict of arrays
        The Q-network's state.
    projection_ : float32 array (n_features, n_bits)
        The start code of an image is the sign of its projection.
    mean_, scale_ : arrays (n_features,)
        By which features are standardised.
    n_features_in_ : int
        Number of features.
    """

    encoding_parameters: ClassVar[tuple[str, ...]] = ("max_steps",)
    parameters_elsewhere: ClassVar[Mapping[str, str]] = dict.fromkeys(
        (
            "ensemble_size", "target_confidence", "codebook_adaptation",
            "loss_weight_exponent", "feature_power", "backbone", "backbone_weights", "backbone_lr_scale",
        ),
        "drlh",
    )  # fmt: skip

    def __init__(
        self,
        n_bits: int = 32,
        *,
        codebook: str | ArrayLike = "bch-paper",
        n_epochs: int = 25,
        gamma: float = 0.9,
        hidden_size: int = 512,
        n_layers: int = 2,
        dropout: float = 0.3,
        feature_dropout: float = 0.5,
        input_balance: float | None = 1.0,
        code_input: str = "signs",
        use_history: bool = True,
        learning_rate: float = 0.05,
        weight_decay: float = 0.0,
        batch_size: int = 128,
        replay_ratio: int = 8,
        replay_capacity: int = 32,
        max_steps: int | None = None,
        start: str = "image",
        sigma: float = 5.0,
        eta: float | None = None,
        max_flips: int = 1,
        pairs_from: int = 0,
        composed_pairs: bool = False,
        relative_actions: bool = False,
        label_correlation: float = 0.0,
        layer: str = "dense",
        guided: bool = True,
        double_q: bool = False,
        huber: bool = False,
        hindsight: float = 0.0,
        target_update_interval: int = 500,
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
        self.n_layers = n_layers
        self.dropout = dropout
        self.feature_dropout = feature_dropout
        self.input_balance = input_balance
        self.code_input = code_input
        self.use_history = use_history
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.replay_ratio = replay_ratio
        self.replay_capacity = replay_capacity
        self.max_steps = max_steps
        self.start = start
        self.sigma = sigma
        self.eta = eta
        self.max_flips = max_flips
        self.pairs_from = pairs_from
        self.composed_pairs = composed_pairs
        self.relative_actions = relative_actions
        self.label_correlation = label_correlation
        self.layer = layer
        self.guided = guided
        self.double_q = double_q
        self.huber = huber
        self.hindsight = hindsight
        self.target_update_interval = target_update_interval
        self.device = device
        self.validation_fraction = validation_fraction
        self.log_dir = log_dir
        self.random_state = random_state

    @property
    def stop_radius(self) -> float:
        """Distance to the codeword up to which a stop earned +sigma while the fitted agent learned."""
        if self.eta is not None:
            return self.eta
        return Codebook((self.codewords_ > 0).astype(np.uint8), "fitted", "the model").paper_radius / 2

    def _checks(self) -> list[Check]:
        return [
            count("n_epochs"),
            count("hidden_size"),
            count("n_layers"),
            fraction("dropout"),
            fraction("feature_dropout"),
            positive("input_balance", optional=True),
            ("code_input", lambda value: value in ("signs", "bits"), "signs or bits"),
            flag("use_history"),
            positive("learning_rate"),
            not_negative("weight_decay"),
            count("batch_size"),
            count("replay_ratio"),
            count("replay_capacity"),
            positive("sigma"),
            not_negative("eta", optional=True),
            ("max_flips", lambda value: value in (1, 2), "1 or 2"),
            ("pairs_from", lambda value: is_whole(value) and 0 <= value < self.n_epochs,
             "a whole number of at least 0 and below n_epochs"),
            ("pairs_from", lambda value: not value or self.max_flips == 2, "0 unless max_flips is 2"),
            flag("composed_pairs"),
            ("composed_pairs", lambda value: not value or self.max_flips == 2, "False unless max_flips is 2"),
            flag("relative_actions"),
            ("relative_actions", lambda value: not value or self.max_flips == 1, "False unless max_flips is 1"),
            number("label_correlation", "between 0 and 1", lambda value: 0 <= value <= 1),
            ("layer", lambda value: value in LAYERS, f"one of {', '.join(LAYERS)}"),
            flag("guided"),
            flag("double_q"),
            flag("huber"),
            number("hindsight", "between 0 and 1", lambda value: 0 <= value <= 1),
            count("target_update_interval", 0),
        ]  # fmt: skip

    def _learner(self, inputs: Tensor, labels: Tensor, seed: int) -> tuple[DQNLearner, int]:
        codebook = make_codebook(len(self.classes_), self.n_bits, kind=self.codebook, random_state=seed)
        actions = self._actions(inputs.device)
        check_labels(labels, codebook.n_classes)
        likeness = None
        if self.label_correlation:
            likeness = self.label_correlation * class_likeness(inputs, labels, codebook.n_classes)
        reward = Reward(codebook, actions, sigma=self.sigma, eta=self.eta, likeness=likeness)
        network = self._network(inputs.shape[1], actions, dropout=self.dropout, feature_dropout=self.feature_dropout)
        config = DQNConfig(
            n_epochs=self.n_epochs, epsilon=(1.0, 0.1, round(0.6 * self.n_epochs)), guided=self.guided,
            max_steps=self.n_bits, gamma=self.gamma, batch_size=min(self.batch_size, len(inputs)),
            replay_ratio=self.replay_ratio, replay_capacity=self.replay_capacity, pairs_from=self.pairs_from,
            hindsight=self.hindsight, learning_rate=self.learning_rate, weight_decay=self.weight_decay,
            target_update_interval=self.target_update_interval, double_q=self.double_q, huber=self.huber,
        )  # fmt: skip
        return DQNLearner(network.to(inputs.device), reward, inputs, labels, config, seed), self.n_epochs

    def _keep(self, learner: DQNLearner) -> None:
        self.weights_: dict[str, NDArray[Any]] = state_arrays(learner.network)
        self.codewords_ = learner.reward.codewords.cpu().numpy().astype(np.int8)

    def _policy(self) -> GreedyPolicy:
        device = self._torch_device()
        actions = self._actions(device)
        network = build_from_arrays(lambda: self._network(self.n_features_in_, actions), self.weights_)
        return GreedyPolicy(network.to(device), torch.from_numpy(self.projection_).to(device), self._step_limit())

    def _network(self, n_features: int, actions: ActionSet, **dropout: float) -> QNetwork:
        # Standardised features have a norm of about sqrt(n_features), a code of -1/+1 one of sqrt(n_bits).
        scale = 1.0 if self.input_balance is None else self.input_balance * math.sqrt(self.n_bits / n_features)
        return QNetwork(
            n_features, actions, hidden_size=self.hidden_size, n_layers=self.n_layers, feature_scale=scale,
            code_input=self.code_input, use_history=self.use_history, layer=self.layer,
            composed_pairs=self.composed_pairs, relative_actions=self.relative_actions, **dropout,
        )  # fmt: skip

    def _actions(self, device: torch.device) -> ActionSet:
        return (one_bit_actions if self.max_flips == 1 else two_bit_actions)(self.n_bits, device)
