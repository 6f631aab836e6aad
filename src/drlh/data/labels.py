"""Labels of a data set: class ids or multi-hot rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[Any]  # (n,) int64 class ids or (n, n_classes) uint8 multi-hot


def label_names(label: Labels | np.integer[Any], classes: Sequence[str]) -> list[str]:
    """The class names of one row's label, an id or a multi-hot vector."""
    ids = np.flatnonzero(label).tolist() if np.ndim(label) else [int(label)]
    return [classes[number] for number in ids]
