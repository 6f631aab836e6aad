"""A served index: concurrent searches become one call of the index, and one writer makes the changes readers see.

Every index is opened twice. All reads happen on one thread and all writes on another, so no backend has to be
thread-safe, and a long compaction does not delay searches.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import Packed, unpack
from drlh.core.errors import UserError
from drlh.index.base import Hits, Index
from drlh.index.details import Detail, Details
from drlh.index.opening import open_index
from drlh.index.urls import redacted
from drlh.serve.batching import Batcher
from drlh.serve.responses import Refusal, code_texts
from drlh.serve.settings import MAX_ID

Result = TypeVar("Result")

_REFRESH_SECONDS = 1.0  # until changes made by other processes are seen
_WIDER = 16  # a search within a class first looks at this many times k


@dataclass(frozen=True)
class NeighborQuery:
    """The k nearest, of those within `radius` and with the class `label` where these are given."""

    packed: Packed  # (1, bytes)
    k: int
    radius: int | None = None
    label: str | None = None


@dataclass(frozen=True)
class Neighbors:
    """Hits, nearest first; every list has one entry for each."""

    ids: list[int]
    distances: list[int]
    details: list[Detail]
    codes: list[str]  # hex
    bits: list[str]
    differs: list[list[int]]  # bits in which hit and query differ


class ServedIndex:
    """`await served.search(query)` gathers concurrent queries into one call of the index."""

    def __init__(self, url: str, *, max_queue: int, observe: Callable[[int], None]) -> None:
        self.shown_url = redacted(url)
        self._url = url
        self._reader = open_index(url)
        self._writer: Index | None = None
        self._read_thread = ThreadPoolExecutor(1, "drlh-reading")
        self._write_thread = ThreadPoolExecutor(1, "drlh-writing")
        self._next_id = 0
        self._refreshed_at = time.monotonic()
        self.notes, self.n_bits = self._reader.notes, self._reader.n_bits
        self.search = Batcher(self._search, self._read_thread, max_queue=max_queue, observe=observe)

    async def read(self, work: Callable[[Index], Result]) -> Result:
        """`work` on the reading thread."""
        return await _run_in(self._read_thread, lambda: work(self._refreshed()))

    async def item(self, number: int) -> tuple[Packed, Detail]:
        """Code (1, bytes) and details of one item."""
        packed, detail = await self.read(lambda index: (index.codes([number])[0], index.describe([number])[0]))
        if detail is None:
            raise Refusal(404, f"there is no item {number} in the index")
        return packed, detail

    async def add(
        self,
        packed: Packed,
        number: int | None,
        name: str | None,
        labels: tuple[str, ...],
        around: Callable[[int], AbstractContextManager[None]],
    ) -> int:
        """Adds one row inside `around(id)` and returns its id; searches that begin after this see it."""

        def work(index: Index) -> int:
            chosen = self._free_id(index) if number is None else number
            details = Details(np.array([name or str(chosen)]), np.ones((1, len(labels)), np.uint8), labels)
            with around(chosen):
                index.add(packed, [chosen], details)
            self._next_id = max(self._next_id, chosen + 1)
            return chosen

        return await self._write(work)

    async def remove(self, number: int) -> int:
        return await self._write(lambda index: index.remove([number]))

    async def _write(self, work: Callable[[Index], Result]) -> Result:
        """`work` on the writing thread, then a refresh of the reader; both are done even if the client disconnects."""

        async def both() -> Result:
            result = await _run_in(self._write_thread, lambda: work(self._opened_writer()))
            await self.read(lambda index: index.reload())
            return result

        return await asyncio.shield(asyncio.ensure_future(both()))

    def _opened_writer(self) -> Index:
        if self._writer is None:
            self._writer = open_index(self._url)
        return self._writer

    def _free_id(self, index: Index) -> int:
        """The id after the highest one; another process may have written since we last looked."""
        if not self._next_id or index.describe([self._next_id])[0] is not None:
            self._next_id = index.highest_id() + 1
        if self._next_id > MAX_ID:
            raise Refusal(422, f"no id can follow {MAX_ID}: give one that is free")
        return self._next_id

    def _search(self, queries: list[NeighborQuery]) -> list[Neighbors]:
        with errors_as_503():
            return find_neighbors(self._refreshed(), queries)

    def _refreshed(self) -> Index:
        """The reader, with what other processes have written up to about a second ago."""
        now = time.monotonic()
        if now - self._refreshed_at > _REFRESH_SECONDS:
            self._reader.reload()
            if (self._reader.n_bits, self._reader.notes) != (self.n_bits, self.notes):
                raise UserError(f"{self.shown_url} now holds codes of another model: restart the service with that one")
            self._refreshed_at = now
        return self._reader

    def close(self) -> None:
        """Returns when every write that has begun is on disk."""
        self._write_thread.shutdown()
        self._read_thread.shutdown()
        self._reader.close()
        if self._writer is not None:
            self._writer.close()


async def _run_in(thread: ThreadPoolExecutor, work: Callable[[], Result]) -> Result:
    def guarded() -> Result:
        with errors_as_503():
            return work()

    return await asyncio.get_running_loop().run_in_executor(thread, guarded)


@contextmanager
def errors_as_503() -> Iterator[None]:
    """An error of the index is not the client's mistake, because inputs were checked before."""
    try:
        yield
    except UserError as error:
        raise Refusal(503, str(error), {"Retry-After": "5"}) from error


