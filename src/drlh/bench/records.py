"""Records on disk, read back: for tables, figures, and guesses of how long a cell takes."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.bench.bench import FORMAT, VERSION
from drlh.core.errors import UserError
from drlh.core.files import check_format, read_npz

Record = dict[str, Any]


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


def read_files(directory: Path, format_name: str, version: int) -> list[tuple[Path, Record]]:
    """Every JSON file of a format below `directory`, in the order of their names; other formats are passed over."""
    if not directory.is_dir():
        raise UserError(f"{directory} is not a directory: wanted one that drlh bench --records has filled")
    found = []
    for path in sorted(directory.rglob("*.json")):
        try:
            value = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise UserError(f"{path} is damaged: {error}; remove it and run the bench again") from error
        if isinstance(value, dict) and value.get("format") == format_name:
            check_format(value, path, format_name=format_name, version=version)
            found.append((path, value))
    return found


def read_records(directory: Path) -> list[Record]:
    """All records below a directory; `path` says where each one lies."""
    return [value | {"path": path} for path, value in read_files(directory, FORMAT, VERSION)]


def arrays_of(record: Record) -> dict[str, NDArray[Any]]:
    """What lies beside a record: the average precision of each query, and curves."""
    path = Path(record["path"]).with_suffix(".npz")
    return (
        {name: np.asarray(values) for name, values in read_npz(path, map_members=False).items()}
        if path.exists()
        else {}
    )


def by_group(records: Iterable[Record]) -> dict[Group, list[Record]]:
    groups: dict[Group, list[Record]] = {}
    for record in records:
        groups.setdefault(group_of(record), []).append(record)
    return groups
