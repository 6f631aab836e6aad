"""Pictures for benchmarks that are drawn on demand, so that nothing but the work on them counts."""

import numpy as np

from drlh.data.base import Images
from drlh.data.picture import Picture


class DrawnImages(Images):
    """Random 32 × 32 pictures that are nowhere stored."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n

    def name(self, row: int) -> str:
        return f"drawn/{row}"

    def raw(self, row: int) -> bytes:
        return np.random.default_rng(row).bytes(32 * 32 * 3)

    def decode(self, row: int, raw: bytes) -> Picture:
        return np.frombuffer(raw, np.uint8).reshape(32, 32, 3)
