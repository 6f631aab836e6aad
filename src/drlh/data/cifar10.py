"""CIFAR-10 as its authors publish it: six binary batches, or six Python batches.

Rows are the 50,000 training pictures in the official order, then the 10,000 test pictures.
"""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.core.errors import UserError
from drlh.data.bad_rows import BadRows
from drlh.data.base import ArrayImages, DataSet

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
BATCHES = ("data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch")
BATCH_ROWS = 10_000
RECORD = 1 + 3 * 32 * 32  # the label, then the red, green and blue planes

Records = NDArray[np.uint8]  # (rows, RECORD)


def read(root: Path, skip_bad: bool = False) -> DataSet:
    records = _read_batches(root)
    labels = records[:, 0].astype(np.int64)
    bad = BadRows(skip_bad)
    for row in np.flatnonzero(labels >= len(CLASSES)):
        batch, place = BATCHES[row // BATCH_ROWS], row % BATCH_ROWS
        bad.add(row, f"{root / batch} row {place} has class id {labels[row]}, which is not one of 0 to 9")
    # The planes stay as they are stored; only the way of looking at them changes.
    pixels = records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    test = np.arange(len(labels)) >= 5 * BATCH_ROWS
    return bad.drop_from(DataSet("cifar10", labels, CLASSES, ArrayImages(pixels, "cifar10"), test=test))


def _read_batches(root: Path) -> Records:
    binary = any((root / f"{batch}.bin").is_file() for batch in BATCHES)
    records = np.empty((len(BATCHES) * BATCH_ROWS, RECORD), np.uint8)
    for number, batch in enumerate(BATCHES):
        path = root / (f"{batch}.bin" if binary else batch)
        if not path.is_file():
            raise UserError(
                f"{path} is missing: put the six batches of cifar-10-{'binary' if binary else 'python'}.tar.gz "
                f"into {root}, or run `drlh data fetch cifar10`"
            )
        target = records[number * BATCH_ROWS : (number + 1) * BATCH_ROWS]
        (_read_binary if binary else _read_python)(path, target)
    return records


def _read_binary(path: Path, target: Records) -> None:
    if path.stat().st_size != target.nbytes:
        raise UserError(
            f"{path} has {path.stat().st_size:,} bytes where a whole batch has {target.nbytes:,}; "
            "unpack it anew or run `drlh data fetch cifar10`"
        )
    with open(path, "rb") as file:
        file.readinto(target.data)


def _read_python(path: Path, target: Records) -> None:
    with open(path, "rb") as file:
        try:
            batch = _ArraysOnly(file, encoding="bytes").load()
            target[:, 1:] = _pixels_of(batch)
            target[:, 0] = batch[b"labels"]
        except UserError:
            raise
        except Exception as error:  # a damaged pickle fails in many ways, all of them the same to the reader
            raise UserError(
                f"{path} is not a whole CIFAR-10 Python batch ({error}); unpack cifar-10-python.tar.gz anew"
            ) from error


def _pixels_of(batch: Any) -> NDArray[np.uint8]:
    pixels = batch[b"data"]
    if not isinstance(pixels, np.ndarray) or pixels.shape != (BATCH_ROWS, RECORD - 1) or pixels.dtype != np.uint8:
        raise ValueError(f"its pixels are not {BATCH_ROWS} rows of {RECORD - 1} bytes")
    return pixels


class _ArraysOnly(pickle.Unpickler):
    """Admits plain containers and numpy arrays: a batch from a stranger cannot run anything."""

    def find_class(self, module: str, name: str) -> Any:
        # numpy 2 moved numpy.core; the published files were written long before.
        if (module.replace("._core", ".core"), name) == ("numpy.core.multiarray", "_reconstruct"):
            return np._core.multiarray._reconstruct  # type: ignore[attr-defined]
        if module == "numpy" and name in ("ndarray", "dtype"):
            return getattr(np, name)
        raise UserError(f"a CIFAR-10 batch holds only arrays and lists: this one asks for {module}.{name}")
