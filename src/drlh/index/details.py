"""Names and labels of the rows of an index."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from drlh.core.errors import UserError
from drlh.data.labels import Labels


class Detail(NamedTuple):
    """Name and labels of one row."""

    name: str
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Details:
    """Names and labels of many rows.

    Parameters
    ----------
    names : array of str, shape (n,)
        What to call each row.
    labels : array, shape (n,) or (n, n_classes)
        Class ids, or multi-hot rows.
    classes : tuple of str
        Class names.
    """

    names: NDArray[np.str_]
    labels: Labels
    classes: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.names) != len(self.labels):
            raise UserError(f"every row needs a name and a label: got {len(self.names)} and {len(self.labels)}")

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, row: int) -> Detail:
        label = self.labels[row]
        numbers = np.flatnonzero(label).tolist() if np.ndim(label) else [int(label)]
        return Detail(str(self.names[row]), tuple(self.classes[number] for number in numbers))
