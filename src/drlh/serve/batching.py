"""Requests that wait while a thread works are answered together in its next turn."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Generic, TypeVar

from drlh.serve.refusals import busy

Item = TypeVar("Item")
Result = TypeVar("Result")


class Batcher(Generic[Item, Result]):
    """`await batcher(item)`; `work` gets the items that have gathered and returns a result for each.

    Nobody waits for a batch to fill: a lone request goes at once, and a batch is what came in meanwhile.
    """

    def __init__(
        self,
        work: Callable[[list[Item]], Sequence[Result]],
        thread: Executor,
        *,
        waiting: int,
        largest: int = 64,
        note: Callable[[int], None] = lambda size: None,
    ) -> None:
        """At most `waiting` items are in line, the next are refused; `note` is told the size of each batch."""
        self._work, self._thread, self._note = work, thread, note
        self._largest, self._most = largest, waiting
        self._waiting: deque[tuple[Item, asyncio.Future[Result]]] = deque()
        self._running: asyncio.Task[None] | None = None

    async def __call__(self, item: Item) -> Result:
        if len(self._waiting) >= self._most:
            raise busy()
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, future))
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        return await future

    async def _run(self) -> None:
        try:
            while self._waiting:
                n = min(self._largest, len(self._waiting))
                batch = [self._waiting.popleft() for _ in range(n)]
                # Who has gone away needs no answer.
                await self._answer([entry for entry in batch if not entry[1].done()])
        finally:
            self._running = None

    async def _answer(self, batch: list[tuple[Item, "asyncio.Future[Result]"]]) -> None:
        if not batch:
            return
        items = [item for item, _ in batch]
        self._note(len(items))
        try:
            results = await asyncio.get_running_loop().run_in_executor(self._thread, self._work, items)
        except Exception as error:
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), result in zip(batch, results, strict=True):
            if not future.done():
                future.set_result(result)
