"""The index in one process: in memory or in a directory, exact unless asked otherwise, one writer and many readers.

In a directory every change is on disk when the call returns. A reader sees what it opened until `reload`.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from drlh.core.codes import Packed, bytes_per_code
from drlh.core.errors import UserError
from drlh.hamming.scan import pad
from drlh.index.base import (
    Hits,
    Ids,
    Index,
    check_details,
    check_ids,
    check_k,
    check_packed,
    check_radius,
    merge,
    no_hits,
    sorted_hits,
)
from drlh.index.details import Detail, Details
from drlh.index.local.approximate import METHODS
from drlh.index.local.compaction import compact, make_segment, purge
from drlh.index.local.segment import Segment
from drlh.index.local.storage import MANIFEST, Storage, prepare, write_lock


class LocalIndex(Index):
    """An index in memory; `LocalIndex.create` and `LocalIndex.open` give one that lives in a directory.

    Parameters
    ----------
    n_bits : int
        Length of the codes.
    notes : dict, optional
        Origin of the codes.
    approximate : str, optional
        Approximate search method, "ivf" or "hnsw"; exact search by default.
    """

    block = 2_000_000

    def __init__(self, n_bits: int, *, notes: dict[str, Any] | None = None, approximate: str | None = None) -> None:
        if n_bits < 1:
            raise UserError(f"n_bits must be at least 1: got {n_bits}")
        if approximate not in (None, *METHODS):
            raise UserError(f"approximate must be one of {', '.join(METHODS)}: got {approximate!r}")
        self.n_bits, self.notes, self.approximate = n_bits, notes or {}, approximate
        self._segments: list[Segment] = []
        self._storage: Storage | None = None

    @classmethod
    def exists(cls, url: str | Path) -> bool:
        return (Path(url) / MANIFEST).is_file()

    @classmethod
    def create(
        cls, url: str | Path, n_bits: int, *, notes: dict[str, Any] | None = None, approximate: str | None = None
    ) -> Self:
        index = cls(n_bits, notes=notes, approximate=approximate)
        storage = Storage(Path(url), n_bits=n_bits, notes=index.notes, approximate=approximate)
        prepare(storage.directory)
        with write_lock(storage.directory):
            storage.write([])
        index._storage = storage
        return index

    @classmethod
    def open(cls, url: str | Path, *, verify: bool = True) -> Self:
        """Opens the index in a directory by mapping its files.

        Parameters
        ----------
        url : str or Path
            The directory.
        verify : bool
            Whether to read all files once and compare their digests.
        """
        storage = Storage(Path(url), verify=verify)
        storage.refresh()
        index = cls(storage.n_bits, notes=storage.notes, approximate=storage.approximate)
        index._storage, index._segments = storage, storage.segments
        return index

    def __len__(self) -> int:
        return sum(len(segment) for segment in self._segments)

    @property
    def n_scanned(self) -> int:
        """Number of codes a search compares with: distinct ones, where codes repeat."""
        return sum(len(segment.codes) for segment in self._segments)

    @property
    def nbytes(self) -> int:
        """Bytes of codes, ids and lists, in memory or mapped; names and labels are not counted."""
        return sum(segment.nbytes for segment in self._segments)

    def add(self, packed: Packed, ids: ArrayLike, details: Details | None = None) -> None:
        packed = check_packed(packed, self.n_bits)
        numbers = check_ids(ids, len(packed))
        check_details(details, len(packed))
        if not len(packed):
            return
        new = make_segment(pad(packed), numbers, details)
        with self._writing():
            self._commit(compact([*(segment.without(numbers) for segment in self._segments), new]))

    def remove(self, ids: ArrayLike) -> int:
        numbers = np.unique(check_ids(ids))
        with self._writing():
            segments = [segment.without(numbers) for segment in self._segments]
            n_removed = len(self) - sum(len(segment) for segment in segments)
            if n_removed:
                self._commit(purge(segments))
        return n_removed

    def search(self, packed: Packed, k: int, *, exact: bool = False) -> Hits:
        queries, k = pad(check_packed(packed, self.n_bits)), check_k(k)
        if not self._segments or not len(queries):
            return no_hits(len(queries), min(k, len(self)))
        answers = [segment.nearest(queries, k, exact or self.approximate is None) for segment in self._segments]
        # The exact answer of one segment is in order already.
        return answers[0] if len(answers) == 1 and self.approximate is None else merge(answers, k)

    def search_radius(self, packed: Packed, radius: int) -> list[Hits]:
        queries, radius = pad(check_packed(packed, self.n_bits)), min(check_radius(radius), self.n_bits)
        answers = [segment.within(queries, radius) for segment in self._segments]
        return [_join([answer[row] for answer in answers]) for row in range(len(queries))]

    def describe(self, ids: ArrayLike) -> list[Detail | None]:
        numbers = check_ids(ids)
        found: list[Detail | None] = [None] * len(numbers)
        for segment in self._segments:
            found = [old or new for old, new in zip(found, segment.describe(numbers), strict=True)]
        return found

    def codes(self, ids: ArrayLike) -> tuple[Packed, NDArray[np.bool_]]:
        numbers = check_ids(ids)
        packed = np.zeros((len(numbers), bytes_per_code(self.n_bits)), np.uint8)
        known = np.zeros(len(numbers), np.bool_)
        for segment in self._segments:
            codes, here = segment.codes_of(numbers)
            packed[here] = codes[here, : packed.shape[1]]
            known |= here
        return packed, known

    def sample(self, n: int) -> Ids:
        ids = np.concatenate([np.empty(0, np.int64), *(segment.live_ids() for segment in self._segments)])
        if len(ids) > n:
            ids = np.random.default_rng(0).choice(ids, n, replace=False)
        return np.sort(ids)

    def highest_id(self) -> int:
        return max((int(segment.live_ids().max()) for segment in self._segments if len(segment)), default=-1)

    def labelled(self, ids: ArrayLike, label: str) -> NDArray[np.bool_]:
        numbers = check_ids(ids)
        found = np.zeros(len(numbers), np.bool_)
        for segment in self._segments:
            found |= segment.labelled(numbers, label)
        return found

    def reload(self) -> bool:
        storage = self._storage
        if storage is None or not storage.refresh():
            return False
        self.n_bits, self.notes, self.approximate = storage.n_bits, storage.notes, storage.approximate
        self._segments = storage.segments
        return True

    def close(self) -> None:
        self._segments, self._storage = [], None

    @contextmanager
    def _writing(self) -> Iterator[None]:
        if self._storage is None:
            yield
            return
        with write_lock(self._storage.directory):
            self.reload()  # another process may have written since this one read
            yield

    def _commit(self, segments: Sequence[Segment]) -> None:
        prepared = [segment.with_approximate(self.approximate) for segment in segments]
        if self._storage is None:
            self._segments = prepared
        else:
            self._storage.write(prepared)
            self._segments = self._storage.segments


def _join(answers: Sequence[Hits]) -> Hits:
    """One query's hits in all segments."""
    if len(answers) == 1:
        return answers[0]
    nothing = np.empty(0, np.int64)
    distances = np.concatenate([nothing, *(hits.distances for hits in answers)])
    return sorted_hits(distances, np.concatenate([nothing, *(hits.ids for hits in answers)]))
