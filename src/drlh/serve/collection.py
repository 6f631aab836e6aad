"""An index in use: concurrent searches in one call of the engine, and one writer whose changes readers see.

Every engine is opened twice. All reading happens on one thread and all writing on another, so no engine has to be safe
for several threads, and a long merge of files does not hold up searches.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import TypeVar

import numpy as np

from drlh.core.codes import Packed
from drlh.core.errors import UserError
from drlh.index.base import Index
from drlh.index.details import Detail, Details
from drlh.index.opening import open_index
from drlh.index.urls import redacted
from drlh.serve.batching import Batcher
from drlh.serve.refusals import Refusal
from drlh.serve.searching import Answer, Query, answer_queries

Result = TypeVar("Result")

MOST_ID = 2**53 - 1  # the last whole number that every reader of JSON knows
_LOOK_EVERY = 1.0  # seconds until changes made by other processes are taken up


class Collection:
    def __init__(self, address: str, *, waiting: int, note: Callable[[int], None]) -> None:
        self.shown = redacted(address)
        self._address = address
        self._reader = open_index(address)
        self._writer: Index | None = None
        self._reading = ThreadPoolExecutor(1, "drlh-reading")
        self._writing = ThreadPoolExecutor(1, "drlh-writing")
        self._next_id = 0
        self._looked = time.monotonic()
        self.notes, self.n_bits = self._reader.notes, self._reader.n_bits
        self.search = Batcher(self._search, self._reading, waiting=waiting, note=note)

    async def read(self, work: Callable[[Index], Result]) -> Result:
        """`work` on the reading thread."""
        return await _on(self._reading, lambda: work(self._fresh()))

    async def item(self, number: int) -> tuple[Packed, Detail]:
        """Code (1, bytes) and details of one item."""
        packed, detail = await self.read(lambda engine: (engine.codes([number])[0], engine.describe([number])[0]))
        if detail is None:
            raise Refusal(404, f"there is no item {number} in the index")
        return packed, detail

    async def add(
        self,
        packed: Packed,
        number: int | None,
        name: str | None,
        labels: tuple[str, ...],
        beside: Callable[[int], AbstractContextManager[None]],
    ) -> int:
        """Adds one row and returns its id; searches that begin after this see it. `beside(id)` is done around it."""

        def work(engine: Index) -> int:
            chosen = self._free_id(engine) if number is None else number
            details = Details(np.array([name or str(chosen)]), np.ones((1, len(labels)), np.uint8), labels)
            with beside(chosen):
                engine.add(packed, [chosen], details)
            self._next_id = max(self._next_id, chosen + 1)
            return chosen

        return await self._write(work)

    async def remove(self, number: int) -> int:
        return await self._write(lambda engine: engine.remove([number]))

    async def _write(self, work: Callable[[Index], Result]) -> Result:
        """`work` on the writing thread, then a look of the reader; both happen though the client goes away."""

        async def both() -> Result:
            result = await _on(self._writing, lambda: work(self._opened()))
            await self.read(lambda engine: engine.reload())
            return result

        return await asyncio.shield(asyncio.ensure_future(both()))

    def _opened(self) -> Index:
        if self._writer is None:
            self._writer = open_index(self._address)
        return self._writer

    def _free_id(self, engine: Index) -> int:
        """The next id after all others; somebody else may have written since we last looked."""
        if not self._next_id or engine.describe([self._next_id])[0] is not None:
            self._next_id = engine.highest_id() + 1
        if self._next_id > MOST_ID:
            raise Refusal(422, f"ids past {MOST_ID} cannot be given: name one that is free")
        return self._next_id

    def _search(self, queries: list[Query]) -> list[Answer]:
        return told(lambda: answer_queries(self._fresh(), queries))

    def _fresh(self) -> Index:
        """The reader, with what other processes have written until lately."""
        now = time.monotonic()
        if now - self._looked > _LOOK_EVERY:
            self._reader.reload()
            if (self._reader.n_bits, self._reader.notes) != (self.n_bits, self.notes):
                raise UserError(f"{self.shown} now holds codes of another model: start the service anew with that one")
            self._looked = now
        return self._reader

    def close(self) -> None:
        """Returns when every write that was begun is on disk."""
        self._writing.shutdown()
        self._reading.shutdown()
        self._reader.close()
        if self._writer is not None:
            self._writer.close()


async def _on(thread: ThreadPoolExecutor, work: Callable[[], Result]) -> Result:
    return await asyncio.get_running_loop().run_in_executor(thread, told, work)


def told(work: Callable[[], Result]) -> Result:
    """What an engine complains of is no mistake of the client: inputs were checked before."""
    try:
        return work()
    except UserError as error:
        raise Refusal(503, str(error), {"Retry-After": "5"}) from error
