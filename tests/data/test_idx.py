import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from drlh.core.errors import UserError
from drlh.data import idx, load


def encode(values: NDArray[np.uint8]) -> bytes:
    return bytes([0, 0, 8, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape) + values.tobytes()


def write_set(root: Path, *, packed: bool = False, dotted: bool = False, label: int = 9) -> NDArray[np.uint8]:
    pixels = np.random.default_rng(1).integers(0, 256, (10, 5, 4), dtype=np.uint8)
    labels = np.array([0, 1, 2, 3, 4, 5, label, 0, 1, 2], np.uint8)
    root.mkdir(parents=True, exist_ok=True)
    for name, values in zip(idx.FILES, (pixels[:7], labels[:7], pixels[7:], labels[7:])):
        stem = name.replace("-idx", ".idx") if dotted else name
        if packed:
            (root / f"{stem}.gz").write_bytes(gzip.compress(encode(values)))
        else:
            (root / stem).write_bytes(encode(values))
    return pixels


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("dotted", [False, True])
def test_four_idx_files_are_training_rows_then_test_rows(tmp_path: Path, packed: bool, dotted: bool) -> None:
    pixels = write_set(tmp_path / "mnist", packed=packed, dotted=dotted)
    dataset = load(tmp_path / "mnist")
    assert dataset.name == "mnist"
    assert dataset.classes == tuple("0123456789")
    assert dataset.labels.tolist() == [0, 1, 2, 3, 4, 5, 9, 0, 1, 2]
    assert dataset.test is not None
    assert dataset.test.tolist() == [False] * 7 + [True] * 3
    assert dataset.images is not None
    assert np.array_equal(dataset.images.read(8)[:, :, 1], pixels[8])


def test_fashion_mnist_has_the_names_of_clothes(tmp_path: Path) -> None:
    write_set(tmp_path / "anywhere")
    write_set(tmp_path / "fashion-mnist")
    assert load("fashion-mnist", directory=tmp_path / "anywhere").classes[9] == "Ankle boot"
    assert load(tmp_path / "fashion-mnist").name == "fashion-mnist"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    write_set(tmp_path)
    (tmp_path / idx.FILES[3]).unlink()
    with pytest.raises(UserError, match=r"t10k-labels-idx1-ubyte .* is missing"):
        load(tmp_path)


@pytest.mark.parametrize("packed", [False, True])
def test_a_cut_file_is_named(tmp_path: Path, packed: bool) -> None:
    write_set(tmp_path, packed=packed)
    path = tmp_path / f"{idx.FILES[0]}{'.gz' if packed else ''}"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(UserError, match="train-images-idx3-ubyte"):
        load(tmp_path)


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    write_set(tmp_path)
    (tmp_path / idx.FILES[0]).write_bytes(b"<html>not found</html>")
    with pytest.raises(UserError, match="is not an IDX file"):
        load(tmp_path)


def test_label_files_of_the_wrong_length_are_refused(tmp_path: Path) -> None:
    write_set(tmp_path)
    (tmp_path / idx.FILES[1]).write_bytes(encode(np.zeros(3, np.uint8)))
    with pytest.raises(UserError, match="do not belong together"):
        load(tmp_path)


def test_an_unknown_class_id_is_an_error_or_left_out(tmp_path: Path) -> None:
    write_set(tmp_path, label=12)
    with pytest.raises(UserError, match="row 6 has class id 12"):
        load("fashion-mnist", directory=tmp_path)
    dataset = load("fashion-mnist", directory=tmp_path, skip_bad=True)
    assert len(dataset) == 9
    assert "row 6" in dataset.left_out[0]
