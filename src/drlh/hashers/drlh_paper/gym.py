"""The same walk as a `gymnasium.Env`, one image at a time, for agents made elsewhere."""

from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import ArrayLike

from drlh.core.errors import UserError
from drlh.hashers.drlh_paper.environment import HISTORY, history_onehot, start_state, step
from drlh.hashers.drlh_paper.reward import Reward, check_labels

Observation = dict[str, Any]  # of arrays


class HashingEnv(gymnasium.Env[Observation, np.int64]):
    """An episode brings one image's code from a random start towards its class.

    Observations are `features` (d,), `code` (b,) of 0/1 and `history` (10 * b,) of 0/1. Stopping terminates;
    `max_steps` flips truncate. `reset(seed=)` decides the images and starts that follow;
    `reset(options={"row": i})` asks for one image.
    """

    def __init__(self, features: ArrayLike, labels: ArrayLike, reward: Reward, *, max_steps: int | None = None) -> None:
        self.features = np.asarray(features, np.float32)
        self.labels = torch.as_tensor(np.asarray(labels))
        if self.features.ndim != 2 or len(self.features) != len(self.labels) or not len(self.features):
            raise UserError(
                f"features must be (n, d) with one label for each row: got shape {self.features.shape} "
                f"and {len(self.labels)} labels"
            )
        check_labels(self.labels, reward.n_classes)
        self.reward = reward
        n_bits = reward.actions.n_bits
        self.max_steps = n_bits if max_steps is None else max_steps
        self.action_space = spaces.Discrete(reward.actions.n_actions)
        features_space = spaces.Box(self.features.min(axis=0), self.features.max(axis=0), dtype=np.float32)
        self.observation_space = spaces.Dict(
            features=features_space, code=spaces.MultiBinary(n_bits), history=spaces.MultiBinary(HISTORY * n_bits)
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        super().reset(seed=seed)
        given = (options or {}).get("row")
        self._row = int(self.np_random.integers(len(self.features))) if given is None else int(given)
        signs = 2 * self.np_random.integers(0, 2, (1, self.reward.actions.n_bits), np.int8) - 1
        self._state = start_state(torch.from_numpy(signs))
        return self._observation(), {"row": self._row}

    def step(self, action: np.int64) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        table = self.reward.table(self._state.signs, self.labels[self._row][None])
        chosen = torch.tensor([int(action)])
        self._state, terminated, truncated = step(self._state, chosen, self.reward.actions, self.max_steps)
        earned = float(table[0, int(action)])
        return self._observation(), earned, bool(terminated), bool(truncated), {"row": self._row}

    def _observation(self) -> Observation:
        return {
            "features": self.features[self._row].copy(),
            "code": (self._state.signs[0] > 0).to(torch.int8).numpy(),
            "history": history_onehot(self._state.history, self.reward.actions)[0].to(torch.int8).numpy(),
        }
