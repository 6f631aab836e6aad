"""A model over blocks of rows: pictures or feature rows in, packed codes out."""

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import Packed, bytes_per_code
from drlh.data.base import DataSet, Images
from drlh.data.some_images import apart
from drlh.features.pipeline import FeatureBlock, extract_blocks
from drlh.model import Model

CHUNK = 512  # pictures; blocks of pictures are multiples of it, so that a row has the same neighbours in every run
_FEATURE_ROWS = 8192
_LARGEST = 32 * CHUNK

Source = Images | NDArray[Any]  # pictures, or rows of features


@dataclass(frozen=True)
class Coded:
    """The codes of a block of rows."""

    good: NDArray[np.bool_]  # (rows,), False where a picture could not be read
    packed: Packed  # (good rows, bytes)
    left_out: tuple[str, ...] = ()  # one sentence for each bad row


class Coder:
    """Runs a model over blocks of rows: takes features of pictures, and makes codes of features."""

    def __init__(self, model: str | Path) -> None:
        self.model = Model.load(model)

    def source_of(self, dataset: DataSet) -> Source:
        """The features of `dataset` where they are those of the model, or else its pictures."""
        made_alike = dataset.extractor == self.model.notes["extractor"] or dataset.images is None
        if dataset.features is None or not made_alike:
            assert dataset.images is not None  # a data set has features, images or both
            _ = self.model.extractor  # a model that cannot read pictures is told at once; weights are converted once
            return dataset.images
        self.model.check_features(dataset.features)
        return dataset.features

    def code(self, source: Source, sizes: Sequence[int], threads: int | None = None) -> Iterator[Coded]:
        """The codes of consecutive blocks of `sizes` rows; `threads` is the number of cores for pictures."""
        if isinstance(source, Images):
            chunks = extract_blocks(
                source, self.model.extractor, chunk=CHUNK, skip_bad=True, threads=threads, keep=False
            )
            for size in sizes:
                yield self._coded(chunks, size)
            return
        start = 0
        for size in sizes:
            yield Coded(np.ones(size, np.bool_), self.model.encode(source[start : start + size]))
            start += size

    def _coded(self, chunks: Iterator[FeatureBlock], size: int) -> Coded:
        good = np.zeros(size, np.bool_)
        packed: list[Packed] = [np.empty((0, bytes_per_code(self.model.n_bits)), np.uint8)]
        left_out: list[str] = []
        done = 0
        while done < size:
            block = next(chunks)
            good[done + (block.rows - block.span.start)] = True
            if len(block.rows):
                packed.append(self.model.encode(block.features))
            left_out += block.left_out
            done += len(block.span)
        return Coded(good, np.concatenate(packed), tuple(left_out))


def blocks_of(source: Source) -> list[range]:
    """The rows in blocks that are encoded, kept and sent as one: small for progress, but not millions of them."""
    rows = min(_LARGEST, CHUNK * (1 + len(source) // 2**20)) if isinstance(source, Images) else _FEATURE_ROWS
    return [range(start, min(start + rows, len(source))) for start in range(0, len(source), rows)]


def rows_of(source: Source, block: range) -> Source:
    """The rows of one block without the rest, for another process."""
    if isinstance(source, Images):
        return apart(source, np.arange(block.start, block.stop))
    return np.ascontiguousarray(source[block.start : block.stop])


Results = Generator[Coded, None, None]
# Takes the model's file, the same model opened, all rows, and the blocks wanted of them; yields their codes in order.
Runner = Callable[[Path, Coder, Source, Sequence[range]], Results]
