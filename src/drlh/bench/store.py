"""Records on disk: a table of JSON lines and a file of arrays for each group, safe against kills and several writers.

    DIRECTORY/cifar10_lite0-cifar10-I/     a data set under a protocol
        records.jsonl                      a header, then one record a line, in the order of methods
        arrays.npz                         float32 members KEY/average_precision, KEY/precision_by_radius …
        pending/KEY.npz                    records that were finished since the last compaction, each with its arrays

A finished cell is written whole to `pending`; compaction moves it into the table and the file of arrays. Both happen
under a lock on the group's directory, and a pending file is removed only when the table holds its record: a process
that is killed anywhere loses nothing. Reading needs no lock and sees both places.
"""

import fcntl
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.bench.cells import record_key
from drlh.core.errors import UserError
from drlh.core.files import check_format, digest, read_npz, remove_half_written, write_npz, write_text

FORMAT, VERSION = "drlh-records", 2
SCORES = "scores"  # the kind of a record that holds scores; others are snapshots

Record = dict[str, Any]
Arrays = dict[str, NDArray[Any]]


class RecordStore:
    """The records of one group, a data set under a protocol, in a directory of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._table, self._arrays = directory / "records.jsonl", directory / "arrays.npz"
        self._pending = directory / "pending"

    def find(self, wanted: Mapping[str, Any]) -> Record | None:
        """The record of a cell, which is described like a record, or None."""
        key = record_key(wanted)
        found = _if_there(self._pending / f"{key}.npz")
        if found is not None:
            return found
        known = self._known()
        return known.get(key) or _without_digest(known, wanted)

    def add(self, record: Record, arrays: Mapping[str, NDArray[Any]]) -> Record:
        """Writes a finished record, now with its key; a second one of the same cell is refused."""
        record = record | {"key": record_key(record)}
        with self._locked():
            if self.find(record) is not None:
                raise UserError(
                    f"{self.directory} holds a record of {_described(record)} already, which another process may have "
                    "written in the meantime: it is kept, and the new one is not written"
                )
            member = np.frombuffer(json.dumps(record, ensure_ascii=False).encode(), np.uint8)
            write_npz(self._pending / f"{record['key']}.npz", {"record": member} | dict(arrays))
        return record

    def compact(self) -> None:
        """Moves pending records into the table, their arrays into the file of arrays."""
        if not self._pending.is_dir():
            return
        with self._locked():
            paths = self._pending_paths()
            pending = [_read_pending(path) for path in paths]
            if pending:
                arrays = dict(read_npz(self._arrays, map_members=False)) if self._arrays.exists() else {}
                for record, own in pending:
                    arrays |= {f"{record['key']}/{name}": values for name, values in own.items()}
                known = self._known() | {record["key"]: record for record, _ in pending}
                write_npz(self._arrays, {name: arrays[name] for name in sorted(arrays)})
                write_text(self._table, _lines(known.values()))
            for path in paths:
                path.unlink()
            for directory in (self._pending, self.directory):
                remove_half_written(directory, time.time())  # nobody else writes here now
            with suppress(FileNotFoundError):  # another process has compacted while this one waited for the lock
                self._pending.rmdir()

    def read(self) -> list[Record]:
        """All records; `place` says where each one lies."""
        # The pending ones first: what compaction moves meanwhile is then in the table.
        pending = [(path, record) for path in self._pending_paths() if (record := _if_there(path)) is not None]
        known = self._known()
        found = {key: record | {"place": self._table} for key, record in known.items()}
        for path, record in pending:
            if known.get(record["key"], record) != record:
                refuse_pair(found[record["key"]], record | {"place": path})
            found.setdefault(record["key"], record | {"place": path})
        return sorted(found.values(), key=_order)

    def _pending_paths(self) -> list[Path]:
        try:
            names = os.listdir(self._pending)
        except FileNotFoundError:  # nothing is pending; compaction may remove the directory at any time
            return []
        return [self._pending / name for name in sorted(names) if name.endswith(".npz")]

    def _known(self) -> dict[str, Record]:
        """The records of the table by key."""
        try:
            stat = self._table.stat()
        except FileNotFoundError:
            return {}
        return _read_table(self._table, stat.st_mtime_ns, stat.st_size)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One writer at a time; the lock of a process that is killed is released by the system."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.directory, os.O_RDONLY)
        except OSError as error:
            raise UserError(f"records cannot be written to {self.directory}: {error.strerror}") from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


def _without_digest(known: Mapping[str, Record], wanted: Mapping[str, Any]) -> Record | None:
    """A record of drlh 0.1.0 whose data was not available for a digest: its old file name holds one of both."""
    found = known.get(record_key({**wanted, "data_digest": None}))
    if found is None or digest(wanted["data_digest"] or "", found["legacy"]["settings"])[:10] != found["legacy"]["tag"]:
        return None
    return found


def _read_pending(path: Path) -> tuple[Record, Arrays]:
    try:
        arrays = read_npz(path, map_members=False)
    except UserError as error:
        if path.exists():
            raise
        raise FileNotFoundError(path) from error
    return json.loads(arrays.pop("record").tobytes()), arrays


def _if_there(path: Path) -> Record | None:
    """A pending record, or None where compaction has just moved it."""
    try:
        return _read_pending(path)[0]
    except FileNotFoundError:
        return None


@lru_cache(maxsize=64)
def _read_table(path: Path, modified: int, size: int) -> dict[str, Record]:
    """The table as it is at this time and size; it is replaced as a whole, never changed."""
    header, *lines = path.read_text(encoding="utf-8").splitlines() or [""]
    try:
        about = json.loads(header)
    except ValueError:
        about = None
    check_format(about if isinstance(about, dict) else {}, path, format_name=FORMAT, version=VERSION)
    known: dict[str, Record] = {}
    for number, line in enumerate(lines, 2):
        try:
            record = json.loads(line)
            key = record["key"]
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(
                f"{path}, line {number}, is damaged ({error!r}): remove the line and run the bench again"
            ) from error
        if key in known:
            refuse_pair(known[key] | {"place": path}, record | {"place": f"{path}, line {number}"})
        known[key] = record
    return known


def _lines(records: Iterable[Record]) -> str:
    header = {"format": FORMAT, "version": VERSION}
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in (header, *sorted(records, key=_order)))


def _order(record: Record) -> tuple[Any, ...]:
    changed = record["parameters"]
    cell = record["method"], record["bits"], record["seed"], len(changed), json.dumps(changed, sort_keys=True)
    return record["kind"], record["n_train"], *cell, record["key"]


def _described(record: Record) -> str:
    changed = "".join(f", {name}={value}" for name, value in record["parameters"].items())
    return f"{record['method']}, {record['bits']} bits, seed {record['seed']}{changed}"


def refuse_pair(one: Record, two: Record) -> None:
    """Two records of one cell are an error: no table could say which one holds."""
    same_data = one["data_digest"] == two["data_digest"]
    what_to_do = "remove one of them" if same_data else "their data differ: give one data set another name"
    raise UserError(
        f"there are two records of one cell, {_described(one)} on {one['data']} under {one['protocol']}: "
        f"{one['place']} and {two['place']}; {what_to_do}"
    )


def arrays_of(record: Record) -> Arrays:
    """What belongs to a record: the average precision of each query, and curves; or a snapshot's arrays."""
    group = Path(record["place"]).parent
    if group.name == "pending":
        try:
            return _read_pending(Path(record["place"]))[1]
        except FileNotFoundError:  # compaction has moved it
            group = group.parent
    path = group / "arrays.npz"
    if not path.exists():
        return {}
    stat = path.stat()
    return _read_arrays(path, stat.st_mtime_ns, stat.st_size).get(record["key"], {})


@lru_cache(maxsize=64)
def _read_arrays(path: Path, modified: int, size: int) -> dict[str, Arrays]:
    """Key → arrays, of the file as it is at this time and size."""
    found: dict[str, Arrays] = {}
    for name, values in read_npz(path, map_members=False).items():
        key, _, own = name.partition("/")
        found.setdefault(key, {})[own] = np.asarray(values)
    return found
