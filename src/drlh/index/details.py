"""Names and labels beside the codes: arrays of a whole collection, and a compact form for files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from drlh.core.errors import UserError
from drlh.data.labels import Labels
from drlh.index.ids import Ids, compact, find_sorted
from drlh.index.ragged import Ragged, join

_BLOCK = 1 << 16  # names packed in one go


class Detail(NamedTuple):
    """What people want to see of one hit."""

    name: str
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Details:
    """What to call each row, and its classes."""

    names: NDArray[np.str_]  # (n,)
    labels: Labels  # (n,) class ids or (n, n_classes) multi-hot
    classes: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.names) != len(self.labels):
            raise UserError(f"every row needs a name and a label: got {len(self.names)} and {len(self.labels)}")

    def __len__(self) -> int:
        return len(self.names)

    def take(self, rows: NDArray[np.int64] | slice) -> "Details":
        return Details(self.names[rows], self.labels[rows], self.classes)

    def __getitem__(self, row: int) -> Detail:
        label = self.labels[row]
        numbers = np.flatnonzero(label).tolist() if np.ndim(label) else [int(label)]
        return Detail(str(self.names[row]), tuple(self.classes[number] for number in numbers))


@dataclass(frozen=True)
class StoredDetails:
    """Names as bytes and labels as lists of class numbers; row i belongs to the i-th lowest id."""

    ids: NDArray[Any]  # ascending
    names: Ragged  # of UTF-8 bytes
    labels: Ragged  # of class numbers
    classes: tuple[str, ...]

    def describe(self, rows: NDArray[np.int64]) -> list[Detail]:
        """Names and labels of `rows`, gathered together: files are mapped, and one look into a map takes long."""
        names, labels = self.names.take(rows), self.labels.take(rows)
        letters, classes = names.values.tobytes(), [self.classes[number] for number in labels.values.tolist()]
        found, name_start, label_start = [], 0, 0
        for name_end, label_end in zip(names.ends.tolist(), labels.ends.tolist(), strict=True):
            name = letters[name_start:name_end].decode("utf-8", "surrogateescape")
            found.append(Detail(name, tuple(classes[label_start:label_end])))
            name_start, label_start = name_end, label_end
        return found

    def find(self, ids: Ids) -> NDArray[np.int64]:
        """The row of each id, -1 where it is not here."""
        return find_sorted(self.ids, ids)

    def labelled(self, rows: NDArray[np.int64], label: str) -> NDArray[np.bool_]:
        """Which of `rows` carry the class `label`, one of ours."""
        lists = self.labels.take(rows)
        matches = np.concatenate([[0], np.cumsum(lists.values == self.classes.index(label))])
        return np.asarray(np.diff(matches[lists.ends], prepend=0) > 0)

    def take(self, rows: NDArray[np.int64]) -> "StoredDetails":
        return StoredDetails(self.ids[rows], self.names.take(rows), self.labels.take(rows), self.classes)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {
            "detail_ids": self.ids,
            "names": self.names.values,
            "name_ends": self.names.ends,
            "labels": self.labels.values,
            "label_ends": self.labels.ends,
        }


def from_arrays(arrays: Mapping[str, NDArray[Any]], classes: Sequence[str]) -> StoredDetails:
    names = Ragged(arrays["names"], arrays["name_ends"])
    return StoredDetails(arrays["detail_ids"], names, Ragged(arrays["labels"], arrays["label_ends"]), tuple(classes))


def store(details: Details, ids: Ids) -> StoredDetails:
    """`details` of `ids`, sorted by id and packed."""
    order = np.argsort(ids, kind="stable")
    blocks = [_as_bytes(details.names[order[at : at + _BLOCK]]) for at in range(0, len(order), _BLOCK)]
    return StoredDetails(compact(ids[order]), join(blocks), _label_lists(details.labels[order]), details.classes)


def _as_bytes(names: NDArray[np.str_]) -> Ragged:
    letters = np.ascontiguousarray(names, np.str_).view(np.uint32).reshape(len(names), -1)
    if letters.size and letters.max() < 128:  # one byte a letter: no need to go name by name
        used = letters != 0
        return Ragged(letters[used].astype(np.uint8), np.cumsum(used.sum(axis=1)))
    # File names may hold bytes that are no text; they come back as they were.
    texts = [str(name).encode("utf-8", "surrogateescape") for name in names]
    return Ragged(np.frombuffer(b"".join(texts), np.uint8), np.cumsum([len(text) for text in texts]))


def _label_lists(labels: Labels) -> Ragged:
    if labels.ndim == 1:
        return Ragged(labels.astype(np.uint32), np.arange(1, len(labels) + 1))
    return Ragged(np.nonzero(labels)[1].astype(np.uint32), np.cumsum((labels != 0).sum(axis=1)))


def join_details(parts: Sequence[StoredDetails]) -> StoredDetails:
    """One for all, sorted by id; classes are matched by name."""
    classes = tuple(dict.fromkeys(name for part in parts for name in part.classes))
    number = {name: place for place, name in enumerate(classes)}
    labels = []
    for part in parts:
        numbers = np.array([number[name] for name in part.classes], np.uint32)
        labels.append(Ragged(numbers[part.labels.values], part.labels.ends))
    ids = np.concatenate([part.ids for part in parts])
    joined = StoredDetails(ids, join([part.names for part in parts]), join(labels), classes)
    return joined if (np.diff(ids.astype(np.int64)) > 0).all() else joined.take(np.argsort(ids, kind="stable"))
