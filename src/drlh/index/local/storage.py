"""Segments on disk: arrays in files that never change, and a manifest that lists the files in use.

The manifest `index.json` is replaced last and atomically, so a reader sees the index before or after a change, whenever
the writer is stopped. A file no longer in use is deleted; a reader that has mapped it keeps it. File numbers are not
used again.
"""

import fcntl
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.core.errors import UserError
from drlh.core.files import atomic_path, digest, file_digest, read_json, write_json
from drlh.index.local.approximate import Approximate
from drlh.index.local.columns import StoredDetails
from drlh.index.local.segment import Segment

FORMAT, VERSION = "drlh-index", 3
_OLDEST = 2  # that opens; it knew no buckets
MANIFEST, LOCK = "index.json", "lock"
# Names in the format that differ from those in the code, kept so that older indexes open.
_SEGMENTS, _TOMBSTONES = "parts", "removed"
_ARRAY_FILE = re.compile(r"(\d{8})-[a-z_]+\.npy")
_SMALLEST_MAPPED = 1 << 20
_ATTEMPTS = 5  # a writer may replace files between the reading of the manifest and their opening

Record = dict[str, Any]  # of a segment in the manifest: its classes and its files


@dataclass
class Storage:
    """The segments of one directory, each with its record in the manifest."""

    directory: Path
    verify: bool = True
    n_bits: int = 0
    notes: dict[str, Any] = field(default_factory=dict)
    approximate: str | None = None
    number: int = -1  # of the newest file; it grows with every change
    segments: list[Segment] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)

    def refresh(self) -> bool:
        """Opens what the manifest lists now; False where nothing has changed."""
        for attempt in range(_ATTEMPTS):
            manifest = read_manifest(self.directory)
            if manifest["number"] == self.number:
                return False
            try:
                self._adopt(manifest, verify=self.verify)
                return True
            except FileNotFoundError as error:
                if attempt == _ATTEMPTS - 1:
                    missing = Path(str(error.filename)).name
                    raise UserError(f"the index {self.directory} is damaged: {missing} is missing") from error
        raise AssertionError("unreachable")

    def _adopt(self, manifest: dict[str, Any], verify: bool) -> None:
        records = manifest[_SEGMENTS]
        known = {str(record): segment for record, segment in zip(self.records, self.segments, strict=True)}
        self.segments = [known.get(str(record)) or self._open_segment(record, verify) for record in records]
        self.records, self.number = records, manifest["number"]
        self.n_bits, self.notes = int(manifest["n_bits"]), dict(manifest["notes"])
        self.approximate = manifest["approximate"]

    def _open_segment(self, record: Record, verify: bool) -> Segment:
        arrays = {name: map_array(self.directory, entry, verify) for name, entry in record["files"].items()}
        return Segment(
            arrays["codes"],
            arrays["ids"],
            arrays.get("ends"),
            StoredDetails.from_arrays(arrays, record["classes"]) if "names" in arrays else None,
            arrays.get(_TOMBSTONES, np.empty(0, np.int64)),
            Approximate(arrays["approximate"]) if "approximate" in arrays else None,
            arrays.get("starts"),
        )

    def write(self, segments: Sequence[Segment]) -> None:
        """Writes what is new in `segments`, replaces the manifest, and deletes files no longer in use."""
        try:
            manifest = self._write_all(segments)
        except BaseException:
            self.number = -1  # the state on disk is read again before the next change
            raise
        gc(self.directory, {entry["file"] for record in manifest[_SEGMENTS] for entry in record["files"].values()})
        self._adopt(manifest, verify=False)

    def _write_all(self, segments: Sequence[Segment]) -> dict[str, Any]:
        self.number = max(self.number, _last_number(self.directory))
        records = [self._write_segment(segment) for segment in segments]
        self.number += 1
        about = {"n_bits": self.n_bits, "notes": self.notes, "approximate": self.approximate}
        manifest = about | {"number": self.number, _SEGMENTS: records}
        _write_manifest(self.directory, manifest)
        return manifest

    def _write_segment(self, segment: Segment) -> Record:
        """The record of a segment; arrays that are in files already are not written again."""
        files: dict[str, Any] = {}
        for old, record in zip(self.segments, self.records, strict=True):
            if old.codes is segment.codes:
                same = old.tombstones is segment.tombstones
                files = {name: entry for name, entry in record["files"].items() if name != _TOMBSTONES or same}
        self.number += 1
        for name, array in _arrays_of(segment).items():
            if name not in files:
                files[name] = _write_array(self.directory / f"{self.number:08}-{name}.npy", array)
        classes = [] if segment.details is None else list(segment.details.classes)
        return {"rows": len(segment), "classes": classes, "files": files}


