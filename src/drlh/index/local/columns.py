"""Columns of a segment beside its codes, in flat arrays: sorted ids, lists of different lengths, names and labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.data.labels import Labels
from drlh.index.base import Ids
from drlh.index.details import Detail, Details

_STEP = 1 << 16  # lists or names copied in one go


def narrow_ids(ids: Ids) -> NDArray[Any]:
    """Four bytes an id instead of eight, where they fit."""
    return ids.astype(np.uint32) if int(ids.max(initial=0)) < 2**32 else ids


def find_sorted(ordered: NDArray[Any], ids: Ids) -> NDArray[np.int64]:
    """The position of each of `ids` in `ordered`, -1 where it is not there; shapes follow `ids`."""
    if not len(ordered):
        return np.full(ids.shape, -1)
    # In its own type: numpy would otherwise convert all of `ordered`, which may be a mapped file.
    wanted = np.minimum(ids, np.iinfo(ordered.dtype).max).astype(ordered.dtype)
    places = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
    return np.where(ordered[places] == ids, places, -1)


@dataclass(frozen=True)
class Ragged:
    """Lists of different lengths in two arrays: all values one after another, and where each list ends."""

    values: NDArray[Any]  # (total,)
    ends: NDArray[np.int64]  # (n,)

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, row: int) -> NDArray[Any]:
        return self.values[self.ends[row - 1] if row else 0 : self.ends[row]]

    def take(self, rows: NDArray[np.int64]) -> "Ragged":
        """The lists of `rows`, in that order; in steps, for a position takes eight bytes and a value perhaps one."""
        starts = np.where(rows > 0, self.ends[rows - 1], 0)
        lengths = self.ends[rows] - starts
        ends = np.cumsum(lengths)
        values = np.empty(int(ends[-1]) if len(ends) else 0, self.values.dtype)
        for at in range(0, len(rows), _STEP):
            step = slice(at, at + _STEP)
            places = spread(starts[step], lengths[step])
            first = int(ends[at] - lengths[at])
            values[first : first + len(places)] = self.values[places]
        return Ragged(values, ends)


def spread(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """The positions start, start + 1, … of every list, one after another: (sum of lengths,)."""
    skipped = np.cumsum(lengths) - lengths
    places: NDArray[np.int64] = np.arange(int(lengths.sum())) + np.repeat(starts - skipped, lengths)
    return places


def join(parts: list[Ragged]) -> Ragged:
    """The lists of several, one after another."""
    shifts = np.cumsum([0] + [len(part.values) for part in parts[:-1]])
    ends = [part.ends + shift for part, shift in zip(parts, shifts, strict=True)]
    return Ragged(np.concatenate([part.values for part in parts]), np.concatenate(ends).astype(np.int64))


@dataclass(frozen=True)
class StoredDetails:
    """Names as bytes and labels as lists of class numbers; row i belongs to the i-th lowest id."""

    ids: NDArray[Any]  # ascending
    names: Ragged  # of UTF-8 bytes
    labels: Ragged  # of class numbers
    classes: tuple[str, ...]

    def describe(self, rows: NDArray[np.int64]) -> list[Detail]:
        """Names and labels of `rows`, gathered in one go: each access to a mapped file is slow."""
        names, labels = self.names.take(rows), self.labels.take(rows)
        letters, classes = names.values.tobytes(), [self.classes[number] for number in labels.values.tolist()]
        found, name_start, label_start = [], 0, 0
        for name_end, label_end in zip(names.ends.tolist(), labels.ends.tolist(), strict=True):
            name = letters[name_start:name_end].decode("utf-8", "surrogateescape")
            found.append(Detail(name, tuple(classes[label_start:label_end])))
            name_start, label_start = name_end, label_end
        return found

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

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], classes: Sequence[str]) -> "StoredDetails":
        names, labels = Ragged(arrays["names"], arrays["name_ends"]), Ragged(arrays["labels"], arrays["label_ends"])
        return cls(arrays["detail_ids"], names, labels, tuple(classes))


def store_details(details: Details, ids: Ids) -> StoredDetails:
    """`details` of `ids`, sorted by id, in compact form."""
    order = np.argsort(ids, kind="stable")
    blocks = [_as_bytes(details.names[order[at : at + _STEP]]) for at in range(0, len(order), _STEP)]
    return StoredDetails(narrow_ids(ids[order]), join(blocks), _label_lists(details.labels[order]), details.classes)


def _as_bytes(names: NDArray[np.str_]) -> Ragged:
    letters = np.ascontiguousarray(names, np.str_).view(np.uint32).reshape(len(names), -1)
    if letters.size and letters.max() < 128:  # one byte a letter: no need to go name by name
        used = letters != 0
        return Ragged(letters[used].astype(np.uint8), np.cumsum(used.sum(axis=1)))
    # File names may hold bytes that are not text; they come back unchanged.
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
