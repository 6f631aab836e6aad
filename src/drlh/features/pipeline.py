"""Images → blocks of feature rows: read, look up, compute on all cores, keep on disk.

Each core runs one worker that decodes, prepares and computes a batch of pictures from start to end. Decoding,
resizing and the arithmetic all run outside Python's lock, so the cores stay busy without further arrangement. The
next chunk is read and handed to the workers before the one before it is collected.
"""

import json
import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from drlh.core.errors import UserError
from drlh.core.files import cache_directory, digest, read_npz, write_npz
from drlh.core.progress import Progress, quiet
from drlh.data.base import Images
from drlh.data.picture import Picture
from drlh.features.extractor import Extractor, Features

_FORMAT = "drlh-features-1"
_CHUNK_BYTES = 64 << 20  # a chunk of big files ends early

_Errors = dict[int, str]  # row → one sentence on what is wrong with it


@dataclass(frozen=True)
class FeatureBlock:
    """The features of the consecutive rows `span`."""

    span: range
    rows: NDArray[np.int64]  # the good ones among them
    features: Features  # (len(rows), n_features)
    left_out: tuple[str, ...]  # one sentence for each bad row
    path: Path  # where the features are kept


def extract_blocks(
    images: Images,
    extractor: Extractor,
    *,
    cache: Path | None = None,
    chunk: int = 512,
    skip_bad: bool = False,
    threads: int | None = None,
    keep: bool = True,
    progress: Progress = quiet,
) -> Iterator[FeatureBlock]:
    """Yields the features of all images in order, at most `chunk` rows at a time, in bounded memory.

    A picture that cannot be read stops the work with a UserError, or is left out with `skip_bad`. Finished chunks
    stay in `cache` (`features` in the cache directory by default), so that work cut short goes on from there; with
    `keep=False` what lies there is used, and nothing added. `threads` is the number of cores to use, all by default.
    """
    if chunk < 1 or (threads is not None and threads < 1):
        raise UserError(f"chunk and threads must be at least 1: got chunk={chunk}, threads={threads}")
    pipeline = _Pipeline(images, extractor, cache or cache_directory() / "features", skip_bad, keep)
    begun: deque[_Chunk] = deque()
    pool = ThreadPoolExecutor(threads or _n_cores())
    try:
        for pending in pipeline.read(chunk):
            begun.append(pipeline.begin(pending, pool))
            if len(begun) > 1:
                yield _reported(pipeline.finish(begun.popleft()), len(images), progress)
        while begun:
            yield _reported(pipeline.finish(begun.popleft()), len(images), progress)
    finally:
        pool.shutdown(cancel_futures=True)


def _n_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _reported(block: FeatureBlock, total: int, progress: Progress) -> FeatureBlock:
    progress(block.span.stop, total, "features")
    return block


class StoredChunk(NamedTuple):
    """What the cache keeps of consecutive pictures: the same bytes through the same extractor are computed once."""

    features: Features  # (number of good pictures, n_features)
    good: NDArray[np.bool_]  # (pictures,), False where one could not be decoded


@dataclass
class _Chunk:
    """Consecutive rows on their way from bytes to features."""

    start: int
    raws: list[bytes] = field(default_factory=list)  # empty bytes for a file that cannot be read
    bad: _Errors = field(default_factory=dict)
    path: Path = Path()
    stored: StoredChunk | None = None
    batches: list[Future[Features]] = field(default_factory=list)

    @property
    def span(self) -> range:
        return range(self.start, self.start + len(self.raws))


