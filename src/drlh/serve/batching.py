"""Inference in batches: requests that arrive while the model's thread is busy share its next forward pass."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import Packed, pack
from drlh.core.errors import UserError
from drlh.data.picture import Picture
from drlh.model import Model
from drlh.serve.responses import Refusal

Item = TypeVar("Item")
Result = TypeVar("Result")
FeatureRow = NDArray[Any]  # (n_features,)

_LARGEST_FEATURE = 1e9  # sums of squares stay finite in single precision


class Batcher(Generic[Item, Result]):
    """`await batcher(item)`; `work` gets the items that have gathered and returns a result for each.

    No request waits for a batch to fill: a lone one is processed at once, and a batch is what arrived meanwhile.
    """

    def __init__(
        self,
        work: Callable[[list[Item]], Sequence[Result]],
        thread: Executor,
        *,
        max_queue: int,
        max_batch: int = 64,
        observe: Callable[[int], None] = lambda size: None,
    ) -> None:
        """At most `max_queue` items wait, further ones are refused; `observe` is called with the size of each batch."""
        self._work, self._thread, self._observe = work, thread, observe
        self._max_batch, self._max_queue = max_batch, max_queue
        self._queue: deque[tuple[Item, asyncio.Future[Result]]] = deque()
        self._running: asyncio.Task[None] | None = None

    async def __call__(self, item: Item) -> Result:
        if len(self._queue) >= self._max_queue:
            raise Refusal(503, "too many requests are waiting: try again in a moment", {"Retry-After": "1"})
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._queue.append((item, future))
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        return await future

    async def _run(self) -> None:
        try:
            while self._queue:
                n = min(self._max_batch, len(self._queue))
                batch = [self._queue.popleft() for _ in range(n)]
                # Clients that have disconnected need no answer.
                await self._process([entry for entry in batch if not entry[1].done()])
        finally:
            self._running = None

    async def _process(self, batch: list[tuple[Item, "asyncio.Future[Result]"]]) -> None:
        if not batch:
            return
        items = [item for item, _ in batch]
        self._observe(len(items))
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


@dataclass(frozen=True)
class PreparedPicture:
    """A picture in the small form that the model's extractor takes."""

    form: Any


@dataclass(frozen=True)
class Encoded:
    features: FeatureRow
    packed: Packed  # (1, bytes)


class Inference:
    """A model in use: one thread runs it, `decoders` prepare pictures for it, and concurrent requests share a pass."""

    def __init__(
        self,
        model: Model,
        thread: Executor,
        decoders: Executor,
        *,
        max_queue: int,
        observe: Callable[[int], None],
    ) -> None:
        self.model, self._thread, self._decoders = model, thread, decoders
        self._batcher = Batcher(self._forward, thread, max_queue=max_queue, observe=observe)
        # The first pass loads and compiles what later ones use.
        black = np.zeros((32, 32, 3), np.uint8)
        self._forward(
            [PreparedPicture(model.extractor.prepare(black)) if model.reads_pictures else np.zeros(model.n_features)]
        )

    async def encode_picture(self, picture: Picture) -> Encoded:
        prepare = self.model.extractor.prepare
        form = await asyncio.get_running_loop().run_in_executor(self._decoders, prepare, picture)
        return await self._batcher(PreparedPicture(form))

    async def encode_features(self, features: Sequence[float]) -> Encoded:
        return await self._batcher(self.feature_row(features))

    def feature_row(self, features: Sequence[float]) -> FeatureRow:
        """Features that a client sent, checked."""
        (row,) = self.model.check_features(np.asarray([features], np.float64))
        if np.abs(row).max() > _LARGEST_FEATURE:
            raise UserError(f"features must lie between -{_LARGEST_FEATURE:g} and {_LARGEST_FEATURE:g}")
        return np.asarray(row)

    async def run(self, work: Callable[[], Result]) -> Result:
        """`work` on the model's thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _forward(self, items: list[PreparedPicture | FeatureRow]) -> list[Encoded]:
        """Codes of a batch of prepared pictures and feature rows, in their order."""
        forms = [item.form for item in items if isinstance(item, PreparedPicture)]
        step = self.model.extractor.batch if forms else 1
        chunks = (self.model.extractor.features(forms[at : at + step]) for at in range(0, len(forms), step))
        extracted = (row for chunk in chunks for row in chunk)
        rows = [next(extracted) if isinstance(item, PreparedPicture) else item for item in items]
        packed = pack(self.model.hasher.transform(np.stack(rows)))
        return [Encoded(row, packed[at : at + 1]) for at, row in enumerate(rows)]
