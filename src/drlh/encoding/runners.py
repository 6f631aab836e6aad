"""Where blocks are encoded: in threads of this process, or in worker processes. Ray has a file of its own."""

from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache
from pathlib import Path

import numpy as np

from drlh.core.errors import UserError
from drlh.core.processes import worker_pool
from drlh.data.base import Images
from drlh.data.some_images import SomeImages, apart
from drlh.encoding.coder import Coded, Coder, Source

Results = Generator[Coded, None, None]
# The model's file, the same model opened, all rows, and the blocks wanted of them: yields their codes in order.
Runner = Callable[[Path, Coder, Source, Sequence[range]], Results]

_AHEAD = 2  # blocks handed out for each worker, so that none waits for the next


def in_threads(model: Path, coder: Coder, source: Source, blocks: Sequence[range]) -> Results:
    """In this process, pictures on all cores."""
    sizes = [len(block) for block in blocks]
    if isinstance(source, Images):
        rows = [np.arange(block.start, block.stop) for block in blocks]
        source = SomeImages(source, np.concatenate([np.empty(0, np.int64), *rows]))
    yield from coder.code(source, sizes)


def in_processes(workers: int) -> Runner:
    """In `workers` processes of one thread each."""
    if workers < 1:
        raise UserError(f"--workers must be at least 1: got {workers}")

    def run(model: Path, coder: Coder, source: Source, blocks: Sequence[range]) -> Results:
        waiting: deque[Future[Coded]] = deque()
        try:
            with worker_pool(min(workers, len(blocks)) or 1) as pool:
                for block in blocks:
                    waiting.append(pool.submit(code_block, str(model), rows_of(source, block)))
                    if len(waiting) > _AHEAD * workers:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
        except BrokenProcessPool as error:
            raise UserError(
                "a worker was ended from outside, for want of memory perhaps: run the command again, "
                "it goes on from here; fewer --workers take less memory"
            ) from error

    return run


def rows_of(source: Source, block: range) -> Source:
    """The rows of one block without the rest, for another process."""
    if isinstance(source, Images):
        return apart(source, np.arange(block.start, block.stop))
    return np.ascontiguousarray(source[block.start : block.stop])


def code_block(model: str, rows: Source) -> Coded:
    """One block on one core, in a worker that keeps its model open."""
    (coded,) = _coder(model).code(rows, [len(rows)], threads=1)
    return coded


@lru_cache(maxsize=1)
def _coder(model: str) -> Coder:
    return Coder(model)
