"""DRLH as a hasher: presets, fitting with checkpoints, encoding, and the walk of one image."""

from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from drlh.core.codes import Codes
from drlh.core.errors import UserError
from drlh.core.progress import Progress
from drlh.hashers.base import Features, RandomState
from drlh.hashers.codebook.codebook import make_codebook
from drlh.hashers.drlh import learner as default_learning
from drlh.hashers.drlh.network import WalkNetwork
from drlh.hashers.drlh.policies import PaperPolicy, Trace, WalkPolicy, start_signs
from drlh.hashers.drlh.presets import MOST_STATED, PRESETS, checks, epochs_for, priority_for, sizes_for
from drlh.hashers.drlh.reward import Score, share_of, sharpness
from drlh.hashers.drlh_paper import learner as paper_learning
from drlh.hashers.drlh_paper.environment import ActionSet, one_bit_actions, two_bit_actions
from drlh.hashers.drlh_paper.network import PaperNetwork
from drlh.hashers.drlh_paper.reward import PaperReward, check_labels
from drlh.hashers.training.checkpoint import build_from_arrays, state_arrays
from drlh.hashers.training.epochs import EpochHasher
from drlh.hashers.training.probe import Probe, hold_out
from drlh.hashers.training.scaling import column_scale, powered
from drlh.hashers.training.tensorboard import scalar_writer

Run = default_learning.WalkLearner | paper_learning.Learner


