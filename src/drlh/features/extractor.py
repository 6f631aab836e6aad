"""What an extractor is, and the two ways to build one from others: mirrored and joined."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.core.errors import UserError
from drlh.data.base import Picture

Features = NDArray[np.float32]  # (n, n_features)


class Extractor(ABC):
    """Pictures → feature rows; each row depends on its own picture alone.

    The work has two halves so that many big pictures never lie in memory at once: `prepare` brings one picture
    to its small fixed form, `features` computes the rows of a batch of prepared ones. Both may be called from
    several threads at the same time.
    """

    name: str
    n_features: int
    settings: dict[str, Any]  # JSON-able; decides the output entirely, except `weights_file`, a mere hint
    batch: int = 32  # pictures that are best computed together

    @abstractmethod
    def prepare(self, picture: Picture) -> Any:
        """One picture (height, width, 3) in the form `features` takes."""

    @abstractmethod
    def features(self, prepared: Sequence[Any]) -> Features:
        """(len(prepared), n_features) for at least one prepared picture."""

    def __call__(self, pictures: Sequence[Picture]) -> Features:
        """(n, n_features) of pictures (height, width, 3) uint8 of any size, on one core."""
        rows = np.empty((len(pictures), self.n_features), np.float32)
        for start in range(0, len(pictures), self.batch):
            some = pictures[start : start + self.batch]
            rows[start : start + len(some)] = self.features([self.prepare(_checked(picture)) for picture in some])
        return rows


class Mirrored(Extractor):
    """The mean of the features of the picture and of its mirror image."""

    def __init__(self, base: Extractor) -> None:
        self.base = base
        self.name = base.name
        self.n_features = base.n_features
        self.settings = {**base.settings, "flip": True}
        self.batch = max(1, base.batch // 2)

    def prepare(self, picture: Picture) -> Any:
        mirror = np.ascontiguousarray(picture[:, ::-1])
        return self.base.prepare(picture), self.base.prepare(mirror)

    def features(self, prepared: Sequence[Any]) -> Features:
        both = self.base.features([side for pair in prepared for side in pair])
        return (both[0::2] + both[1::2]) / np.float32(2)


class Joined(Extractor):
    """The features of several extractors side by side."""

    def __init__(self, parts: Sequence[Extractor]) -> None:
        self.parts = parts
        self.name = "+".join(part.name for part in parts)
        self.n_features = sum(part.n_features for part in parts)
        self.settings = {"name": self.name, "parts": [part.settings for part in parts]}
        self.batch = min(part.batch for part in parts)

    def prepare(self, picture: Picture) -> Any:
        return [part.prepare(picture) for part in self.parts]

    def features(self, prepared: Sequence[Any]) -> Features:
        columns = zip(*prepared, strict=True)
        return np.hstack([part.features(column) for part, column in zip(self.parts, columns, strict=True)])


def _checked(picture: object) -> Picture:
    array = np.asarray(picture)
    if array.dtype != np.uint8 or array.ndim != 3 or array.shape[2] != 3 or 0 in array.shape:
        raise UserError(
            "a picture must be uint8 of shape (height, width, 3) with at least one pixel: "
            f"got {array.dtype} of shape {array.shape}"
        )
    return array