def _arrays_of(segment: Segment) -> dict[str, NDArray[Any]]:
    """Everything that goes into files."""
    arrays: dict[str, NDArray[Any]] = {"codes": segment.codes, "ids": segment.ids}
    if segment.ends is not None:
        arrays["ends"] = segment.ends
    if segment.starts is not None:
        arrays["starts"] = segment.starts
    if len(segment.tombstones):
        arrays[_TOMBSTONES] = segment.tombstones
    if segment.approximate is not None:
        arrays["approximate"] = segment.approximate.stored
    return arrays | ({} if segment.details is None else segment.details.arrays())


def read_manifest(directory: Path) -> dict[str, Any]:
    if not directory.is_dir():
        raise UserError(f"{directory} is not a directory: wanted an index made by `drlh index`")
    manifest = read_json(directory / MANIFEST, format_name=FORMAT, version=VERSION)
    if manifest["version"] < _OLDEST:
        raise UserError(f"{directory} was made by an older drlh: rebuild it from its codes with `drlh index`")
    if manifest.pop("sha256", None) != digest(json.dumps(manifest, sort_keys=True)):
        raise UserError(f"the index {directory} is damaged: {MANIFEST} was altered; rebuild it with `drlh index`")
    return manifest


def _write_manifest(directory: Path, manifest: Mapping[str, Any]) -> None:
    content = {"format": FORMAT, "version": VERSION} | dict(manifest)
    with _errors_as_user_error(directory / MANIFEST):
        write_json(directory / MANIFEST, content | {"sha256": digest(json.dumps(content, sort_keys=True))})
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)  # a rename is on disk only when its directory is
        finally:
            os.close(handle)


@contextmanager
def _errors_as_user_error(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}; the index is unchanged") from error


def _write_array(path: Path, array: NDArray[Any]) -> dict[str, Any]:
    """Writes one array; returns the file's entry for the manifest."""
    with _errors_as_user_error(path), atomic_path(path) as temporary, open(temporary, "wb") as file:
        np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)
    return {"file": path.name, "bytes": path.stat().st_size, "sha256": file_digest(path)}


def map_array(directory: Path, entry: Mapping[str, Any], verify: bool) -> NDArray[Any]:
    """The array of a file, mapped if it is big. A missing file is a FileNotFoundError: the writer may have moved on."""
    path = directory / str(entry["file"])
    size = path.stat().st_size
    if size != entry["bytes"] or (verify and file_digest(path) != entry["sha256"]):
        raise UserError(f"the index {directory} is damaged: {path.name} was altered; rebuild it with `drlh index`")
    array: NDArray[Any] = np.load(path, mmap_mode="r" if size >= _SMALLEST_MAPPED else None, allow_pickle=False)
    return array


def _last_number(directory: Path) -> int:
    """The highest number in use, of an existing file or of the manifest."""
    matches = (_ARRAY_FILE.fullmatch(path.name) for path in directory.iterdir())
    highest = max((int(match[1]) for match in matches if match), default=0)
    try:
        return max(highest, int(read_manifest(directory)["number"]))
    except UserError:  # there is none yet, or a damaged one that is about to be replaced
        return highest


def gc(directory: Path, in_use: set[str]) -> None:
    """Garbage collection: deletes our files that are not in use, such as those of a writer that was stopped."""
    for path in directory.iterdir():
        ours = _ARRAY_FILE.fullmatch(path.name) or path.name.endswith(".part")
        if ours and path.name not in in_use:
            path.unlink(missing_ok=True)


def prepare(directory: Path) -> None:
    """Makes the directory; one that holds anything but an index, complete or not, is not ours to write into."""
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
    return name in (MANIFEST, LOCK) or bool(_ARRAY_FILE.fullmatch(name)) or name.endswith(".part")


@contextmanager
def write_lock(directory: Path) -> Iterator[None]:
    """The lock of the one writer; the system releases it when the process ends, however that comes."""
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
