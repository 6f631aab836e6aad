"""Blocks encoded on Ray Data: a Ray of our own on this machine, started on demand, or a cluster at an address.

Workers get the model's bytes and the names of files (or the pixels of a set held in memory), and send codes back, which
are small: whoever called writes them, keeps them for a restart and decides what is done.
"""

import json
import logging
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from drlh.core.errors import UserError
from drlh.encoding.coder import Coded, Coder, Results, Runner, Source, rows_of

_STORE = 200 << 20  # bytes for names and codes on their way; what does not fit goes to disk
_SHARED = Path("/dev/shm")
# No reports to Ray's makers; nothing on the screen but our own bar and sentences.
_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DATA_LOG_LEVEL": "ERROR",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    "RAY_worker_niceness": "0",  # Ray's own 15 starves workers wherever anything else runs
}


def on_ray(workers: int | None = None, address: str | None = None) -> Runner:
    """On `workers` cores, by default all there are; without an `address`, of this machine."""
    if workers is not None and workers < 1:
        raise UserError(f"workers must be at least 1: got {workers}")

    def run(model: Path, coder: Coder, source: Source, blocks: Sequence[range]) -> Results:
        if blocks:
            with _silence(), _ray(workers, address) as ray:
                yield from _encode(ray, model.read_bytes(), source, blocks, workers)

    return run


def _encode(ray: Any, model: bytes, source: Source, blocks: Sequence[range], workers: int | None) -> Results:
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    context.execution_options.preserve_order = True
    context.target_max_block_size = 1 << 20  # of what workers hand on: codes, thousands of times smaller than pictures
    size = min(len(blocks), workers or max(1, int(ray.cluster_resources().get("CPU", 1))))
    numbers = ray.data.range(len(blocks), override_num_blocks=len(blocks))
    refs = [ray.put(rows_of(source, block)) for block in blocks]
    coded = numbers.map(
        _Worker,
        fn_constructor_args=(model, refs),
        num_cpus=1,
        compute=ray.data.ActorPoolStrategy(size=size),
    )
    try:
        for batch in coded.iter_batches(batch_size=1, batch_format="numpy", prefetch_batches=0):
            yield _unwrapped({key: column[0] for key, column in batch.items()})
    except ray.exceptions.RayError as error:
        first_line = str(error).strip().partition("\n")[0]
        raise UserError(f"Ray gave up ({first_line}): encode again, which resumes from here") from error


class _Worker:
    """One core of the cluster, with the model open."""

    def __init__(self, model: bytes, refs: Sequence[Any]) -> None:
        self._model, self._refs = model, refs
        self._coder: Coder | None = None

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        import ray

        try:
            rows = ray.get(self._refs[int(row["id"])])
            (coded,) = self._opened().code(rows, [len(rows)], threads=1)
        except UserError as error:
            return {"error": str(error), "good": b"", "packed": b"", "width": 0, "left_out": "[]"}
        return {
            "error": "",
            "good": coded.good.tobytes(),
            "packed": coded.packed.tobytes(),
            "width": coded.packed.shape[1],
            "left_out": json.dumps(coded.left_out),
        }

    def _opened(self) -> Coder:
        if self._coder is None:
            with tempfile.NamedTemporaryFile(suffix=".model") as file:
                file.write(self._model)
                file.flush()
                self._coder = Coder(file.name)
        return self._coder


def _unwrapped(row: dict[str, Any]) -> Coded:
    if row["error"]:
        raise UserError(str(row["error"]))
    good = np.frombuffer(row["good"], np.bool_)
    packed = np.frombuffer(row["packed"], np.uint8).reshape(int(good.sum()), int(row["width"]))
    return Coded(good, packed, tuple(json.loads(str(row["left_out"]))))


@contextmanager
def _ray(workers: int | None, address: str | None) -> Iterator[Any]:
    """Ray, connected; one that was running before is left running."""
    settings = dict(_SETTINGS)
    if address is None and "RAY_AUTH_MODE" not in os.environ:  # a token for this run alone, kept nowhere
        settings |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    for name, value in settings.items():
        os.environ.setdefault(name, value)
    try:
        import ray  # reads the settings
        import ray.data
        import ray.exceptions
    except ImportError as error:
        raise UserError("encoding on Ray needs the package ray: run `pip install 'drlh[ray]'`") from error
    ours = not ray.is_initialized()
    if ours:
        _start(ray, workers, address)
    try:
        yield ray
    finally:
        if ours:
            ray.shutdown()


def _start(ray: Any, workers: int | None, address: str | None) -> None:
    quiet = {"logging_level": logging.ERROR, "log_to_driver": False}
    try:
        if address is not None:
            ray.init(address=address, **quiet)
            return
        place = str(_SHARED) if _has_room(_SHARED) else tempfile.gettempdir()
        # "local": a cluster that happens to run here, or an address in the environment, is somebody else's.
        ray.init(
            address="local", num_cpus=workers, include_dashboard=False, object_store_memory=_STORE,
            _plasma_directory=place, **quiet,
        )  # fmt: skip
    except (ConnectionError, OSError, RuntimeError, ValueError, TimeoutError) as error:
        first_line = str(error).strip().partition("\n")[0]
        if address is None:
            raise UserError(f"Ray does not start here: {first_line}") from error
        raise UserError(
            f"Ray at {address} does not answer ({first_line}): check the address, and that RAY_AUTH_TOKEN is the "
            "cluster's, where it has one"
        ) from error


def _has_room(directory: Path) -> bool:
    """Whether Ray's shared memory fits; in a container it is often small or read-only."""
    return os.access(directory, os.W_OK) and shutil.disk_usage(directory).free > 2 * _STORE


@contextmanager
def _silence() -> Iterator[None]:
    """Ray's own processes write to file descriptor 2 past Python: it leads nowhere while ours keeps the screen."""
    ours = sys.stderr
    if ours is not sys.__stderr__:  # somebody listens in Python, and hears nothing of what passes it
        yield
        return
    screen = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    sys.stderr = os.fdopen(os.dup(screen), "w", buffering=1)
    try:
        yield
    finally:
        sys.stderr.close()
        sys.stderr = ours
        os.dup2(screen, 2)
        os.close(screen)
        os.close(nowhere)
