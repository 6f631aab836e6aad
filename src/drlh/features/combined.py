"""Extractors made of others: mirrored and joined."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from drlh.data.picture import Picture
from drlh.features.extractor import Extractor, Features


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
