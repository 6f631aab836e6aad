"""Everything a running service holds: models with their indexes, pictures, the map, and the threads that work."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from fastapi import Request
from starlette.datastructures import UploadFile

from drlh.core.codes import Packed, from_hex
from drlh.core.errors import UserError
from drlh.data import DataSet, load
from drlh.data.catalog import SETS, find_set
from drlh.data.picture import Picture
from drlh.serve.answers import shown
from drlh.serve.collection import Collection
from drlh.serve.inputs import Input
from drlh.serve.map import CollectionMap
from drlh.serve.metrics import Metrics
from drlh.serve.model import Encoded, Model, check_index
from drlh.serve.options import Options
from drlh.serve.pictures import Pictures
from drlh.serve.refusals import Refusal
from drlh.serve.uploads import read_upload

Result = TypeVar("Result")
_DECODERS = 2  # pictures decoded at the same time, which bounds their memory


@dataclass(frozen=True)
class Station:
    """A model and the index of its codes."""

    model: Model
    collection: Collection

    @property
    def n_bits(self) -> int:
        return self.model.n_bits


class Service:
    def __init__(self, options: Options) -> None:
        self.options = options
        self.started = time.time()
        self.metrics = Metrics()
        self._thinking = ThreadPoolExecutor(1, "drlh-model")
        self._decoding = ThreadPoolExecutor(_DECODERS, "drlh-decoding")
        self.stations: list[Station] = []
        try:
            for model, index in ((options.model, options.index), *options.compare):
                self.stations.append(self._station(model, index))
            self.pictures = Pictures(_data_set(options, self.main), options.pictures)
        except BaseException:
            self.close()
            raise
        self.map = CollectionMap(self.main.collection, options.index, self.pictures.address)

    @property
    def main(self) -> Station:
        return self.stations[0]

    def _station(self, path: Path, index: str) -> Station:
        waiting = self.options.limits.waiting
        collection = Collection(index, waiting=waiting, note=self.metrics.batches("index"))
        try:
            model = Model(path, self._thinking, waiting=waiting, note=self.metrics.batches("model"))
            check_index(model, collection.notes, collection.n_bits, collection.shown)
        except BaseException:
            collection.close()
            raise
        return Station(model, collection)

    async def decode(self, image: UploadFile) -> tuple[bytes, Picture]:
        return await self.decoding(lambda: read_upload(image.file, self.options.limits))

    async def encode(self, station: Station, picture: Picture) -> Encoded:
        prepared = await self.decoding(lambda: station.model.prepare(picture))
        return await station.model.encode(prepared)

    async def code_of(self, station: Station, given: Input) -> Packed:
        """The code (1, bytes) that a query speaks of."""
        if given.image is not None:
            _, picture = await self.decode(given.image)
            return (await self.encode(station, picture)).packed
        query = given.settings
        if getattr(query, "code", None) is not None:
            try:
                return from_hex(query.code, station.n_bits)
            except UserError as error:
                raise Refusal(422, str(error)) from error
        if query.features is not None:
            return (await station.model.encode(station.model.check_features(query.features))).packed
        packed, _ = await station.collection.item(query.id)
        return packed

    async def add(
        self, packed: Packed, number: int | None, name: str | None, labels: tuple[str, ...], raw: bytes | None
    ) -> int:
        """One new item with its picture; returns its id."""
        beside = partial(self.pictures.replaced, raw=raw)
        chosen = await self.main.collection.add(packed, number, name, labels, beside)
        self.map.changed.add(chosen)
        return chosen

    async def remove(self, number: int) -> int:
        n_removed = await self.main.collection.remove(number)
        await self.decoding(lambda: self.pictures.drop(number))
        self.map.changed.add(number)
        return n_removed

    async def samples(self, n: int) -> list[dict[str, Any]]:
        """Items to start from: one of each class in turn."""
        ids, _, details = await self.map.sample()
        turns: dict[str, int] = {}
        order = []
        for row, detail in enumerate(details):
            if int(ids[row]) in self.map.changed:
                continue
            label = detail.labels[0] if detail.labels else ""
            turns[label] = turns.get(label, -1) + 1
            order.append((turns[label], label, row))
        rows = [row for _, _, row in sorted(order)[:n]]
        return [
            {
                "id": int(ids[row]),
                "name": shown(details[row].name),
                "labels": [shown(label) for label in details[row].labels],
                "thumbnail": self.pictures.address(int(ids[row]), details[row]),
            }
            for row in rows
        ]

    async def thinking(self, work: Callable[[], Result]) -> Result:
        """`work` on the thread of the models."""
        return await asyncio.get_running_loop().run_in_executor(self._thinking, work)

    async def decoding(self, work: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._decoding, work)

    def close(self) -> None:
        for station in self.stations:
            station.collection.close()
        self._thinking.shutdown()
        self._decoding.shutdown()


def service_of(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


def _data_set(options: Options, main: Station) -> DataSet | None:
    """The data set that was encoded: the one named, or the one the index names where it is on this machine."""
    if options.data is not None:
        return load(options.data)
    name: Any = main.collection.notes.get("data")
    return load(name) if name in SETS and find_set(name) is not None else None
