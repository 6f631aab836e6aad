"""An index on disk: arrays in files that never change, and one small file that says which of them count.

`index.json` is replaced last and at once, so a reader sees the index before or after a change, whenever the writer is
stopped. A file that no longer counts is deleted; whoever has mapped it keeps it. Numbers of files are not used again.
"""

import fcntl
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.core.errors import UserError
from drlh.core.files import atomic_path, digest, file_digest, read_json, write_json

FORMAT, VERSION = "drlh-index", 2
POINTER, LOCK = "index.json", "lock"
_ARRAY_FILE = re.compile(r"(\d{8})-[a-z_]+\.npy")
_SMALLEST_MAPPED = 1 << 20

Arrays = dict[str, NDArray[Any]]


def is_index(directory: Path) -> bool:
    return (directory / POINTER).is_file()


def read_pointer(directory: Path) -> dict[str, Any]:
    if not directory.is_dir():
        raise UserError(f"{directory} is not a directory: wanted an index made by `drlh index`")
    pointer = read_json(directory / POINTER, format_name=FORMAT, version=VERSION)
    if pointer["version"] < VERSION:
        raise UserError(f"{directory} was made by an older drlh: make it anew with `drlh index` from its codes")
    if pointer.pop("sha256", None) != _digest_of(pointer):
        raise UserError(f"the index {directory} is damaged: {POINTER} was altered; make it anew with `drlh index`")
    return pointer


def write_pointer(directory: Path, pointer: Mapping[str, Any]) -> None:
    content = {"format": FORMAT, "version": VERSION} | dict(pointer)
    with _told(directory / POINTER):
        write_json(directory / POINTER, content | {"sha256": _digest_of(content)})
        _sync(directory)


def _digest_of(pointer: Mapping[str, Any]) -> str:
    return digest(json.dumps(pointer, sort_keys=True))


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}; the index is as it was") from error


def write_arrays(directory: Path, number: int, arrays: Mapping[str, NDArray[Any]]) -> dict[str, dict[str, Any]]:
    """Writes each array to a file of its own; returns file names, sizes and digests."""
    written = {}
    for name, array in arrays.items():
        path = directory / f"{number:08}-{name}.npy"
        with _told(path), atomic_path(path) as temporary, open(temporary, "wb") as file:
            np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)
        written[name] = {"file": path.name, "bytes": path.stat().st_size, "sha256": file_digest(path)}
    return written


def map_arrays(directory: Path, files: Mapping[str, Mapping[str, Any]], *, verify: bool) -> Arrays:
    """The arrays of `files`, big ones mapped; a missing one is a FileNotFoundError: the writer may have moved on."""
    return {name: _map_array(directory, record, verify) for name, record in files.items()}


def _map_array(directory: Path, record: Mapping[str, Any], verify: bool) -> NDArray[Any]:
    path = directory / str(record["file"])
    size = path.stat().st_size
    if size != record["bytes"] or (verify and file_digest(path) != record["sha256"]):
        raise UserError(f"the index {directory} is damaged: {path.name} was altered; make it anew with `drlh index`")
    array: NDArray[Any] = np.load(path, mmap_mode="r" if size >= _SMALLEST_MAPPED else None, allow_pickle=False)
    return array


def last_number(directory: Path) -> int:
    """The highest number in use, of a file that is there or of the pointer."""
    matches = (_ARRAY_FILE.fullmatch(path.name) for path in directory.iterdir())
    highest = max((int(match[1]) for match in matches if match), default=0)
    try:
        return max(highest, int(read_pointer(directory)["number"]))
    except UserError:  # there is none yet, or a damaged one that is about to be replaced
        return highest


def clean(directory: Path, counting: set[str]) -> None:
    """Deletes our files that do not count, such as those of a writer that was stopped."""
    for path in directory.iterdir():
        ours = _ARRAY_FILE.fullmatch(path.name) or path.name.endswith(".part")
        if ours and path.name not in counting:
            path.unlink(missing_ok=True)


def prepare(directory: Path) -> None:
    """Makes the directory; one that holds anything but an index, whole or broken off, is not ours to write into."""
    if directory.exists() and not directory.is_dir():
        raise UserError(f"{directory} is a file; an index is a directory, choose another name")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        names = sorted(path.name for path in directory.iterdir())
    except OSError as error:
        raise UserError(f"cannot write {directory}: {error.strerror}; choose a place you may write to") from error
    foreign = [name for name in names if not _is_ours(name)]
    if foreign:
        raise UserError(f"{directory} holds {foreign[0]!r}, which is no part of an index; choose another name")


def _is_ours(name: str) -> bool:
    return name in (POINTER, LOCK) or bool(_ARRAY_FILE.fullmatch(name)) or name.endswith(".part")


@contextmanager
def writing(directory: Path) -> Iterator[None]:
    """Holds the lock of the one writer; the system lets go of it when the process ends, however that comes."""
    try:
        file = open(directory / LOCK, "w")  # noqa: SIM115 - closed below
    except OSError as error:
        raise UserError(f"cannot write {directory}: {error.strerror}; choose a place you may write to") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise UserError(f"another process is writing {directory}: try again when it is done") from error
        yield


def _sync(directory: Path) -> None:
    """A rename is on disk only when its directory is."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
