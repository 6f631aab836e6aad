"""Where blocks are encoded: in threads of this process, in worker processes, or on Ray."""

from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache
from pathlib import Path

import numpy as np

from drlh.core.errors import UserError
from drlh.core.processes import worker_pool
from drlh.data.base import Images
from drlh.data.some_images import SomeImages
from drlh.encoding.coder import Coded, Coder, Results, Runner, Source, rows_of
from drlh.encoding.on_ray import on_ray

_AHEAD = 2  # blocks handed out for each worker, so that none waits for the next


def make_runner(backend: str = "local", workers: int | None = None, ray_address: str | None = None) -> Runner:
    """Chooses where to encode.

    Parameters
    ----------
    backend : str
        "local" for this machine, "ray" for Ray.
    workers : int, optional
        Number of worker processes; locally the default is threads of this process, on Ray all cores.
    ray_address : str, optional
        Address of a Ray cluster; by default Ray is started on this machine.

    Returns
    -------
    Runner
        What `Encoding` takes.
    """
    if backend not in ("local", "ray"):
        raise UserError(f"backend must be local or ray: got {backend!r}")
    if backend == "ray":
        return on_ray(workers, ray_address)
    if ray_address is not None:
        raise UserError(f"a Ray address needs the backend ray: got {ray_address!r} with the backend local")
    return in_threads if workers is None else in_processes(workers)


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
        raise UserError(f"workers must be at least 1: got {workers}")

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
                "a worker process was killed, perhaps for lack of memory: encode again, which resumes from here; "
                "fewer workers need less memory"
            ) from error

    return run


def code_block(model: str, rows: Source) -> Coded:
    """One block on one core, in a worker that keeps its model loaded."""
    (coded,) = _coder(model).code(rows, [len(rows)], threads=1)
    return coded


@lru_cache(maxsize=1)
def _coder(model: str) -> Coder:
    return Coder(model)
