"""Finished blocks of codes on disk, so that an interrupted run resumes where it stopped.

A block is identified by the model and by its pictures: name, size and time of each file, or the pixels themselves.
"""

import contextlib
import json
import time
from pathlib import Path

import numpy as np

from drlh.core.errors import UserError
from drlh.core.files import cache_directory, digest, read_npz, remove_half_written, write_npz
from drlh.data.base import Images
from drlh.encoding.coder import Coded

_FORMAT = "drlh-codes-part-1"


class Parts:
    """The finished blocks of one model."""

    def __init__(self, model_digest: str) -> None:
        self._model = model_digest
        self._directory = cache_directory() / "codes" / model_digest[:32]
        self._begun = time.time()

    def path_of(self, images: Images, rows: range) -> Path:
        names = (f"{row} {images.name(row)}".encode("utf-8", "surrogateescape") for row in rows)
        stamps = (_stamp(images, row) for row in rows)
        return self._directory / f"{digest(_FORMAT, self._model, *names, *stamps)}.npz"

    def forget(self, paths: list[Path]) -> None:
        """Removes parts that are no longer needed, and files that killed runs left half-written."""
        for path in paths:
            path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # another run keeps parts here, or there never was one
            remove_half_written(self._directory, self._begun)
            self._directory.rmdir()


def _stamp(images: Images, row: int) -> bytes:
    try:
        return images.stamp(row)
    except UserError:  # reported when the picture is read
        return b""


def store_part(path: Path, coded: Coded) -> None:
    write_npz(path, {"good": coded.good, "packed": coded.packed, "left_out": np.array(json.dumps(coded.left_out))})


def load_part(path: Path, n_rows: int, n_bytes: int) -> Coded | None:
    """What is stored in `path`; None where there is nothing, or something damaged that must be encoded again."""
    if not path.exists():
        return None
    try:
        arrays = read_npz(path, map_members=False)
        coded = Coded(arrays["good"], arrays["packed"], tuple(json.loads(str(arrays["left_out"]))))
    except (UserError, KeyError, ValueError):
        return None
    fits = coded.good.shape == (n_rows,) and coded.packed.shape == (int(coded.good.sum()), n_bytes)
    return coded if fits and coded.packed.dtype == np.uint8 else None
