"""Batches of 20 rows instead of 10,000; everything else is as published."""

import pickle
import struct
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from drlh.core.errors import UserError
from drlh.data import cifar10, load

ROWS = 20


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cifar10, "BATCH_ROWS", ROWS)


@pytest.fixture
def records() -> NDArray[np.uint8]:
    values = np.random.default_rng(0).integers(0, 256, (6, ROWS, 3073), dtype=np.uint8)
    values[:, :, 0] %= 10
    return values


def write_binary(root: Path, records: NDArray[np.uint8]) -> None:
    root.mkdir(parents=True, exist_ok=True)
    for batch, content in zip(cifar10.BATCHES, records):
        (root / f"{batch}.bin").write_bytes(content.tobytes())


def old_string(text: bytes) -> bytes:
    return b"T" + struct.pack("<i", len(text)) + text  # BINSTRING, the str of Python 2


def python_batch(records: NDArray[np.uint8]) -> bytes:
    """The pickle that Python 2 and an old numpy wrote: protocol 2, str keys, numpy.core.multiarray."""
    dtype = b"cnumpy\ndtype\n" + old_string(b"u1") + b"K\x00K\x01\x87R"
    dtype += b"(K\x03" + old_string(b"|") + b"NNN" + b"J\xff\xff\xff\xff" * 2 + b"K\x00tb"
    array = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85" + old_string(b"b") + b"\x87R"
    shape = b"K" + bytes([len(records)]) + b"M" + struct.pack("<H", 3072) + b"\x86"
    array += b"(K\x01" + shape + dtype + b"\x89" + old_string(records[:, 1:].tobytes()) + b"tb"
    labels = b"](" + b"".join(b"K" + bytes([label]) for label in records[:, 0]) + b"e"
    return b"\x80\x02}(" + old_string(b"data") + array + old_string(b"labels") + labels + b"u."


def test_rows_are_the_five_training_batches_then_the_test_batch(tmp_path: Path, records: NDArray[np.uint8]) -> None:
    write_binary(tmp_path, records)
    dataset = load("cifar10", directory=tmp_path)
    assert dataset.labels.tolist() == records[:, :, 0].reshape(-1).tolist()
    assert dataset.test is not None
    assert np.flatnonzero(dataset.test).tolist() == list(range(5 * ROWS, 6 * ROWS))
    assert dataset.images is not None
    planes = records[5, 3, 1:].reshape(3, 32, 32)
    assert np.array_equal(dataset.images.read(5 * ROWS + 3), np.moveaxis(planes, 0, 2))


def test_python_batches_give_the_same_data_set_as_binary_batches(tmp_path: Path, records: NDArray[np.uint8]) -> None:
    write_binary(tmp_path / "binary", records)
    python = tmp_path / "python" / "cifar-10-batches-py"
    python.mkdir(parents=True)
    for batch, content in zip(cifar10.BATCHES, records):
        (python / batch).write_bytes(python_batch(content))
    left, right = load(tmp_path / "binary"), load(tmp_path / "python")
    assert left.labels.tolist() == right.labels.tolist()
    assert left.images is not None
    assert right.images is not None
    assert all(left.images.raw(row) == right.images.raw(row) for row in range(len(left)))


def test_a_python_batch_that_wants_to_run_something_is_refused(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[object, tuple[Path]]:
            return Path.touch, (tmp_path / "ran",)

    for batch in cifar10.BATCHES:
        (tmp_path / batch).write_bytes(pickle.dumps(Evil()))
    with pytest.raises(UserError, match="only arrays and lists"):
        load(tmp_path)
    assert not (tmp_path / "ran").exists()


def test_a_missing_batch_is_named_with_what_to_put_where(tmp_path: Path, records: NDArray[np.uint8]) -> None:
    write_binary(tmp_path, records)
    (tmp_path / "data_batch_4.bin").unlink()
    with pytest.raises(UserError, match=r"data_batch_4\.bin is missing: put the six batches of cifar-10-binary"):
        load(tmp_path)


@pytest.mark.parametrize("python", [False, True])
def test_a_cut_batch_is_named(tmp_path: Path, records: NDArray[np.uint8], python: bool) -> None:
    for batch, content in zip(cifar10.BATCHES, records):
        raw = python_batch(content) if python else content.tobytes()
        cut = raw[:-100] if batch == "test_batch" else raw
        (tmp_path / (batch if python else f"{batch}.bin")).write_bytes(cut)
    with pytest.raises(UserError, match=r"test_batch.* whole"):
        load(tmp_path)


def test_a_label_past_9_is_an_error_or_left_out(tmp_path: Path, records: NDArray[np.uint8]) -> None:
    records[1, 2, 0] = 77
    write_binary(tmp_path, records)
    with pytest.raises(UserError, match="data_batch_2 row 2 has class id 77"):
        load(tmp_path)
    dataset = load(tmp_path, skip_bad=True)
    assert len(dataset) == 6 * ROWS - 1
    assert len(dataset.left_out) == 1
    assert dataset.images is not None
    assert dataset.images.name(ROWS + 2) == f"cifar10/{ROWS + 3}"
