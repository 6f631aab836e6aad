"""Groups of records whose numbers can be compared."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from drlh.bench.records import Record


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