def find_neighbors(index: Index, queries: list[NeighborQuery]) -> list[Neighbors]:
    """One call of the index for all queries with the same k; one more each for the codes and details of all hits."""
    found: dict[int, Hits] = {}
    groups: dict[tuple[int, bool], list[int]] = {}
    for place, query in enumerate(queries):
        if query.label is None:
            # A radius promises all items within it, which an approximate search does not keep.
            groups.setdefault((query.k, query.radius is not None), []).append(place)
        else:
            found[place] = _of_class(index, query, query.label)
    for (k, exact), places in groups.items():
        distances, ids = index.search(np.concatenate([queries[place].packed for place in places]), k, exact=exact)
        found |= {place: Hits(distances[row], ids[row]) for row, place in enumerate(places)}
    for place, query in enumerate(queries):
        if query.radius is not None:
            distances, ids = found[place]
            n = int(np.searchsorted(distances, query.radius, side="right"))
            found[place] = Hits(distances[:n], ids[:n])
    return _described(index, queries, [found[place] for place in range(len(queries))])


def _of_class(index: Index, query: NeighborQuery, label: str) -> Hits:
    """The k nearest of a class: among somewhat more than k, or failing that among all items."""
    n_candidates = _WIDER * query.k
    distances, ids = (rows[0] for rows in index.search(query.packed, n_candidates, exact=True))
    kept = index.labelled(ids, label)
    if int(kept.sum()) < query.k and len(ids) == n_candidates:
        distances, ids = index.search_radius(query.packed, index.n_bits)[0]
        kept = index.labelled(ids, label)
    return Hits(distances[kept][: query.k], ids[kept][: query.k])


def _described(index: Index, queries: list[NeighborQuery], found: list[Hits]) -> list[Neighbors]:
    """The hits of all queries become text together: numpy is fast on many rows and slow on many calls."""
    owners = np.repeat(np.arange(len(queries)), [len(ids) for _, ids in found])
    distances, ids = (np.concatenate(column) for column in zip(*found, strict=True))
    (packed, present), described = index.codes(ids), index.describe(ids)
    details = [detail for detail, here in zip(described, present.tolist(), strict=True) if here and detail is not None]
    if len(details) < len(ids):  # on a server another client may have removed a hit in between
        kept = present & np.array([detail is not None for detail in described])
        owners, distances, ids, packed = owners[kept], distances[kept], ids[kept], packed[kept]
    codes = unpack(packed, index.n_bits)
    query_codes = unpack(np.concatenate([query.packed for query in queries]), index.n_bits)
    hexes, bits = code_texts(packed, codes)
    differs = _set_bits(codes ^ query_codes[owners])
    numbers, apart = ids.tolist(), distances.tolist()
    stops = np.searchsorted(owners, np.arange(len(queries)), side="right").tolist()
    cuts = [slice(start, stop) for start, stop in zip([0, *stops], stops)]
    return [Neighbors(numbers[c], apart[c], details[c], hexes[c], bits[c], differs[c]) for c in cuts]


def _set_bits(codes: NDArray[np.uint8]) -> list[list[int]]:
    """The positions of the ones in each row."""
    rows, bits = np.nonzero(codes)
    stops = np.cumsum(np.bincount(rows, minlength=len(codes))).tolist()
    places = bits.tolist()
    return [places[start:stop] for start, stop in zip([0, *stops], stops)]
