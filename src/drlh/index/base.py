"""What every engine does, embedded or on a server, and the checks they share.

All of them return what brute force returns: ties go by (distance, id). Adding an id that is there already replaces its
row, so that loading the same rows twice changes nothing.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from drlh.core.codes import Packed, bytes_per_code
from drlh.core.errors import UserError
from drlh.index.details import Detail, Details
from drlh.index.ids import Ids

Found = tuple[NDArray[np.int64], Ids]  # distances and ids, nearest first


class Index(ABC):
    """Codes of `n_bits` under stable ids, searched by Hamming distance."""

    n_bits: int
    notes: dict[str, Any]  # of the model that made the codes
    approximate: str | None  # the method that searches answer by, where they are not exact
    block = 50_000  # rows that are best added in one go

    @classmethod
    @abstractmethod
    def exists(cls, address: str) -> bool:
        """Whether there is an index at `address`."""

    @classmethod
    @abstractmethod
    def create(
        cls, address: str, n_bits: int, *, notes: dict[str, Any] | None = None, approximate: str | None = None
    ) -> Self:
        """An empty index at `address`; one that is there is replaced. Exact, unless `approximate` names a method."""

    @classmethod
    @abstractmethod
    def open(cls, address: str) -> Self:
        """The index at `address`."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def add(self, packed: Packed, ids: ArrayLike, details: Details | None = None) -> None:
        """Adds packed codes (n, bytes) under `ids` (n,), whole numbers from 0; rows of ids that are there change."""

    @abstractmethod
    def remove(self, ids: ArrayLike) -> int:
        """Removes rows and returns how many there were; ids that are not there do no harm."""

    @abstractmethod
    def search(self, packed: Packed, k: int, *, exact: bool = False) -> Found:
        """(distances, ids) of the k nearest, (n_queries, min(k, n)) each, by (distance, id).

        An index made with `approximate` answers by that method, unless this search is to be `exact`.
        """

    @abstractmethod
    def search_radius(self, packed: Packed, radius: int) -> list[Found]:
        """For each query (distances, ids) of all codes within `radius`, by (distance, id)."""

    @abstractmethod
    def describe(self, ids: ArrayLike) -> list[Detail | None]:
        """Name and labels of each id; None for an id that is not there."""

    @abstractmethod
    def codes(self, ids: ArrayLike) -> tuple[Packed, NDArray[np.bool_]]:
        """(packed codes (n, bytes), whether each id is there (n,)); where it is not, its row is zero."""

    @abstractmethod
    def sample(self, n: int) -> Ids:
        """At most n ids from all over the collection, ascending; all where there are no more."""

    @abstractmethod
    def highest_id(self) -> int:
        """The highest id in use, -1 where there is none."""

    def labelled(self, ids: ArrayLike, label: str) -> NDArray[np.bool_]:
        """Which of `ids` are there and carry the class `label`."""
        found = self.describe(ids)
        return np.array([detail is not None and label in detail.labels for detail in found], np.bool_)

    def reload(self) -> bool:
        """Takes up what other writers have done since, and says whether that was anything; a server always has."""
        return False

    @abstractmethod
    def close(self) -> None:
        """Lets go of files and connections."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_packed(packed: Packed, n_bits: int) -> Packed:
    """`packed` as (n, bytes) of codes of `n_bits`, or one sentence on what is wrong."""
    packed = np.asarray(packed)
    width = bytes_per_code(n_bits)
    if packed.dtype != np.uint8 or packed.ndim != 2 or packed.shape[1] != width:
        raise UserError(
            f"this index holds codes of {n_bits} bits ({width} bytes): got packed codes of shape {packed.shape} and "
            f"type {packed.dtype}; encode with the model of the index"
        )
    spare = 8 * width - n_bits
    past = packed[:, -1] >> (8 - spare) if spare else np.zeros(len(packed), np.uint8)
    if past.any():
        row = int(np.flatnonzero(past)[0])
        raise UserError(
            f"codes of {n_bits} bits end there: row {row} has bits set past them; pack it with drlh.core.codes"
        )
    return packed


def check_details(details: Details | None, n: int) -> None:
    if details is not None and len(details) != n:
        raise UserError(f"every code needs a name: got {n} codes and {len(details)} names")


def check_k(k: int) -> int:
    if k < 1:
        raise UserError(f"k must be at least 1: got {k}")
    return int(k)


def check_radius(radius: int) -> int:
    if radius < 0:
        raise UserError(f"a radius is at least 0: got {radius}")
    return int(radius)


def no_hits(n_queries: int, k: int = 0) -> Found:
    return np.empty((n_queries, k), np.int64), np.empty((n_queries, k), np.int64)


def sorted_hits(distances: NDArray[np.int64], ids: Ids) -> Found:
    """One query's hits by (distance, id)."""
    order = np.lexsort((ids, distances))
    return distances[order], ids[order]


def merge(parts: Sequence[Found], k: int) -> Found:
    """The k nearest of several answers to the same queries."""
    distances = np.concatenate([part[0] for part in parts], axis=1)
    ids = np.concatenate([part[1] for part in parts], axis=1)
    order = np.lexsort((ids, distances), axis=1)[:, :k]
    return np.take_along_axis(distances, order, axis=1), np.take_along_axis(ids, order, axis=1)
