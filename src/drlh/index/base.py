"""The contract of every index, embedded or on a server, and the checks that engines share.

Every engine returns what brute force returns, with ties by (distance, id). Adding an id that is already there replaces
its row, so loading the same rows twice changes nothing.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from drlh.core.codes import Packed, bytes_per_code
from drlh.core.errors import UserError
from drlh.index.details import Detail, Details

Ids = NDArray[np.int64]  # whole numbers from 0, stable for the life of a row


class Hits(NamedTuple):
    """Neighbours, nearest first, by (distance, id)."""

    distances: NDArray[np.int64]  # (n_queries, k), or (n_hits,) for one query
    ids: Ids  # of the same shape


class Index(ABC):
    """Packed codes under stable ids, searched by Hamming distance; see `open_index` and `create_index`.

    Attributes
    ----------
    n_bits : int
        Length of the codes.
    notes : dict
        Origin of the codes: the data set and the digest of the model that made them.
    approximate : str or None
        Method of approximate search; None where every search is exact.
    block : int
        Number of rows that are best added in one call.
    """

    n_bits: int
    notes: dict[str, Any]
    approximate: str | None
    block = 50_000

    @classmethod
    @abstractmethod
    def exists(cls, url: str | Path) -> bool:
        """Whether there is an index at `url`."""

    @classmethod
    @abstractmethod
    def create(
        cls, url: str | Path, n_bits: int, *, notes: dict[str, Any] | None = None, approximate: str | None = None
    ) -> Self:
        """Creates an empty index, in place of one that may be there.

        Parameters
        ----------
        url : str or Path
            Where the index is to live.
        n_bits : int
            Length of the codes.
        notes : dict, optional
            Origin of the codes, kept with the index.
        approximate : str, optional
            Approximate search method; exact search by default.
        """

    @classmethod
    @abstractmethod
    def open(cls, url: str | Path) -> Self:
        """Opens the index at `url`."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def add(self, packed: Packed, ids: ArrayLike, details: Details | None = None) -> None:
        """Adds rows; rows whose ids are already there are replaced.

        Parameters
        ----------
        packed : uint8 array, shape (n, ceil(n_bits / 8))
            Packed codes, as `drlh.core.codes.pack` makes them.
        ids : array of int, shape (n,)
            Whole numbers from 0, all different.
        details : Details, optional
            Names and labels of the rows; a row without any is named by its id.
        """

    @abstractmethod
    def remove(self, ids: ArrayLike) -> int:
        """Removes rows.

        Parameters
        ----------
        ids : array of int, shape (n,)
            Ids of the rows; unknown ids are ignored.

        Returns
        -------
        int
            Number of rows that were removed.
        """

    @abstractmethod
    def search(self, packed: Packed, k: int, *, exact: bool = False) -> Hits:
        """Finds the k nearest neighbours of each query.

        Parameters
        ----------
        packed : uint8 array, shape (n_queries, ceil(n_bits / 8))
            Packed codes of the queries.
        k : int
            Number of neighbours; at most as many as there are rows are returned.
        exact : bool
            Whether to search exactly in an index that was made with `approximate`.

        Returns
        -------
        Hits
            `(distances, ids)`, each of shape (n_queries, min(k, n)), ordered by (distance, id).
        """

    @abstractmethod
    def search_radius(self, packed: Packed, radius: int) -> list[Hits]:
        """Finds everything within a Hamming radius of each query, always exactly.

        Parameters
        ----------
        packed : uint8 array, shape (n_queries, ceil(n_bits / 8))
            Packed codes of the queries.
        radius : int
            Largest distance that counts.

        Returns
        -------
        list of Hits
            For each query `(distances, ids)`, each of shape (n_hits,), ordered by (distance, id).
        """

    @abstractmethod
    def describe(self, ids: ArrayLike) -> list[Detail | None]:
        """Looks up names and labels.

        Parameters
        ----------
        ids : array of int, shape (n,)
            Ids of rows, for example `Hits.ids` of one query.

        Returns
        -------
        list of Detail or None
            `(name, labels)` of each id; None for an unknown id.
        """

    @abstractmethod
    def codes(self, ids: ArrayLike) -> tuple[Packed, NDArray[np.bool_]]:
        """Looks up codes.

        Parameters
        ----------
        ids : array of int, shape (n,)
            Ids of rows.

        Returns
        -------
        tuple of arrays
            Packed codes (n, bytes), and whether each id is known (n,); codes of unknown ids are zero.
        """

    @abstractmethod
    def sample(self, n: int) -> Ids:
        """At most `n` ids from all over the index, ascending; the same ones at every call."""

    @abstractmethod
    def highest_id(self) -> int:
        """The highest id in use; -1 in an empty index."""

    def labelled(self, ids: ArrayLike, label: str) -> NDArray[np.bool_]:
        """Which of `ids` are known and carry the class `label`."""
        found = self.describe(ids)
        return np.array([detail is not None and label in detail.labels for detail in found], np.bool_)

    def reload(self) -> bool:
        """Reads what other writers have changed since; returns whether anything has. Servers are always up to date."""
        return False

    @abstractmethod
    def close(self) -> None:
        """Releases files and connections."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_packed(packed: Packed, n_bits: int) -> Packed:
    """`packed` as an array (n, bytes) of codes of `n_bits` bits."""
    packed = np.asarray(packed)
    width = bytes_per_code(n_bits)
    if packed.dtype != np.uint8 or packed.ndim != 2 or packed.shape[1] != width:
        raise UserError(
            f"this index holds codes of {n_bits} bits ({width} bytes): got packed codes of shape {packed.shape} and "
            f"type {packed.dtype}; encode with the model of the index"
        )
    spare = 8 * width - n_bits
    if spare and (packed[:, -1] >> (8 - spare)).any():
        row = int(np.flatnonzero(packed[:, -1] >> (8 - spare))[0])
        raise UserError(f"row {row} has bits set past bit {n_bits - 1}, the last one: pack codes with drlh.core.codes")
    return packed


def check_ids(ids: ArrayLike, n: int | None = None) -> Ids:
    """`ids` as (n,) whole numbers from 0; where `n` is given, that many and all different."""
    array = np.asarray(ids)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu" or (n is not None and len(array) != n):
        wanted = "" if n is None else f"{n} "
        raise UserError(f"ids must be {wanted}whole numbers: got shape {array.shape} and type {array.dtype}")
    if len(array) and (int(array.min()) < 0 or int(array.max()) >= 2**63):
        raise UserError(f"ids must be whole numbers from 0 to 2^63 - 1: got {int(array.min())} to {int(array.max())}")
    array = array.astype(np.int64)
    if n is not None:
        _refuse_duplicates(array)
    return array


def _refuse_duplicates(ids: Ids) -> None:
    ordered = ids if (np.diff(ids) > 0).all() else np.sort(ids)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(twice):
        raise UserError(f"ids must differ: {int(twice[0])} is given twice; give every code an id of its own")


def check_details(details: Details | None, n: int) -> None:
    if details is not None and len(details) != n:
        raise UserError(f"every code needs a name: got {n} codes and {len(details)} names")


def check_k(k: int) -> int:
    if k < 1:
        raise UserError(f"k must be at least 1: got {k}")
    return int(k)


def check_radius(radius: int) -> int:
    if radius < 0:
        raise UserError(f"radius must be at least 0: got {radius}")
    return int(radius)


def no_hits(n_queries: int, k: int = 0) -> Hits:
    return Hits(np.empty((n_queries, k), np.int64), np.empty((n_queries, k), np.int64))


def sorted_hits(distances: NDArray[np.int64], ids: Ids) -> Hits:
    """One query's hits by (distance, id)."""
    order = np.lexsort((ids, distances))
    return Hits(distances[order], ids[order])


def merge(parts: Sequence[Hits], k: int) -> Hits:
    """The k nearest of several answers to the same queries."""
    distances = np.concatenate([part.distances for part in parts], axis=1)
    ids = np.concatenate([part.ids for part in parts], axis=1)
    order = np.lexsort((ids, distances), axis=1)[:, :k]
    return Hits(np.take_along_axis(distances, order, axis=1), np.take_along_axis(ids, order, axis=1))
