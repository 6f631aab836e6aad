"""Which rows of a data set are query, train and database, and the random orders they are drawn by."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drlh.core.errors import UserError
from drlh.core.files import digest

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Split:
    """Sorted row numbers, int64; train and database may overlap, query meets neither."""

    query: Rows
    train: Rows
    database: Rows

    @property
    def training_share(self) -> float:
        """Share of the database that is training data too, labels included; 1.0 is setting II."""
        return float(np.isin(self.database, self.train, assume_unique=True).mean())


def split_digest(split: Split) -> str:
    """SHA-256 of the three sets of rows."""
    return digest(*(rows.astype("<i8") for rows in (split.query, split.train, split.database)))


class Shuffle:
    """Random orders that depend on (name, version, seed) alone.

    NumPy promises the same raw PCG64 integers in every version, but not the same `permutation`; so an order is the
    stable sort of one raw integer for each row.
    """

    def __init__(self, name: str, version: int, seed: int) -> None:
        whole = type(seed) is int or isinstance(seed, np.integer)  # True and False are no seeds
        if not whole or seed < 0:
            raise UserError(f"the seed of a split must be a whole number of at least 0: got {seed!r}")
        self.bits = np.random.PCG64(np.random.SeedSequence([*name.encode(), version, int(seed)]))

    def order(self, n: int) -> Rows:
        """The next random order of 0 … n - 1."""
        return np.argsort(self.bits.random_raw(n), kind="stable").astype(np.int64)
