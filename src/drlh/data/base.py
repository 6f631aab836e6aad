"""What a data set is: labels, classes, and images or ready features."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.core.errors import UserError
from drlh.data.labels import Labels, label_names
from drlh.data.picture import Picture, decode_picture


class Images(ABC):
    """Pictures read one at a time, so that six million take no more memory than sixty."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def name(self, row: int) -> str:
        """What to call this picture in a message or a search result: its path, or `cifar10/17`."""

    @abstractmethod
    def raw(self, row: int) -> bytes:
        """The stored bytes, undecoded: what a content digest is made of."""

    @abstractmethod
    def decode(self, row: int, raw: bytes) -> Picture:
        """The picture in `raw`; a broken one is a UserError that names the file and the row."""

    def read(self, row: int) -> Picture:
        return self.decode(row, self.raw(row))

    def stamp(self, row: int) -> bytes:
        """What changes when the picture does; where there is a quicker way than its bytes, that is taken."""
        return self.raw(row)


class ArrayImages(Images):
    """Pictures of one size, (n, height, width) grey or (n, height, width, 3) RGB, uint8.

    `numbers` are what the rows are called by, where they are some of a larger set.
    """

    def __init__(self, pixels: NDArray[np.uint8], prefix: str, numbers: Sequence[int] | None = None) -> None:
        self.pixels = pixels
        self.prefix = prefix
        self.numbers = range(len(pixels)) if numbers is None else numbers

    def __len__(self) -> int:
        return len(self.pixels)

    def name(self, row: int) -> str:
        return f"{self.prefix}/{self.numbers[row]}"

    def raw(self, row: int) -> bytes:
        return bytes(self.pixels[row].tobytes())

    def decode(self, row: int, raw: bytes) -> Picture:
        picture = np.frombuffer(raw, np.uint8).reshape(self.pixels.shape[1:])
        return picture if picture.ndim == 3 else np.repeat(picture[:, :, None], 3, axis=2)


class FileImages(Images):
    """Picture files; `names` are the paths as people know them, relative to `root`.

    `numbers` are what messages call the rows, where they are some of a larger set.
    """

    def __init__(self, root: Path, names: Sequence[str], numbers: Sequence[int] | None = None) -> None:
        self.root = root
        self.names = names
        self.numbers = range(len(names)) if numbers is None else numbers

    def __len__(self) -> int:
        return len(self.names)

    def name(self, row: int) -> str:
        return self.names[row]

    def raw(self, row: int) -> bytes:
        path = self.root / self.names[row]
        try:
            return path.read_bytes()
        except OSError as error:
            raise UserError(f"{path} (row {self.numbers[row]}) cannot be read: {error.strerror}") from error

    def decode(self, row: int, raw: bytes) -> Picture:
        return decode_picture(raw, f"{self.root / self.names[row]} (row {self.numbers[row]})")

    def stamp(self, row: int) -> bytes:
        try:
            facts = (self.root / self.names[row]).stat()
        except OSError:  # reported when the picture is read
            return b""
        return f"{facts.st_dev} {facts.st_ino} {facts.st_size} {facts.st_mtime_ns}".encode("ascii")


@dataclass(frozen=True)
class DataSet:
    """A labelled collection of images, of their features, or of both; rows are in a fixed order.

    Attributes
    ----------
    name : what it is called in messages and records.
    labels : class ids (n,) int64, or 0/1 rows (n, n_classes) uint8 where an image has several classes.
    classes : names of the classes; a class id counts from 0 along them.
    images : the pictures, read one at a time; None where there are only features.
    features : ready features (n, n_features); None where there are only pictures.
    test : which rows the publisher set apart for testing (n,); None where nothing was.
    extractor : settings of the extractor that made `features`; None where that is not known.
    names : what the rows are called (n,), where there are no images to ask.
    left_out : one sentence for each row that was left out because it is broken.
    notes : what a reader of results should know, for example an unexpected number of rows.
    """

    name: str
    labels: Labels
    classes: tuple[str, ...]
    images: Images | None = None
    features: NDArray[np.float32] | None = None
    test: NDArray[np.bool_] | None = None
    extractor: dict[str, Any] | None = None
    names: NDArray[np.str_] | None = None
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.labels)

    def name_of(self, row: int) -> str:
        """What to call a row in a message or a search result."""
        if self.images is not None:
            return self.images.name(row)
        return f"{self.name}/{row}" if self.names is None else str(self.names[row])

    def label_names(self, row: int) -> list[str]:
        """The names of a row's classes."""
        return label_names(self.labels[row], self.classes)

    @property
    def is_multilabel(self) -> bool:
        return self.labels.ndim == 2
