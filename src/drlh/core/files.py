"""Files on disk: written whole or not at all, arrays without pickle, digests.

Every file of ours carries a format name and a version; one that is damaged, foreign or too new is refused
with one sentence.
"""

import hashlib
import json
import os
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.core.errors import UserError

Array = NDArray[Any]

_TEXTS = 4096  # written in one go
_HALF = ".part"  # the end of the name of a file that is being written


def is_writer() -> bool:
    """Whether this process writes files: of those that torchrun starts, the first alone."""
    return os.environ.get("WORLD_SIZE", "1") == "1" or os.environ.get("RANK", "0") == "0"


def cache_directory() -> Path:
    """Where fetched data, converted weights and cached features live; `DRLH_CACHE` moves it."""
    given = os.environ.get("DRLH_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(given) if given else Path(base) / "drlh"


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yields a temporary path beside `path`; a clean exit renames it to `path`, an exception removes it."""
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=_HALF, dir=path.parent)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}; choose a place you may write to") from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with open(temporary, "rb+") as written:
            os.fsync(written.fileno())
        temporary.chmod(0o666 & ~_umask())
        os.replace(temporary, path)
    except IsADirectoryError as error:
        raise UserError(f"cannot write the file {path}: a directory of that name is in the way") from error
    finally:
        temporary.unlink(missing_ok=True)


def remove_half_written(directory: Path, before: float) -> None:
    """Removes what `atomic_path` was writing here when its process was killed, before this time."""
    for path in directory.glob(f".*{_HALF}"):
        if path.stat().st_mtime < before:
            path.unlink()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_text(path: str | Path, text: str) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: str | Path, value: object) -> None:
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def read_json(path: str | Path, *, format_name: str, version: int) -> dict[str, Any]:
    """The object in `path`, which must say `"format": format_name` and a version of at most `version`."""
    try:
        value = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UserError(f"{path} does not exist: wanted a {format_name} file") from error
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read as a {format_name} file: {error}") from error
    check_format(value if isinstance(value, dict) else {}, path, format_name=format_name, version=version)
    return dict(value)


def check_format(value: Mapping[str, Any], path: str | Path, *, format_name: str, version: int) -> None:
    if value.get("format") != format_name:
        raise UserError(f"{path} is not a {format_name} file: its format is {value.get('format')!r}")
    if not isinstance(value.get("version"), int) or value["version"] > version:
        raise UserError(
            f"{path} is version {value.get('version')!r} of {format_name}, newer than the {version} this drlh "
            "reads; update drlh"
        )


class NpzWriter:
    """Writes an NPZ member by member, each from blocks of rows: memory stays bounded whatever the length.

    Members are stored uncompressed, so that `read_npz` can map them instead of reading them.
    """

    def __init__(self, path: Path) -> None:
        self._zip = zipfile.ZipFile(path, "w", zipfile.ZIP_STORED)

    def __enter__(self) -> "NpzWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def write(self, name: str, array: Array) -> None:
        self.write_rows(name, array.shape, array.dtype, iter([array]))

    def write_rows(self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any], blocks: Iterator[Array]) -> None:
        header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
        # A fixed date makes equal contents equal bytes.
        info = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
        with self._zip.open(info, "w", force_zip64=True) as member:
            np.lib.format.write_array_header_1_0(member, header)
            for block in blocks:
                if block.size:
                    member.write(np.ascontiguousarray(block, dtype).reshape(-1).view(np.uint8).data)

    def write_texts(self, name: str, text_of: Callable[[int], str], n: int) -> None:
        """The texts of rows 0 to n - 1; they are asked for twice, for the longest decides how wide all are stored."""
        kind = np.dtype(f"<U{max((len(text_of(row)) for row in range(n)), default=1) or 1}")
        starts = range(0, n, _TEXTS)
        blocks = (np.array([text_of(row) for row in range(at, min(at + _TEXTS, n))], kind) for at in starts)
        self.write_rows(name, (n,), kind, blocks)


def write_npz(path: str | Path, arrays: Mapping[str, Array]) -> None:
    with atomic_path(path) as temporary, NpzWriter(temporary) as writer:
        for name, array in arrays.items():
            if array.dtype.hasobject:
                raise TypeError(f"{name} holds Python objects; only plain arrays are stored")
            writer.write(name, array)


def read_npz(path: str | Path, *, map_members: bool = True) -> dict[str, Array]:
    """All arrays of an NPZ without unpickling anything; big uncompressed members are memory-mapped."""
    path = Path(path)
    arrays: dict[str, Array] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                name = info.filename.removesuffix(".npy")
                mapped = _map_member(path, archive, info) if map_members else None
                if mapped is None:
                    with archive.open(info) as member:
                        mapped = np.lib.format.read_array(member, allow_pickle=False)
                arrays[name] = mapped
    except FileNotFoundError as error:
        raise UserError(f"{path} does not exist: wanted an NPZ file") from error
    except IsADirectoryError as error:
        raise UserError(f"{path} is a directory: wanted an NPZ file") from error
    except PermissionError as error:
        raise UserError(f"{path} may not be read: {error.strerror}") from error
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zipfile.LargeZipFile) as error:
        raise UserError(f"{path} cannot be read as an NPZ file of plain arrays: {error}") from error
    return arrays


_SMALLEST_MAPPED = 1 << 20


def _map_member(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Array | None:
    """A read-only map of a stored member, or None where it is small, compressed or of an odd layout."""
    if info.compress_type != zipfile.ZIP_STORED or info.file_size < _SMALLEST_MAPPED:
        return None
    with archive.open(info) as member:
        major, _ = np.lib.format.read_magic(member)
        read_header = np.lib.format.read_array_header_1_0 if major == 1 else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read_header(member)
        header_bytes = member.tell()
    if dtype.hasobject or fortran:
        return None
    with open(path, "rb") as raw:  # the local header's own lengths say where the member's bytes begin
        raw.seek(info.header_offset + 26)
        lengths = np.frombuffer(raw.read(4), "<u2")
    start = info.header_offset + 30 + int(lengths.sum()) + header_bytes
    if start + int(np.prod(shape)) * dtype.itemsize > path.stat().st_size:
        raise ValueError(f"member {info.filename} ends past the end of the file")
    return np.memmap(path, dtype, "r", start, shape)


def digest(*parts: bytes | Array | str) -> str:
    """SHA-256 of texts, bytes and arrays (with their shapes and types), as hex."""
    total = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            total.update(f"{part.dtype.str}{part.shape}".encode())
            total.update(np.ascontiguousarray(part).reshape(-1).view(np.uint8).data)
        else:
            data = part.encode() if isinstance(part, str) else part
            total.update(len(data).to_bytes(8, "little"))
            total.update(data)
    return total.hexdigest()


def file_digest(path: str | Path, algorithm: str = "sha256") -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()
