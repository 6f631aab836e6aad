"""A map of the collection: t-SNE of a sample of codes, made in the background by a process of its own.

A process, for a map takes seconds of a core and no request should feel it; it says how far it is on its stdout.
"""

import asyncio
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import Packed, unpack
from drlh.core.errors import UserError
from drlh.core.files import digest, read_npz, write_npz
from drlh.index.base import Index
from drlh.index.details import Detail
from drlh.serve.answers import Address, shown
from drlh.serve.collection import Collection
from drlh.serve.refusals import Refusal
from drlh.serve.tsne import STEPS

_MOST = 2000  # points


class CollectionMap:
    def __init__(self, collection: Collection, index: str, address: Address) -> None:
        self._collection, self._address = collection, address
        self._cache = kept_at(Path(index)) if Path(index).is_dir() else None
        self.progress = 0.0
        self.changed: set[int] = set()  # ids written since the sample was taken
        self._failed: str | None = None
        self._sample: asyncio.Future[tuple[NDArray[np.int64], Packed, list[Detail]]] | None = None
        self._places: NDArray[np.float32] | None = None  # (n, 2) of 0 to 1
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._make())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def sample(self) -> tuple[NDArray[np.int64], Packed, list[Detail]]:
        """(ids, codes, details) of at most 2,000 items, looked up once."""
        if self._sample is None:
            self._sample = asyncio.ensure_future(self._collection.read(_look))
        try:
            return await asyncio.shield(self._sample)
        except Refusal:
            self._sample = None
            raise

    async def answer(self) -> dict[str, Any]:
        if self._failed is not None:
            raise Refusal(503, self._failed)
        ids, _, details = await self.sample()
        ready = self._places is not None
        points = []
        if self._places is not None:
            for number, (x, y), detail in zip(ids.tolist(), self._places.tolist(), details, strict=True):
                if number in self.changed:
                    continue
                label = shown(detail.labels[0]) if detail.labels else None
                points.append(
                    {"id": number, "x": x, "y": y, "label": label, "thumbnail": self._address(number, detail)}
                )
        classes = sorted({shown(label) for detail in details for label in detail.labels})
        n_items = await self._collection.read(len)
        progress = 1.0 if ready else self.progress
        return {"ready": ready, "progress": progress, "points": points, "classes": classes, "n_items": n_items}

    async def _make(self) -> None:
        try:
            ids, packed, _ = await self.sample()
            key = key_of(ids, packed)
            places = self._cached(key)
            if places is None:
                places = await self._place(unpack(packed, self._collection.n_bits))
                self._keep(key, places)
            self._places = places
        except (Refusal, UserError, OSError) as error:
            self._failed = str(error)

    def _cached(self, key: str) -> NDArray[np.float32] | None:
        if self._cache is None or not self._cache.exists():
            return None
        try:
            found = read_npz(self._cache)
            return found["places"] if str(found["key"]) == key else None
        except (UserError, KeyError):
            return None

    def _keep(self, key: str, places: NDArray[np.float32]) -> None:
        """A map that cannot be kept, because others own the place, is made again next time."""
        if self._cache is not None:
            try:
                write_npz(self._cache, {"key": np.array(key), "places": places})
            except (UserError, OSError):
                return

    async def _place(self, codes: NDArray[np.uint8]) -> NDArray[np.float32]:
        with tempfile.TemporaryDirectory(prefix="drlh-map-") as directory:
            codes_file, places_file = Path(directory) / "codes.npz", Path(directory) / "places.npz"
            write_npz(codes_file, {"codes": codes})
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "drlh.serve.tsne", str(codes_file), str(places_file),
                stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
                env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            )  # fmt: skip
            try:
                await self._follow(process)
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()
            return np.asarray(read_npz(places_file, map_members=False)["places"])

    async def _follow(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            words = line.decode("ascii", "replace").split()
            if words[:2] == ["[t-SNE]", "Iteration"]:
                self.progress = min(0.99, int(words[2].rstrip(":")) / STEPS)
        if await process.wait():
            raise UserError("the map could not be made")


def kept_at(index: Path) -> Path:
    """Beside the index, which holds nothing but its own files."""
    return Path(f"{index.resolve()}.map.npz")


def key_of(ids: NDArray[np.int64], packed: Packed) -> str:
    """What a map was made from."""
    return digest("map-1", ids, packed)


def _look(engine: Index) -> tuple[NDArray[np.int64], Packed, list[Detail]]:
    ids = engine.sample(_MOST)
    packed, there = engine.codes(ids)
    details = engine.describe(ids)
    kept = [row for row, detail in enumerate(details) if detail is not None and there[row]]
    return ids[kept], packed[kept], [detail for detail in details if detail is not None]
