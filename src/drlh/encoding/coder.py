"""A model at work: pictures or feature rows in, packed codes out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import Packed, pack
from drlh.core.errors import UserError
from drlh.data.base import DataSet, Images
from drlh.features import Block, extract_blocks, extractor_from
from drlh.hashers.model_file import read_model_file

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
    """What a model file says to do with rows: take features of pictures, and make codes of features."""

    def __init__(self, model: str | Path) -> None:
        file = read_model_file(model)
        self.hasher, self.notes = file.hasher, file.notes
        self._extractor: Any = None

    @property
    def extractor(self) -> Any:
        if self._extractor is None:
            self._extractor = extractor_of(self.notes)
        return self._extractor

    def source_of(self, dataset: DataSet) -> Source:
        """The features of `dataset` where they are those of the model, or else its pictures."""
        made_alike = dataset.extractor == self.notes["extractor"] or dataset.images is None
        if dataset.features is None or not made_alike:
            assert dataset.images is not None  # a data set has features, images or both
            _ = self.extractor  # a model that cannot read pictures is told at once; weights are converted once
            return dataset.images
        if dataset.features.shape[1] != self.hasher.n_features_in_:
            raise UserError(
                f"the model was fitted on {self.hasher.n_features_in_} features, {dataset.name} has "
                f"{dataset.features.shape[1]}; make its features as for fitting"
            )
        return dataset.features

    def code(self, source: Source, sizes: Sequence[int], threads: int | None = None) -> Iterator[Coded]:
        """The codes of consecutive blocks of `sizes` rows; `threads` is the number of cores for pictures."""
        if isinstance(source, Images):
            chunks = extract_blocks(source, self.extractor, chunk=CHUNK, skip_bad=True, threads=threads, keep=False)
            for size in sizes:
                yield self._coded(chunks, size)
            return
        start = 0
        for size in sizes:
            yield Coded(np.ones(size, np.bool_), pack(self.hasher.transform(source[start : start + size])))
            start += size

    def _coded(self, chunks: Iterator[Block], size: int) -> Coded:
        good = np.zeros(size, np.bool_)
        packed: list[Packed] = [pack(np.empty((0, self.hasher.n_bits), np.uint8))]
        left_out: list[str] = []
        done = 0
        while done < size:
            block = next(chunks)
            good[done + (block.rows - block.span.start)] = True
            if len(block.rows):
                packed.append(pack(self.hasher.transform(block.features)))
            left_out += block.left_out
            done += len(block.span)
        return Coded(good, np.concatenate(packed), tuple(left_out))


def extractor_of(notes: dict[str, Any]) -> Any:
    """The extractor of the features that a model was fitted on."""
    if not notes.get("extractor"):
        raise UserError(
            "this model was fitted on features whose making it does not know, so it cannot read images; "
            "make features with `drlh features`, fit on those, or encode a feature file"
        )
    return extractor_from(notes["extractor"])


def blocks_of(source: Source) -> list[range]:
    """The rows in blocks that are encoded, kept and sent as one: small for progress, but not millions of them."""
    rows = min(_LARGEST, CHUNK * (1 + len(source) // 2**20)) if isinstance(source, Images) else _FEATURE_ROWS
    return [range(start, min(start + rows, len(source))) for start in range(0, len(source), rows)]
