"""A running service: deployed models with their indexes, pictures, the map, and the threads they work on."""

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
from drlh.data import DataSet, load
from drlh.data.catalog import SETS, find_set
from drlh.data.picture import Picture
from drlh.model import Model
from drlh.serve.batching import Inference
from drlh.serve.inputs import Input, read_upload
from drlh.serve.item_pictures import ItemPictures
from drlh.serve.map import IndexMap
from drlh.serve.served_index import ServedIndex
from drlh.serve.settings import ServiceSettings
from drlh.serve.telemetry import Telemetry

Result = TypeVar("Result")
_DECODERS = 2  # pictures decoded at the same time, which bounds their memory


@dataclass(frozen=True)
class Deployment:
    """A model, the thread that runs it, and the index of its codes."""

    model: Model
    inference: Inference
    index: ServedIndex


class Service:
    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings
        self.started = time.time()
        self.telemetry = Telemetry()
        self._model_thread = ThreadPoolExecutor(1, "drlh-model")
        self._decoders = ThreadPoolExecutor(_DECODERS, "drlh-decoding")
        self.deployments: list[Deployment] = []
        try:
            for model, index in ((settings.model, settings.index), *settings.compare):
                self.deployments.append(self._deploy(model, index))
            self.main = self.deployments[0]
            self.pictures = ItemPictures(_data_set(settings, self.main), settings.pictures)
        except BaseException:
            self.close()
            raise
        self.map = IndexMap(self.main.index, settings.index, self.pictures)

    def _deploy(self, path: Path, url: str) -> Deployment:
        max_queue = self.settings.limits.max_queue
        index = ServedIndex(url, max_queue=max_queue, observe=self.telemetry.batch_observer("index"))
        try:
            model = Model.load(path)
            model.check_index(index, index.shown_url)
            observe = self.telemetry.batch_observer("model")
            inference = Inference(model, self._model_thread, self._decoders, max_queue=max_queue, observe=observe)
        except BaseException:
            index.close()
            raise
        return Deployment(model, inference, index)

    async def decode(self, image: UploadFile) -> tuple[bytes, Picture]:
        """The bytes of an uploaded picture and its pixels."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._decoders, read_upload, image.file, self.settings.limits)

    async def run_decoding(self, work: Callable[[], Result]) -> Result:
        """`work` on one of the threads that decode pictures."""
        return await asyncio.get_running_loop().run_in_executor(self._decoders, work)

    async def code_of(self, deployment: Deployment, given: Input) -> Packed:
        """The code (1, bytes) of what a request holds: a picture, features, a code or an id."""
        if given.image is not None:
            _, picture = await self.decode(given.image)
            return (await deployment.inference.encode_picture(picture)).packed
        query = given.fields
        if getattr(query, "code", None) is not None:
            return from_hex(query.code, deployment.model.n_bits)
        if query.features is not None:
            return (await deployment.inference.encode_features(query.features)).packed
        packed, _ = await deployment.index.item(query.id)
        return packed

    async def add(
        self, packed: Packed, number: int | None, name: str | None, labels: tuple[str, ...], raw: bytes | None
    ) -> int:
        """Adds an item with its picture and returns its id."""
        chosen = await self.main.index.add(packed, number, name, labels, partial(self.pictures.replaced, raw=raw))
        self.map.changed.add(chosen)
        return chosen

    async def remove(self, number: int) -> int:
        n_removed = await self.main.index.remove(number)
        await self.run_decoding(lambda: self.pictures.drop(number))
        self.map.changed.add(number)
        return n_removed

    async def samples(self, n: int) -> list[dict[str, Any]]:
        """Items to start from: one of each class in turn."""
        ids, _, details = await self.map.sample()
        n_seen: dict[str, int] = {}
        order = []
        for row, detail in enumerate(details):
            if int(ids[row]) in self.map.changed:
                continue
            label = detail.labels[0] if detail.labels else ""
            n_seen[label] = n_seen.get(label, -1) + 1
            order.append((n_seen[label], label, row))
        return [self.pictures.item_fields(int(ids[row]), details[row]) for _, _, row in sorted(order)[:n]]

    def close(self) -> None:
        for deployment in self.deployments:
            deployment.index.close()
        self._model_thread.shutdown()
        self._decoders.shutdown()


def service_of(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


def _data_set(settings: ServiceSettings, main: Deployment) -> DataSet | None:
    """The data set that was encoded: the one given, or the one the index names if it is on this machine."""
    if settings.data is not None:
        return load(settings.data)
    name: Any = main.index.notes.get("data")
    return load(name) if name in SETS and find_set(name) is not None else None
