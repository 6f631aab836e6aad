"""The paper's agent as a hasher: its parameters and the fitted Q-network."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from drlh.hashers.base import RandomState
from drlh.hashers.codebook.codebook import make_codebook
from drlh.hashers.drlh_paper.environment import ActionSet, one_bit_actions, two_bit_actions
from drlh.hashers.drlh_paper.learner import DQNConfig, DQNLearner
from drlh.hashers.drlh_paper.network import GreedyPolicy, QNetwork
from drlh.hashers.drlh_paper.reward import Reward, check_labels
from drlh.hashers.training.agents import AgentHasher
from drlh.hashers.training.checkpoint import build_from_arrays, state_arrays
from drlh.hashers.training.checks import Check, count, flag, fraction, not_negative, positive


class DRLHPaper(AgentHasher):
    """Deep reinforcement learning with label embedding reward, as the paper describes it.

    **Idea.** A code is a vertex of the binary cube. Starting somewhere, an agent flips one bit at a time until it
    decides to stop; a deep Q-network, which sees the image, the code and the last ten flips, values every action. While
    learning, a flip earns how much nearer it brings the code to the codeword of the image's class and away from the
    others'.

    **Reference.** Z. Wang, W. Hong, J. Yuan, Deep Reinforcement Learning with Label Embedding Reward for Supervised
    Image Hashing, WACV 2020. Kept from it: b flips and a stop (section 3.1); the state (feature, code, the last ten
    flips one-hot) and a random start code while learning (3.2); BCH codewords cut or padded with random bits to the
    length, the reward of a flip (equation 1) and of a stop (equation 2) with sigma = 5, and for several labels the
    nearest true class (3.3); fully connected layers with dropout after each (4.1); stochastic gradient descent,
    epsilon-greedy with a guided expert, 25 epochs, epsilon from 1 to 0.1 over the first 15, and at most b steps at test
    (4.2).

    **Differences.** What the paper leaves open is set here: gamma, two hidden layers of `hidden_size`, the dropout
    rate, the learning rate with momentum 0.9 and a largest gradient norm, a replay memory of 100,000 transitions, a
    target network, eta, and the start code at test, the sign of a random projection of the image, so that a code can be
    made again. Features are standardised.

    Parameters
    ----------
    n_bits : int, default=32
        Length of the code.
    codebook : {"bch", "bch-paper", "hadamard", "random"} or array of 0/1 (n_classes, n_bits), default="bch-paper"
        One codeword for each class.
    n_epochs : int, default=25
        Epochs of learning; epsilon falls over the first 15.
    gamma : float, default=0.9
        Discount of later rewards, at least 0 and below 1.
    hidden_size : int, default=1024
        Units of each of the two hidden layers.
    dropout : float, default=0.5
        Dropout rate after each hidden layer.
    learning_rate : float, default=0.01
        Of stochastic gradient descent.
    batch_size : int, default=512
        Transitions of an update, and images that walk side by side.
    max_steps : int, default=None
        Longest walk, the paper's M; None: n_bits.
    start : {"image", "fixed"}, default="image"
        Walks at test begin at a code that depends on the image, or all at the same.
    sigma : float, default=5.0
        Reward of a stop, above 0.
    eta : float, default=None
        Distance to the codeword up to which a stop earns +sigma; None: half the codebook's radius.
    max_flips : {1, 2}, default=1
        Bits an action may flip; 2 adds all pairs.
    guided : bool, default=True
        Exploring, follow the expert that sees the label; else act at random.
    double_q : bool, default=False
        Double Q-learning: the network chooses the next action, the target network values it.
    huber : bool, default=False
        Huber loss instead of the squared error.
    target_update_interval : int, default=1000
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

    parameters_elsewhere: ClassVar[Mapping[str, str]] = dict.fromkeys(
        (
            "feature_dropout", "weight_decay", "ensemble_size", "target_confidence", "codebook_adaptation",
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
        hidden_size: int = 1024,
        dropout: float = 0.5,
        learning_rate: float = 1e-2,
        batch_size: int = 512,
        max_steps: int | None = None,
        start: str = "image",
        sigma: float = 5.0,
        eta: float | None = None,
        max_flips: int = 1,
        guided: bool = True,
        double_q: bool = False,
        huber: bool = False,
        target_update_interval: int = 1000,
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
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_steps = max_steps
        self.start = start
        self.sigma = sigma
        self.eta = eta
        self.max_flips = max_flips
        self.guided = guided
        self.double_q = double_q
        self.huber = huber
        self.target_update_interval = target_update_interval
        self.device = device
        self.validation_fraction = validation_fraction
        self.log_dir = log_dir
        self.random_state = random_state

    def _checks(self) -> list[Check]:
        return [
            count("n_epochs"),
            count("hidden_size"),
            fraction("dropout"),
            positive("learning_rate"),
            count("batch_size"),
            positive("sigma"),
            not_negative("eta", optional=True),
            ("max_flips", lambda value: value in (1, 2), "1 or 2"),
            flag("guided"),
            flag("double_q"),
            flag("huber"),
            count("target_update_interval", 0),
        ]

    def _learner(self, inputs: Tensor, labels: Tensor, seed: int) -> tuple[DQNLearner, int]:
        codebook = make_codebook(len(self.classes_), self.n_bits, kind=self.codebook, random_state=seed)
        actions = self._actions(inputs.device)
        reward = Reward(codebook, actions, sigma=self.sigma, eta=self.eta)
        check_labels(labels, reward.n_classes)
        network = QNetwork(inputs.shape[1], actions, hidden_size=self.hidden_size, dropout=self.dropout)
        config = DQNConfig(
            n_epochs=self.n_epochs, gamma=self.gamma, learning_rate=self.learning_rate, batch_size=self.batch_size,
            n_walks=self.batch_size, max_steps=self._step_limit(), guided=self.guided, double_q=self.double_q,
            huber=self.huber, target_update_interval=self.target_update_interval,
        )  # fmt: skip
        return DQNLearner(network.to(inputs.device), reward, inputs, labels, config, seed), self.n_epochs

    def _keep(self, learner: DQNLearner) -> None:
        self.weights_: dict[str, NDArray[Any]] = state_arrays(learner.network)
        self.codewords_ = learner.reward.codewords.cpu().numpy().astype(np.int8)

    def _policy(self) -> GreedyPolicy:
        device = self._torch_device()
        actions, hidden_size = self._actions(device), len(self.weights_["features.bias"])
        network = build_from_arrays(
            lambda: QNetwork(self.n_features_in_, actions, hidden_size=hidden_size, dropout=0.0), self.weights_
        )
        return GreedyPolicy(network.to(device), torch.from_numpy(self.projection_).to(device), self._step_limit())

    def _actions(self, device: torch.device) -> ActionSet:
        return (one_bit_actions if self.max_flips == 1 else two_bit_actions)(self.n_bits, device)
