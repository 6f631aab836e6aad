"""The index in one process: in memory or in a directory, exact unless asked otherwise, one writer and many readers.

In a directory every change is on disk when the call returns. A reader keeps what it opened until `reload`.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from drlh.core.codes import Packed, bytes_per_code
from drlh.core.errors import UserError
from drlh.index.base import (
    Found,
    Index,
    check_details,
    check_k,
    check_packed,
    check_radius,
    merge,
    no_hits,
    sorted_hits,
)
from drlh.index.details import Detail, Details
from drlh.index.ids import Ids, check_ids
from drlh.index.local import directory as disk
from drlh.index.local.approximate import check_method
from drlh.index.local.part import Part, make_part, settle, thin
from drlh.index.local.part_files import PartFiles
from drlh.index.local.scan import fast_width, widen


class LocalIndex(Index):
    """`LocalIndex(48)` lives in memory; `LocalIndex.create` and `open` make one that lives in a directory."""

    block = 2_000_000

    def __init__(self, n_bits: int, *, notes: dict[str, Any] | None = None, approximate: str | None = None) -> None:
        if n_bits < 1:
            raise UserError(f"codes have at least one bit: got n_bits={n_bits}")
        self.n_bits = n_bits
        self.notes = notes or {}
        self.approximate = check_method(approximate)
        self._parts: list[Part] = []
        self._files: PartFiles | None = None

    @classmethod
    def exists(cls, address: str | Path) -> bool:
        return disk.is_index(Path(address))

    @classmethod
    def create(
        cls,
        address: str | Path,
        n_bits: int,
        *,
        notes: dict[str, Any] | None = None,
        approximate: str | None = None,
    ) -> Self:
        index = cls(n_bits, notes=notes, approximate=approximate)
        files = PartFiles(Path(address), n_bits=n_bits, notes=index.notes, approximate=approximate)
        disk.prepare(files.directory)
        with disk.writing(files.directory):
            files.write([])
        index._files = files
        return index

    @classmethod
    def open(cls, address: str | Path, *, verify: bool = True) -> Self:
        """The index in a directory, mapped; `verify` reads all of it once and compares digests."""
        files = PartFiles(Path(address), verify=verify)
        files.read()
        index = cls(files.n_bits, notes=files.notes, approximate=files.approximate)
        index._files, index._parts = files, files.parts
        return index

    def __len__(self) -> int:
        return sum(len(part) for part in self._parts)

    @property
    def n_scanned(self) -> int:
        """The codes a search compares with: distinct ones, where codes repeat."""
        return sum(len(part.segment.codes) for part in self._parts)

    @property
    def nbytes(self) -> int:
        """Bytes of codes, ids and lists, in memory or mapped; names and labels are not counted."""
        return sum(
            part.segment.nbytes + part.removed.nbytes + (part.approximate.stored.nbytes if part.approximate else 0)
            for part in self._parts
        )

    def add(self, packed: Packed, ids: ArrayLike, details: Details | None = None) -> None:
        packed = check_packed(packed, self.n_bits)
        numbers = check_ids(ids, len(packed))
        check_details(details, len(packed))
        if not len(packed):
            return
        new = make_part(widen(packed, fast_width(self.n_bits)), numbers, details)
        with self._writing():
            self._commit(settle([*(part.without(numbers) for part in self._parts), new]))

    def remove(self, ids: ArrayLike) -> int:
        numbers = np.unique(check_ids(ids))
        with self._writing():
            parts = [part.without(numbers) for part in self._parts]
            n_removed = len(self) - sum(len(part) for part in parts)
            if n_removed:
                self._commit(thin(parts))
        return n_removed

    def search(self, packed: Packed, k: int, *, exact: bool = False) -> Found:
        queries, k = self._queries(packed), min(check_k(k), len(self))
        if not k or not len(queries):
            return no_hits(len(queries), k)
        answers = [part.nearest(queries, k, exact or self.approximate is None) for part in self._parts]
        # An exact answer of one part is in order already.
        return answers[0] if len(answers) == 1 and self.approximate is None else merge(answers, k)

    def search_radius(self, packed: Packed, radius: int) -> list[Found]:
        queries, radius = self._queries(packed), min(check_radius(radius), self.n_bits)
        answers = [part.within(queries, radius) for part in self._parts]
        return [_join([answer[place] for answer in answers]) for place in range(len(queries))]

    def describe(self, ids: ArrayLike) -> list[Detail | None]:
        numbers = check_ids(ids)
        found: list[Detail | None] = [None] * len(numbers)
        for part in self._parts:
            found = [old or new for old, new in zip(found, part.describe(numbers), strict=True)]
        return found

    def codes(self, ids: ArrayLike) -> tuple[Packed, NDArray[np.bool_]]:
        numbers = check_ids(ids)
        packed = np.zeros((len(numbers), bytes_per_code(self.n_bits)), np.uint8)
        there = np.zeros(len(numbers), np.bool_)
        for part in self._parts:
            codes, here = part.codes_of(numbers)
            packed[here] = codes[here, : packed.shape[1]]
            there |= here
        return packed, there

    def sample(self, n: int) -> Ids:
        every = [part.live_ids() for part in self._parts]
        ids = np.concatenate([np.empty(0, np.int64), *every])
        if len(ids) > n:
            ids = np.random.default_rng(0).choice(ids, n, replace=False)
        return np.sort(ids)

    def highest_id(self) -> int:
        return max((int(part.live_ids().max()) for part in self._parts if len(part)), default=-1)

    def labelled(self, ids: ArrayLike, label: str) -> NDArray[np.bool_]:
        numbers = check_ids(ids)
        found = np.zeros(len(numbers), np.bool_)
        for part in self._parts:
            found |= part.labelled(numbers, label)
        return found

    def reload(self) -> bool:
        """Takes up what a writer has done since; says whether that was anything."""
        if self._files is None or not self._files.read():
            return False
        self.n_bits, self.notes, self._parts = self._files.n_bits, self._files.notes, self._files.parts
        self.approximate = self._files.approximate
        return True

    def close(self) -> None:
        self._parts, self._files = [], None

    def _queries(self, packed: Packed) -> Packed:
        return widen(check_packed(packed, self.n_bits), fast_width(self.n_bits))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        if self._files is None:
            yield
            return
        with disk.writing(self._files.directory):
            self.reload()  # another process may have written since this one read
            yield

    def _commit(self, parts: Sequence[Part]) -> None:
        prepared = [part.prepared(self.approximate) for part in parts]
        if self._files is None:
            self._parts = prepared
        else:
            self._files.write(prepared)
            self._parts = self._files.parts


def _join(answers: Sequence[Found]) -> Found:
    """One query's hits in all parts."""
    if len(answers) == 1:
        return answers[0]
    nothing = np.empty(0, np.int64)
    distances = np.concatenate([nothing, *(found[0] for found in answers)])
    return sorted_hits(distances, np.concatenate([nothing, *(found[1] for found in answers)]))
