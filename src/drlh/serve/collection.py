"""An index in use: concurrent searches in one call of the engine, and one writer whose changes readers see.

Every engine is opened twice. All reading happens on one thread and all writing on another, so no engine has to be safe
for several threads, and a long merge of files does not hold up searches.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from drlh.codes import Packed
from drlh.errors import UserError
from drlh.index.addresses import open_engine, shown
from drlh.index.details import Detail, Details
from drlh.index.engine import Engine
from drlh.index.ids import Ids
from drlh.serve.batching import Batcher
from drlh.serve.refusals import Refusal

Result = TypeVar("Result")

MOST_ID = 2**53 - 1  # the last whole number that every reader of JSON knows


@dataclass(frozen=True)
class Query:
    packed: Packed  # (1, bytes)
    k: int
    radius: int | None = None
    label: str | None = None


@dataclass(frozen=True)
class Answer:
    """Hits, nearest first."""

    ids: Ids  # (n,)
    distances: NDArray[np.int64]  # (n,)
    packed: Packed  # (n, bytes)
    details: list[Detail]


class Collection:
    def __init__(self, address: str, *, waiting: int) -> None:
        self.shown = shown(address)
        self._address = address
        self._reader = open_engine(address)
        self._writer: Engine | None = None
        self._reading = ThreadPoolExecutor(1, "drlh-reading")
        self._writing = ThreadPoolExecutor(1, "drlh-writing")
        self._next_id = 0
        self.notes, self.n_bits = self._reader.notes, self._reader.n_bits
        self.search = Batcher(self._search, self._reading, largest=64, waiting=waiting)

    async def read(self, work: Callable[[Engine], Result]) -> Result:
        """`work` on the reading thread."""
        return await _on(self._reading, lambda: told(lambda: work(self._reader)))

    async def item(self, number: int) -> tuple[Packed, Detail]:
        """Code (1, bytes) and details of one item."""

        def look(engine: Engine) -> tuple[Packed, Detail | None]:
            return engine.codes([number])[0], engine.describe([number])[0]

        packed, detail = await self.read(look)
        if detail is None:
            raise Refusal(404, f"there is no item {number} in the index")
        return packed, detail

    async def add(self, packed: Packed, number: int | None, name: str | None, labels: tuple[str, ...]) -> int:
        """Adds one row and returns its id; searches that begin after this see it."""

        def work(engine: Engine) -> int:
            chosen = self._free_id(engine) if number is None else number
            details = Details(np.array([name or str(chosen)]), np.ones((1, len(labels)), np.uint8), labels)
            engine.add(packed, [chosen], details)
            self._next_id = max(self._next_id, chosen + 1)
            return chosen

        return await self._write(work)

    async def remove(self, number: int) -> int:
        return await self._write(lambda engine: engine.remove([number]))

    async def _write(self, work: Callable[[Engine], Result]) -> Result:
        # Shielded: a client that goes away does not leave the readers behind the writer.
        return await asyncio.shield(self._written(work))

    async def _written(self, work: Callable[[Engine], Result]) -> Result:
        result = await _on(self._writing, lambda: told(lambda: work(self._open_writer())))
        await self.read(lambda engine: engine.reload())
        return result

    def _open_writer(self) -> Engine:
        if self._writer is None:
            self._writer = open_engine(self._address)
        return self._writer

    def _free_id(self, engine: Engine) -> int:
        """The next id after all others; somebody else may have written since we last looked."""
        if not self._next_id or engine.describe([self._next_id])[0] is not None:
            self._next_id = engine.highest_id() + 1
        if self._next_id > MOST_ID:
            raise Refusal(422, f"ids past {MOST_ID} cannot be given: name one that is free")
        return self._next_id

    def _search(self, queries: list[Query]) -> list[Answer]:
        return told(lambda: answer_queries(self._reader, queries))

    def close(self) -> None:
        """Ends when every write that was begun is on disk."""
        self._writing.shutdown()
        self._reading.shutdown()
        self._reader.close()
        if self._writer is not None:
            self._writer.close()


async def _on(thread: Executor, work: Callable[[], Result]) -> Result:
    return await asyncio.get_running_loop().run_in_executor(thread, work)


def told(work: Callable[[], Result]) -> Result:
    """What an engine complains of is no mistake of the client: inputs were checked before."""
    try:
        return work()
    except UserError as error:
        raise Refusal(503, str(error), {"Retry-After": "5"}) from error


def answer_queries(engine: Engine, queries: list[Query]) -> list[Answer]:
    """Queries for as many hits are one call of the engine; codes and names of all hits are one more."""
    found: dict[int, tuple[NDArray[np.int64], Ids]] = {}
    groups: dict[tuple[int, bool], list[int]] = {}
    for place, query in enumerate(queries):
        if query.label is None:
            groups.setdefault((query.k, query.radius is not None), []).append(place)
        else:
            found[place] = _labelled(engine, query)
    for (k, exact), places in groups.items():
        distances, ids = engine.search(np.concatenate([queries[place].packed for place in places]), k, exact=exact)
        found |= {place: (distances[row], ids[row]) for row, place in enumerate(places)}
    for place, query in enumerate(queries):
        if query.radius is not None:
            distances, ids = found[place]
            within = distances <= query.radius
            found[place] = distances[within], ids[within]
    return _described(engine, [found[place] for place in range(len(queries))])


def _labelled(engine: Engine, query: Query) -> tuple[NDArray[np.int64], Ids]:
    """The k nearest of a class: among somewhat more than k, or else among all there are."""
    assert query.label is not None
    distances, ids = (rows[0] for rows in engine.search(query.packed, 16 * query.k, exact=True))
    kept = engine.labelled(ids, query.label)
    if kept.sum() < query.k and len(ids) >= 16 * query.k:
        distances, ids = engine.search_radius(query.packed, engine.n_bits)[0]
        kept = engine.labelled(ids, query.label)
    return distances[kept][: query.k], ids[kept][: query.k]


def _described(engine: Engine, found: list[tuple[NDArray[np.int64], Ids]]) -> list[Answer]:
    ids = np.concatenate([ids for _, ids in found])
    (packed, there), details = engine.codes(ids), engine.describe(ids)
    ends = np.cumsum([0, *(len(ids) for _, ids in found)])
    answers = []
    for (distances, numbers), start, stop in zip(found, ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        # On a server another client may have removed a hit in between.
        kept = [at for at in range(stop - start) if there[start + at] and details[start + at] is not None]
        known = [detail for detail in details[start:stop] if detail is not None]
        if len(kept) < stop - start:
            known = [detail for at in kept if (detail := details[start + at]) is not None]
            distances, numbers = distances[kept], numbers[kept]
        rows = packed[start:stop] if len(kept) == stop - start else packed[start:stop][kept]
        answers.append(Answer(numbers, distances, rows, known))
    return answers