class DRLH(EpochHasher):
    """Deep reinforcement learning with label embedding reward.

    **Idea.** A code is a vertex of the binary cube. Starting somewhere, an agent flips one bit at a time until it
    decides to stop; a deep Q-network, which sees the image and where the walk is, values every flip. While learning,
    flips are paid by how much nearer they bring the code to the codeword of the image's class and away from the
    others'.

    **Reference.** Z. Wang, W. Hong, J. Yuan, Deep Reinforcement Learning with Label Embedding Reward for Supervised
    Image Hashing, WACV 2020: actions 3.1, states 3.2, rewards 3.3 (equations 1 and 2), learning 4.2.

    **Differences.** `preset="paper"` follows the paper; what it leaves open (gamma, layer widths, dropout rate,
    learning rate, replay, target network, the start code at test) is set in `PRESETS` and `learning.Rules`, and the
    start code is the sign of a random projection of the image, so that a code can be made again. `preset="default"`
    keeps the walk, the actions and Q-learning, and departs in five things: a flip earns the change of a proper score
    of the whole code (`score.py`); the network knows the dynamics and learns the label weights (`network.py`); replay
    keeps states that carry no label and learns every action (`learner.py`); codewords of confused classes move nearer
    at half-time (`embedding.py`); features are compressed by a signed square root and standardised.

    **Parameters.** `n_bits`: length of the code. `preset`: `default` or `paper`; parameters that are None take the
    preset's value. `codebook`: `bch`, `bch-paper`, `hadamard`, `random` or a 0/1 array (n_classes, n_bits).
    `n_epochs`, `gamma` (discount), `hidden` (units of a layer; of each branch by default), `dropout`,
    `learning_rate`, `batch`: learning. `max_steps`: longest walk, n_bits unless given. `start`: `image`, a code that
    depends on the image, or `fixed`, one for all. Default preset: `n_branches` networks that are averaged; `top`, the
    probability a code on its codeword states for its class (`auto`: as sure as the agent is of its images, at most
    0.955); `follow`, how far confused classes' codewords move together (0 leaves them); `feature_dropout`; `power` of
    the features; `weight_decay`; `priority`, how much more an image counts the further its values are off (0 to count
    all alike, as it is below 20,000 images; 1 from there on). Paper preset: `sigma` and `eta` of the stop reward (eta
    is half the codebook's radius unless given), `flips` (1, or 2 for pairs too), `guided` exploration, `double`
    Q-learning, `huber` loss, `target_every` updates. `backbone`: a CNN (`cnn-small`, `alexnet`, `cnn-f`, `nin`) that
    learns with the Q-network, for X of square colour pictures (n, s, s, 3) or rows of their pixels;
    `backbone_weights`: the file it begins with, from nothing where there is none; `backbone_lr_scale`: its share of the
    learning rate (0.1 with weights, else 1).
    `device`: `auto`, `cpu` or `cuda`. `hold_out`: share of the images to keep out of learning. `log_dir`: TensorBoard
    scalars of every epoch go here, with the mAP of the images held out. `random_state`: seed.
    """

    supervised: ClassVar[bool] = True

    def __init__(
        self,
        n_bits: int = 32,
        *,
        preset: str = "default",
        codebook: str | ArrayLike | None = None,
        n_epochs: int | None = None,
        gamma: float | None = None,
        hidden: int | None = None,
        dropout: float | None = None,
        learning_rate: float | None = None,
        batch: int | None = None,
        max_steps: int | None = None,
        start: str = "image",
        n_branches: int = 4,
        top: float | str = "auto",
        follow: float = 0.4,
        feature_dropout: float | None = None,
        power: float = 0.5,
        weight_decay: float | None = None,
        priority: float | None = None,
        sigma: float = 5.0,
        eta: float | None = None,
        flips: int = 1,
        guided: bool = True,
        double: bool = False,
        huber: bool = False,
        target_every: int = 1000,
        backbone: str | None = None,
        backbone_weights: str | Path | None = None,
        backbone_lr_scale: float | None = None,
        device: str = "auto",
        hold_out: float = 0.0,
        log_dir: str | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_bits = n_bits
        self.preset = preset
        self.codebook = codebook
        self.n_epochs = n_epochs
        self.gamma = gamma
        self.hidden = hidden
        self.dropout = dropout
        self.learning_rate = learning_rate
        self.batch = batch
        self.max_steps = max_steps
        self.start = start
        self.n_branches = n_branches
        self.top = top
        self.follow = follow
        self.feature_dropout = feature_dropout
        self.power = power
        self.weight_decay = weight_decay
        self.priority = priority
        self.sigma = sigma
        self.eta = eta
        self.flips = flips
        self.guided = guided
        self.double = double
        self.huber = huber
        self.target_every = target_every
        self.backbone = backbone
        self.backbone_weights = backbone_weights
        self.backbone_lr_scale = backbone_lr_scale
        self.device = device
        self.hold_out = hold_out
        self.log_dir = log_dir
        self.random_state = random_state

    def walk(self, x: ArrayLike) -> Trace:
        """The path of one image with features `(n_features,)`: codes, actions, Q-values, distances to codewords."""
        check_is_fitted(self)
        rows = self._validated(np.atleast_2d(np.asarray(x)), dtype=np.float64, reset=False)
        if len(rows) != 1:
            raise UserError(f"walk takes the features of one image: got {len(rows)} rows")
        return self._policy().trace(self._seen(rows), self.embedding_)

    def _fit(
        self, features: Features, labels: NDArray[Any] | None, rng: np.random.Generator, progress: Progress
    ) -> None:
        assert labels is not None  # a supervised method
        self._check_parameters(len(self.classes_))
        seed = int(rng.integers(2**31))
        features, labels, probe = hold_out(features, labels, self.hold_out, rng)
        if self.backbone is None:
            self.mean_, self.scale_ = column_scale(self._powered(features))
        direction = np.random.default_rng(seed).standard_normal((features.shape[1], self.n_bits))
        direction *= self.start == "image"  # projected on nothing, every image begins at the same code
        self.projection_ = (direction / np.sqrt(features.shape[1])).astype(np.float32)
        seen = self._seen(features)
        with torch.random.fork_rng([]):
            torch.manual_seed(seed)  # the network's first weights
            build = self._default_run if self.preset == "default" else self._paper_run
            run = build(seen, torch.from_numpy(labels).to(seen.device), seed)
        self._learn(run, self._fingerprint(features, labels, seed), probe, progress)
        self._keep(run)

    def _keep(self, run: Run) -> None:
        """The agent as it is now becomes the model."""
        self.weights_ = state_arrays(run.policy_network)
        if isinstance(run, default_learning.WalkLearner):
            self.kappa_ = run.score.kappa
        self.embedding_ = run.embedding.cpu().numpy().astype(np.int8)

    def _learn(self, run: Run, fingerprint: str, probe: Probe | None, progress: Progress) -> None:
        """The epochs, from the checkpoint on."""
        with scalar_writer(self.log_dir) as tell:
            for epoch in self._epochs(run, self._n_epochs(len(run.features)), fingerprint, progress):
                report = run.run_epoch(epoch)
                if probe and self.log_dir:
                    self._keep(run)
                    report = replace(report, probe_map=probe.score(self._encode))
                tell(report)

    def _default_run(self, seen: torch.Tensor, labels: torch.Tensor, seed: int) -> default_learning.WalkLearner:
        n_classes = len(self.classes_)
        book = make_codebook(n_classes, self.n_bits, kind=self._value("codebook"), random_state=seed)
        embedding = torch.from_numpy(book.signs).to(seen)
        weights = (torch.nn.functional.one_hot(labels, n_classes) if labels.ndim == 1 else labels).to(seen)
        top = MOST_STATED if self.top == "auto" else float(self.top)
        # No code can state several labels each with probability `top`: they share it.
        score = Score(embedding, sharpness(self.n_bits, n_classes, max(top * share_of(weights), 1.01 / n_classes)))
        self.multilabel_ = labels.ndim == 2
        body = self._body(seen.shape[1], seen)
        sizes = sizes_for(len(seen), body.n_features if body else seen.shape[1]) | {"priority": priority_for(len(seen))}
        sizes |= {name: getattr(self, name) for name in sizes if getattr(self, name) is not None}
        network = WalkNetwork(
            seen.shape[1], n_classes, self.n_bits, n_branches=self.n_branches, hidden=sizes["hidden"],
            dropout=(sizes["feature_dropout"], sizes["dropout"]), multilabel=self.multilabel_, body=body,
        ).to(seen.device)  # fmt: skip
        rules = default_learning.Rules(
            n_epochs=self._n_epochs(len(seen)), gamma=self._value("gamma"), batch=sizes["batch"], n_ahead=8,
            target_rate=0.99, learning_rate=sizes["learning_rate"], weight_decay=sizes["weight_decay"],
            priority=sizes["priority"], follow=self.follow, spread=0.9, max_steps=self._max_steps(),
            top=top if self.top == "auto" else None, body_rate=self._body_rate(),
        )  # fmt: skip
        start = start_signs(seen, torch.from_numpy(self.projection_).to(seen.device)).to(seen)
        return default_learning.WalkLearner(network, score, seen, weights, start, rules, seed)

    def _paper_run(self, seen: torch.Tensor, labels: torch.Tensor, seed: int) -> paper_learning.Learner:
        book = make_codebook(len(self.classes_), self.n_bits, kind=self._value("codebook"), random_state=seed)
        actions = self._actions(seen.device)
        reward = PaperReward(book, actions, sigma=self.sigma, eta=self.eta)
        check_labels(labels, reward.n_classes)
        hidden = int(self._value("hidden"))
        network = PaperNetwork(seen.shape[1], actions, hidden=(hidden, hidden), dropout=self._value("dropout"))
        rules = paper_learning.Rules(
            n_epochs=self._value("n_epochs"), gamma=self._value("gamma"), learning_rate=self._value("learning_rate"),
            batch=self._value("batch"), n_walks=self._value("batch"), max_steps=self._max_steps(), guided=self.guided,
            double=self.double, huber=self.huber, target_every=self.target_every,
        )  # fmt: skip
        return paper_learning.Learner(network.to(seen.device), reward, seen, labels, rules, seed)

    def _encode(self, features: Features) -> Codes:
        return self._policy().encode(self._seen(features))

    def _policy(self) -> WalkPolicy | PaperPolicy:
        """The fitted agent, from plain arrays."""
        device = self._torch_device()
        projection = torch.from_numpy(self.projection_).to(device)
        n_features, n_classes = self.n_features_in_, len(self.embedding_)
        if self.preset == "paper":
            actions, hidden = self._actions(device), len(self.weights_["features.bias"])
            paper = build_from_arrays(
                lambda: PaperNetwork(n_features, actions, hidden=(hidden, hidden), dropout=0.0), self.weights_
            )
            return PaperPolicy(paper.to(device), actions, projection, self._max_steps())
        n_branches, _, hidden = self.weights_["first"].shape
        network = build_from_arrays(
            lambda: WalkNetwork(
                n_features, n_classes, self.n_bits, n_branches=n_branches, hidden=hidden, multilabel=self.multilabel_,
                body=self._body(n_features),
            ),
            self.weights_,
        ).to(device)  # fmt: skip
        ahead = deepcopy(network.ahead).double()
        embedding = torch.from_numpy(self.embedding_).double().to(device)
        score = Score(embedding, self.kappa_)
        gamma = float(self._value("gamma"))
        return WalkPolicy(network, ahead, score, projection, gamma, self._max_steps())

    def _seen(self, features: Features) -> torch.Tensor:
        """Features as the network sees them; pictures as they are."""
        seen = features if self.backbone is not None else (self._powered(features) - self.mean_) / self.scale_
        return torch.from_numpy(seen.astype(np.float32, copy=False)).to(self._torch_device())

    def _value(self, name: str) -> Any:
        """A parameter, or the preset's value where it is None."""
        given = getattr(self, name)
        return PRESETS[self.preset][name] if given is None else given

    def _powered(self, features: Features) -> Features:
        """Large values pressed together; the paper presses nothing."""
        return powered(features, 1.0 if self.preset == "paper" else self.power)

    def _n_epochs(self, n_images: int) -> int:
        return int(self._value("n_epochs") or epochs_for(n_images))

    def _max_steps(self) -> int:
        return self.n_bits if self.max_steps is None else self.max_steps

    def _actions(self, device: torch.device) -> ActionSet:
        return (one_bit_actions if self.flips == 1 else two_bit_actions)(self.n_bits, device)

    def _check_parameters(self, n_classes: int) -> None:
        if self.preset not in PRESETS:
            raise UserError(f"preset of DRLH must be one of {', '.join(PRESETS)}: got {self.preset!r}")
        if self.backbone is not None and self.preset == "paper":
            raise UserError("the paper preset of DRLH learns on features: take preset='default' with a backbone")
        self._check(
            checks(n_classes), lambda name: self._value(name) if name in PRESETS["default"] else getattr(self, name)
        )
