"""Replay memory: past transitions of the walks, kept in as few bytes as they need.

One step of a 48-bit walk takes 32 bytes: the code packed (6), the last ten flips (20), the action (2) and the reward
(4). The state that follows is not stored: the dynamics are known, so it is computed again.
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
    """Steps of walks: where each walk was, what it did, what it earned. Each of the m images has n / m of them."""

    rows: Tensor  # (m,) int64, the images
    state: State  # n of them, image after image
    actions: Tensor  # (n,) int64
    rewards: Tensor  # (n,) float32

    @property
    def steps_per_image(self) -> int:
        return len(self.actions) // max(1, len(self.rows))

    @property
    def row_of_each(self) -> Tensor:
        """(n,): the image of each step."""
        return self.rows.repeat_interleave(self.steps_per_image)

    def of_images(self, place: slice) -> "Transitions":
        """The transitions of some of the images."""
        each = self.steps_per_image
        steps = slice(place.start * each, place.stop * each)
        return Transitions(self.rows[place], self.state.rows(steps), self.actions[steps], self.rewards[steps])


class ReplayMemory:
    """The newest `capacity` transitions of each image, in main memory whatever the device.

    Drawing several remembered steps of the same images lets them share the image's part of the network.
    """

    def __init__(self, n_images: int, capacity: int, n_bits: int) -> None:
        self.n_bits, self.capacity = n_bits, capacity
        self.packed = np.zeros((n_images, capacity, bytes_per_code(n_bits)), np.uint8)
        self.history = np.zeros((n_images, capacity, HISTORY), np.int16)
        self.actions = np.zeros((n_images, capacity), np.uint16)
        self.rewards = np.zeros((n_images, capacity), np.float32)
        self.n_added = np.zeros(n_images, np.int64)

    def __len__(self) -> int:
        """Number of transitions held."""
        return int(np.minimum(self.n_added, self.capacity).sum())

    @property
    def n_bytes(self) -> int:
        return sum(array.nbytes for array in self._columns().values())

    def _columns(self) -> dict[str, NDArray[Any]]:
        return {name: getattr(self, name) for name in ("packed", "history", "actions", "rewards", "n_added")}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What the memory holds, for a checkpoint."""
        return {f"memory.{name}": column for name, column in self._columns().items()}

    def load_arrays(self, arrays: dict[str, NDArray[Any]]) -> None:
        for name, column in self._columns().items():
            column[:] = arrays[f"memory.{name}"]

    def add(self, steps: Transitions) -> None:
        """One step of each of several images."""
        rows = steps.rows.cpu().numpy()
        places = self.n_added[rows] % self.capacity
        self.packed[rows, places] = pack((steps.state.signs > 0).cpu().numpy().view(np.uint8))
        self.history[rows, places] = steps.state.history.cpu().numpy()
        self.actions[rows, places] = steps.actions.cpu().numpy()
        self.rewards[rows, places] = steps.rewards.cpu().numpy()
        self.n_added[rows] += 1

    def sample(self, n_images: int, n_each: int, rng: np.random.Generator, device: torch.device) -> Transitions:
        """`n_each` remembered steps of each of `n_images` images that have walked, all drawn with replacement."""
        known = np.flatnonzero(self.n_added)
        rows = known[rng.integers(0, len(known), n_images)]
        held = np.minimum(self.n_added[rows], self.capacity)
        places = (rng.random((n_images, n_each)) * held[:, None]).astype(np.int64)
        drawn = (np.repeat(rows, n_each), places.ravel())
        signs = torch.from_numpy(unpack(self.packed[drawn], self.n_bits)).to(device).to(torch.int8) * 2 - 1
        history = torch.from_numpy(self.history[drawn]).to(device)
        # How far a walk has come is not asked of a remembered step: only walks under way have a limit.
        state = State(signs, history, torch.zeros(len(signs), dtype=torch.int32, device=device))
        return Transitions(
            torch.from_numpy(rows).to(device),
            state,
            torch.from_numpy(self.actions[drawn].astype(np.int64)).to(device),
            torch.from_numpy(self.rewards[drawn]).to(device),
        )
