"""Replay memory: past transitions of the walks, kept in as few bytes as they need.

One step of a 48-bit walk takes 36 bytes: the image's row (4), the code packed (6), the last ten flips (20), the action
(2) and the reward (4). The state that follows is not stored: the dynamics are known, so it is computed again.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from drlh.core.codes import bytes_per_code, pack, unpack
from drlh.hashers.drlh_paper.environment import HISTORY, State


@dataclass(frozen=True)
class Transitions:
    """Of n walks: where each image's walk was, what it did, what it earned."""

    rows: Tensor  # (n,) int64, the images
    state: State
    actions: Tensor  # (n,) int64
    rewards: Tensor  # (n,) float32


class ReplayMemory:
    """A ring buffer of the newest `capacity` transitions, in main memory whatever the device."""

    def __init__(self, capacity: int, n_bits: int) -> None:
        self.n_bits = n_bits
        self.rows = np.empty(capacity, np.int32)
        self.packed = np.empty((capacity, bytes_per_code(n_bits)), np.uint8)
        self.history = np.empty((capacity, HISTORY), np.int16)
        self.actions = np.empty(capacity, np.uint16)
        self.rewards = np.empty(capacity, np.float32)
        self.n_added = 0

    def __len__(self) -> int:
        return min(self.n_added, len(self.rows))

    @property
    def n_bytes(self) -> int:
        return sum(array.nbytes for array in self._columns().values())

    def _columns(self) -> dict[str, NDArray[Any]]:
        return {name: getattr(self, name) for name in ("rows", "packed", "history", "actions", "rewards")}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What the memory holds, for a checkpoint."""
        held = {f"memory.{name}": column[: len(self)] for name, column in self._columns().items()}
        return held | {"memory.n_added": np.array(self.n_added)}

    def load_arrays(self, arrays: dict[str, NDArray[Any]]) -> None:
        self.n_added = int(arrays["memory.n_added"])
        for name, column in self._columns().items():
            column[: len(self)] = arrays[f"memory.{name}"]

    def add(self, transitions: Transitions) -> None:
        places = np.arange(self.n_added, self.n_added + len(transitions.rows)) % len(self.rows)
        self.rows[places] = transitions.rows.cpu().numpy()
        self.packed[places] = pack((transitions.state.signs > 0).cpu().numpy().view(np.uint8))
        self.history[places] = transitions.state.history.cpu().numpy()
        self.actions[places] = transitions.actions.cpu().numpy()
        self.rewards[places] = transitions.rewards.cpu().numpy()
        self.n_added += len(places)

    def sample(self, n: int, rng: np.random.Generator, device: torch.device) -> Transitions:
        """`n` transitions drawn with replacement."""
        places = rng.integers(0, len(self), n)
        signs = torch.from_numpy(unpack(self.packed[places], self.n_bits)).to(device).to(torch.int8) * 2 - 1
        history = torch.from_numpy(self.history[places]).to(device)
        # How far a walk has come is not asked of a remembered step: only walks under way have a limit.
        state = State(signs, history, torch.zeros(n, dtype=torch.int32, device=device))
        return Transitions(
            torch.from_numpy(self.rows[places].astype(np.int64)).to(device),
            state,
            torch.from_numpy(self.actions[places].astype(np.int64)).to(device),
            torch.from_numpy(self.rewards[places]).to(device),
        )
