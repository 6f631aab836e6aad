"""What an extractor is, and how pictures of any size are brought to one size."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from drlh.core.errors import UserError
from drlh.data.picture import Picture

Features = NDArray[np.float32]  # (n, n_features)

_LONGEST = 16  # times the shorter side


class Extractor(ABC):
    """Pictures → feature rows; each row depends on its own picture alone.

    The work has two halves so that many big pictures never lie in memory at once: `prepare` brings one picture
    to its small fixed form, `features` computes the rows of a batch of prepared ones. Both may be called from
    several threads at the same time.

    Attributes
    ----------
    name : what it is called, for example `lite0`.
    n_features : number of features in a row.
    settings : determines the features entirely and fits into JSON; `weights_file` in it only helps to find a file.
    batch : number of pictures that are best computed together.
    """

    name: str
    n_features: int
    settings: dict[str, Any]
    batch: int = 32

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
            some = [np.asarray(picture) for picture in pictures[start : start + self.batch]]
            for picture in some:
                if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3 or 0 in picture.shape:
                    raise UserError(
                        "a picture must be uint8 of shape (height, width, 3) with at least one pixel: "
                        f"got {picture.dtype} of shape {picture.shape}"
                    )
            rows[start : start + len(some)] = self.features([self.prepare(picture) for picture in some])
        return rows


def squash(picture: Picture, height: int, width: int, how: Image.Resampling) -> Picture:
    """The whole picture at (height, width), whatever its proportions were."""
    if picture.shape[:2] == (height, width):
        return picture
    return np.asarray(Image.fromarray(picture).resize((width, height), how))


def centre(picture: Picture, shorter: int, size: int, how: Image.Resampling) -> Picture:
    """The shorter side brought to `shorter`, proportions kept; then the (size, size) square in the middle."""
    short = min(picture.shape[:2])
    # The ends of a very long picture are cut off first: resizing them would need any amount of memory.
    picture = _middle(picture, _LONGEST * short, _LONGEST * short)
    height, width = (shorter * side // short for side in picture.shape[:2])
    return _middle(squash(picture, height, width, how), size, size)


def _middle(picture: Picture, height: int, width: int) -> Picture:
    """At most `height` rows and `width` columns; margins are rounded as torchvision rounds them."""
    top, left = (max(0, round((side - wanted) / 2)) for side, wanted in zip(picture.shape, (height, width)))
    return picture[top : top + height, left : left + width]
