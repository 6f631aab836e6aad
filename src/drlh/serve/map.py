"""A map of the index: t-SNE of a sample of codes.

t-SNE takes seconds of a core, which no request should notice: it runs in the background as a process of its own
and reports its progress on stdout.
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
from drlh.serve.item_pictures import ItemPictures
from drlh.serve.responses import Refusal, valid_text
from drlh.serve.served_index import ServedIndex
from drlh.serve.tsne import ITERATIONS

_MAX_POINTS = 2000


class IndexMap:
    """The map of a served index, which lies at `url`; a directory's map is cached beside it."""

    def __init__(self, index: ServedIndex, url: str, pictures: ItemPictures) -> None:
        self._index, self._pictures = index, pictures
        self._cache = cache_path(Path(url)) if Path(url).is_dir() else None
        self.progress = 0.0
        self.changed: set[int] = set()  # ids written since the sample was taken
        self._failed: str | None = None
        self._sample: asyncio.Future[tuple[NDArray[np.int64], Packed, list[Detail]]] | None = None
        self._places: NDArray[np.float32] | None = None  # (n, 2) of 0 to 1
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._build())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def sample(self) -> tuple[NDArray[np.int64], Packed, list[Detail]]:
        """(ids, codes, details) of at most 2,000 items, looked up once."""
        if self._sample is None:
            self._sample = asyncio.ensure_future(self._index.read(_take_sample))
        try:
            return await asyncio.shield(self._sample)
        except Refusal:
            self._sample = None
            raise

    async def response(self) -> dict[str, Any]:
        """The points, or how far they are from being ready."""
        if self._failed is not None:
            raise Refusal(503, self._failed)
        ids, _, details = await self.sample()
        ready, points = self._places is not None, []
        if self._places is not None:
            for number, (x, y), detail in zip(ids.tolist(), self._places.tolist(), details, strict=True):
                if number in self.changed:
                    continue
                label = valid_text(detail.labels[0]) if detail.labels else None
                thumbnail = self._pictures.thumbnail_url(number, detail)
                points.append({"id": number, "x": x, "y": y, "label": label, "thumbnail": thumbnail})
        classes = sorted({valid_text(label) for detail in details for label in detail.labels})
        n_items = await self._index.read(len)
        progress = 1.0 if ready else self.progress
        return {"ready": ready, "progress": progress, "points": points, "classes": classes, "n_items": n_items}

    async def _build(self) -> None:
        try:
            ids, packed, _ = await self.sample()
            key = cache_key(ids, packed)
            places = self._cached(key)
            if places is None:
                places = await self._run_tsne(unpack(packed, self._index.n_bits))
                self._store(key, places)
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

    def _store(self, key: str, places: NDArray[np.float32]) -> None:
        """A map that cannot be stored, for lack of permission, is made again next time."""
        if self._cache is not None:
            try:
                write_npz(self._cache, {"key": np.array(key), "places": places})
            except (UserError, OSError):
                return

    async def _run_tsne(self, codes: NDArray[np.uint8]) -> NDArray[np.float32]:
        with tempfile.TemporaryDirectory(prefix="drlh-map-") as directory:
            codes_file, places_file = Path(directory) / "codes.npz", Path(directory) / "places.npz"
            write_npz(codes_file, {"codes": codes})
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "drlh.serve.tsne", str(codes_file), str(places_file),
                stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
                env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            )  # fmt: skip
            try:
                await self._follow_progress(process)
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()
            return np.asarray(read_npz(places_file, map_members=False)["places"])

    async def _follow_progress(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            words = line.decode("ascii", "replace").split()
            if words[:2] == ["[t-SNE]", "Iteration"]:
                self.progress = min(0.99, int(words[2].rstrip(":")) / ITERATIONS)
        if await process.wait():
            raise UserError("the map could not be made")


def cache_path(index: Path) -> Path:
    """Beside the directory of the index, which holds nothing but its own files."""
    return Path(f"{index.resolve()}.map.npz")


def cache_key(ids: NDArray[np.int64], packed: Packed) -> str:
    """A digest of what a map is made from."""
    return digest("map-1", ids, packed)


def _take_sample(index: Index) -> tuple[NDArray[np.int64], Packed, list[Detail]]:
    ids = index.sample(_MAX_POINTS)
    packed, present = index.codes(ids)
    details = index.describe(ids)
    kept = [row for row, detail in enumerate(details) if detail is not None and present[row]]
    return ids[kept], packed[kept], [detail for detail in details if detail is not None]
