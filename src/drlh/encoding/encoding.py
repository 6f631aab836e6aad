"""One model over one data set: blocks that an interrupted run left behind are reused, the others encoded."""

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import Packed, bytes_per_code
from drlh.core.errors import UserError
from drlh.core.progress import Progress, quiet
from drlh.data.base import DataSet, Images
from drlh.encoding.coder import Coded, Coder, Runner, blocks_of
from drlh.encoding.parts import Parts, load_part, store_part
from drlh.encoding.runners import in_threads


@dataclass(frozen=True)
class CodedRows:
    """The codes of some rows of a data set, in its order."""

    rows: NDArray[np.int64]  # (n,), the good ones
    packed: Packed  # (n, bytes)
    left_out: tuple[str, ...]


class Encoding:
    """`run` yields every block once and in order; `forget` drops what was kept for a restart, once all is written.

    Codes of pictures are kept on disk as they are made. Those of feature rows are not: they are made as fast as read.
    """

    def __init__(
        self, model: str | Path, dataset: DataSet, runner: Runner = in_threads, *, skip_bad: bool = False
    ) -> None:
        self.dataset = dataset
        self._model, self._runner, self._skip_bad = Path(model), runner, skip_bad
        self._coder = Coder(model)
        self.n_bits = self._coder.model.n_bits
        self.notes: dict[str, Any] = self._coder.model.notes | {"model_sha256": self._coder.model.sha256}
        self._source = self._coder.source_of(dataset)
        self._blocks = blocks_of(self._source)
        self._parts = Parts(self.notes["model_sha256"])
        self._paths: list[Path] = []

    @property
    def n_blocks(self) -> int:
        return len(self._blocks)

    def run(self, progress: Progress = quiet) -> Generator[CodedRows, None, None]:
        if isinstance(self._source, Images):
            self._paths = [self._parts.path_of(self._source, block) for block in self._blocks]
        known = [path.exists() for path in self._paths] or [False] * len(self._blocks)
        todo = [block for block, there in zip(self._blocks, known, strict=True) if not there]
        total, done = sum(map(len, todo)), 0
        what = "encoding" + (f" ({len(self.dataset) - total:,} rows are known)" if any(known) else "")
        with closing(self._runner(self._model, self._coder, self._source, todo)) as fresh:
            for number, block in enumerate(self._blocks):
                if known[number]:
                    coded = self._known(number)
                else:
                    coded = self._keep(number, next(fresh))
                    done += len(block)
                    progress(done, total, what)
                if coded.left_out and not self._skip_bad:
                    raise UserError(coded.left_out[0])
                yield CodedRows(block.start + np.flatnonzero(coded.good), coded.packed, coded.left_out)

    def forget(self) -> None:
        self._parts.forget(self._paths)

    def _keep(self, number: int, coded: Coded) -> Coded:
        if self._paths:
            store_part(self._paths[number], coded)
        return coded

    def _known(self, number: int) -> Coded:
        block = self._blocks[number]
        coded = load_part(self._paths[number], len(block), bytes_per_code(self.n_bits))
        if coded is None:  # damaged, or removed by another run that has just ended
            (coded,) = in_threads(self._model, self._coder, self._source, [block])
        return coded
