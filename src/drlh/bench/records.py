"""All records below a directory, and the groups of them whose numbers can be compared."""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from drlh.bench.cells import record_key
from drlh.bench.store import SCORES, Record, RecordStore, refuse_pair
from drlh.core.errors import UserError


def read_records(directory: Path) -> list[Record]:
    """All records with scores below a directory, each method's of its newest version; `place` says where they lie."""
    return _newest([record for record in _read_all(directory) if record["kind"] == SCORES])


def read_snapshots(directory: Path) -> list[Record]:
    """All snapshots below a directory: t-SNE positions and walks."""
    return _newest([record for record in _read_all(directory) if record["kind"] != SCORES])


def _read_all(directory: Path) -> list[Record]:
    if not directory.is_dir():
        raise UserError(f"{directory} is not a directory: wanted one that drlh bench has filled with records")
    records = [record for group in _group_directories(directory) for record in RecordStore(group).read()]
    known: dict[str, Record] = {}
    for record in records:
        # As tables tell cells apart: by the data's name, not by its digest.
        shown = repr((record["data"], record["features"], record["n_features"]))
        cell = f"{record_key(record | {'data_digest': None})} {shown}"
        if cell in known:
            refuse_pair(known[cell], record)
        known[cell] = record
    return records


def _group_directories(directory: Path) -> list[Path]:
    """In the order of their names. Unlike `rglob`, `os.walk` does not mind a directory that is removed meanwhile."""
    found = []
    for place, directories, files in os.walk(directory):
        if "records.jsonl" in files or "pending" in directories:
            found.append(Path(place))
        for name in files:
            if name.endswith(".json"):
                _refuse_old_layout(Path(place) / name)
    return sorted(found)


def _refuse_old_layout(path: Path) -> None:
    if b'"drlh-record"' in path.read_bytes()[:40]:
        raise UserError(
            f"{path} is a record in the layout of drlh 0.1.0, a file for each cell, which is no longer read: move the "
            "old files away and run the bench again, or read them with drlh 0.1.0"
        )


def _newest(records: list[Record]) -> list[Record]:
    """Without records of a version of a method that a newer one replaces on the same data."""

    def line(record: Record) -> str:
        return repr((record["data"], record["n_features"], record["protocol"], record["method"], record["parameters"]))

    newest: dict[str, int] = {}
    for record in records:
        newest[line(record)] = max(newest.get(line(record), 0), record["method_version"])
    return [record for record in records if record["method_version"] == newest[line(record)]]


@dataclass(frozen=True)
class Group:
    """What makes numbers comparable: the same data and features under the same protocol with the same sizes."""

    data: str
    features: str | None  # their name, where it is known
    n_features: int
    protocol: str
    n_query: int
    n_train: int
    n_database: int

    @property
    def title(self) -> str:
        sizes = f"{self.n_query:,} queries, {self.n_train:,} training images, {self.n_database:,} searched"
        return f"{self.source}, {self.protocol}: {sizes}"

    @property
    def source(self) -> str:
        """The data, with the features where their name is known."""
        return f"{self.data} ({self.features})" if self.features else self.data

    @property
    def file_name(self) -> str:
        """For a file of its own, with letters that every system takes."""
        parts = f"{self.data}-{self.features or self.n_features}-{self.protocol}-{self.n_train}"
        return re.sub(r"[^\w.-]+", "_", parts)


def group_of(record: Record) -> Group:
    sizes = (record["n_query"], record["n_train"], record["n_database"])
    return Group(record["data"], record["features"], record["n_features"], record["protocol"], *sizes)


def by_group(records: Iterable[Record]) -> dict[Group, list[Record]]:
    groups: dict[Group, list[Record]] = {}
    for record in records:
        groups.setdefault(group_of(record), []).append(record)
    return groups