@dataclass(frozen=True)
class _Pipeline:
    images: Images
    extractor: Extractor
    cache: Path
    skip_bad: bool
    keep: bool

    def read(self, size: int) -> Iterator[_Chunk]:
        """The stored bytes of all images in chunks that depend on nothing but the bytes.

        A chunk begins at every multiple of `size`: a run of images that starts at one falls into the same chunks alone.
        """
        chunk, n_bytes = _Chunk(0), 0
        for row in range(len(self.images)):
            if chunk.raws and (row % size == 0 or n_bytes >= _CHUNK_BYTES):
                yield chunk
                chunk, n_bytes = _Chunk(row), 0
            chunk.raws.append(self._raw(row, chunk.bad))
            n_bytes += len(chunk.raws[-1])
        if chunk.raws:
            yield chunk

    def begin(self, chunk: _Chunk, pool: ThreadPoolExecutor) -> _Chunk:
        """Finds the features on disk, or sets the workers on them."""
        chunk.path = chunk_path(self.cache, self.extractor, self._form(chunk), chunk.raws)
        stored = load_chunk(chunk.path, len(chunk.raws), self.extractor.n_features)
        if stored is not None and self._bad_as_before(chunk, stored):
            chunk.stored = stored
            return chunk
        size = self.extractor.batch
        for start in range(0, len(chunk.raws), size):
            chunk.batches.append(pool.submit(self._compute, chunk, chunk.span[start : start + size]))
        return chunk

    def finish(self, chunk: _Chunk) -> FeatureBlock:
        if chunk.stored is None:
            features = np.concatenate([batch.result() for batch in chunk.batches])
            good = np.array([row not in chunk.bad for row in chunk.span])
            chunk.stored = StoredChunk(features, good)
            if self.keep:
                store_chunk(chunk.path, chunk.stored)
        if chunk.bad and not self.skip_bad:
            raise UserError(f"{chunk.bad[min(chunk.bad)]}; repair it, or leave such rows out with skip_bad")
        rows = chunk.start + np.flatnonzero(chunk.stored.good)
        left_out = tuple(chunk.bad[row] for row in sorted(chunk.bad))
        return FeatureBlock(chunk.span, rows, chunk.stored.features, left_out, chunk.path)

    def _raw(self, row: int, bad: _Errors) -> bytes:
        try:
            return self.images.raw(row)
        except UserError as error:
            bad[row] = str(error)
            return b""

    def _form(self, chunk: _Chunk) -> str:
        """The shape of the pictures where the bytes may not determine it.

        Bare pixels are all of one length and need no decoding; files carry their shape and differ in length.
        """
        first = chunk.raws[0]
        if not first or any(len(raw) != len(first) for raw in chunk.raws):
            return ""
        try:
            return str(self.images.decode(chunk.start, first).shape)
        except UserError:
            return ""

    def _bad_as_before(self, chunk: _Chunk, stored: StoredChunk) -> bool:
        """Whether the bad rows of a stored chunk are still bad; their sentences name today's files."""
        doubtful = (chunk.start + np.flatnonzero(~stored.good)).tolist()
        return all(self._decode(chunk, row) is None for row in doubtful)

    def _compute(self, chunk: _Chunk, rows: range) -> Features:
        prepared = []
        for row in rows:
            picture = self._decode(chunk, row)
            if picture is not None:
                prepared.append(self.extractor.prepare(picture))
        if not prepared:
            return np.empty((0, self.extractor.n_features), np.float32)
        return self.extractor.features(prepared)

    def _decode(self, chunk: _Chunk, row: int) -> Picture | None:
        """The picture, or None for a bad one, whose sentence is noted."""
        if row in chunk.bad:
            return None
        try:
            return self.images.decode(row, chunk.raws[row - chunk.start])
        except UserError as error:
            chunk.bad[row] = str(error)
            return None


def chunk_path(cache: Path, extractor: Extractor, form: str, raws: Sequence[bytes]) -> Path:
    """The file of the pictures with these stored bytes; `form` is their shape where the bytes leave it open."""
    settings = json.dumps(_determining(extractor.settings), sort_keys=True)
    key = digest(_FORMAT, settings, form, *raws)
    return cache / key[:2] / f"{key}.npz"


def _determining(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings without the place of the weights file, which does not change the features."""
    kept = {key: value for key, value in settings.items() if key != "weights_file"}
    if "parts" in kept:
        kept["parts"] = [_determining(part) for part in kept["parts"]]
    return kept


def store_chunk(path: Path, stored: StoredChunk) -> None:
    write_npz(path, stored._asdict())


def load_chunk(path: Path, n: int, n_features: int) -> StoredChunk | None:
    """What is stored in `path`, or None where nothing is, or something damaged that must be made again."""
    if not path.exists():
        return None
    try:
        arrays = read_npz(path)
        stored = StoredChunk(arrays["features"], arrays["good"])
    except (UserError, KeyError):
        return None
    fits = stored.good.shape == (n,) and stored.features.shape == (int(stored.good.sum()), n_features)
    return stored if fits and stored.features.dtype == np.float32 else None
