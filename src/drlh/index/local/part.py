"""A segment with the names of its rows and the ids removed from it since it was made."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import Packed
from drlh.index.base import Found
from drlh.index.details import Detail, Details, StoredDetails, join_details, store
from drlh.index.ids import Ids, find_sorted
from drlh.index.local.approximate import SMALLEST, Approximate, build_approximate
from drlh.index.local.scan import nearest_rows
from drlh.index.local.segment import Segment, make_segment

_MOST_REMOVED = 0.25  # of its rows; past that a part is made anew


@dataclass(frozen=True)
class Part:
    segment: Segment
    details: StoredDetails | None = None
    removed: Ids = field(default_factory=lambda: np.empty(0, np.int64))  # ascending
    approximate: Approximate | None = None

    def __len__(self) -> int:
        return len(self.segment) - len(self.removed)

    def nearest(self, queries: Packed, k: int, exact: bool = True) -> Found:
        scan = nearest_rows if exact or self.approximate is None else self.approximate.nearest_rows
        if not len(self.removed):
            return self.segment.nearest(queries, k, scan)
        k, n = min(k, len(self)), len(self.segment)
        asked = min(n, k + k // 4 + 16)
        while True:  # the answer without the removed is what is left of a longer answer
            distances, ids = self.segment.nearest(queries, asked, scan)
            live = find_sorted(self.removed, ids) < 0
            if asked == n or (live.sum(axis=1) >= k).all():
                break
            asked = min(n, 4 * asked)
        order = np.argsort(~live, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(distances, order, axis=1), np.take_along_axis(ids, order, axis=1)

    def within(self, queries: Packed, radius: int) -> list[Found]:
        found = self.segment.within(queries, radius)
        if not len(self.removed):
            return found
        live = [find_sorted(self.removed, ids) < 0 for _, ids in found]
        return [(distances[kept], ids[kept]) for (distances, ids), kept in zip(found, live, strict=True)]

    def holds(self, ids: Ids) -> NDArray[np.bool_]:
        if self.details is not None and len(self.details.ids) == len(self.segment):
            here = self.details.find(ids) >= 0  # names lie in the order of ids, where a look-up is quick
        else:
            here = self.segment.holds(ids)
        return here & (find_sorted(self.removed, ids) < 0)

    def without(self, ids: Ids) -> "Part":
        """This part with some of `ids` removed; the very same where it holds none of them."""
        gone = ids[self.holds(ids)]
        return replace(self, removed=np.union1d(self.removed, gone)) if len(gone) else self

    def prepared(self, method: str | None) -> "Part":
        """This part with its approximate search, where one is wanted and worth it."""
        if method is None or self.approximate is not None or len(self.segment.codes) < SMALLEST:
            return self
        return replace(self, approximate=build_approximate(self.segment.codes, method))

    def describe(self, ids: Ids) -> list[Detail | None]:
        here = self.holds(ids)
        rows = np.full(len(ids), -1) if self.details is None else self.details.find(ids)
        named = here & (rows >= 0)
        details = iter(self.details.describe(rows[named]) if self.details is not None else ())
        return [
            None if not is_here else next(details) if has_name else Detail(str(number), ())
            for number, is_here, has_name in zip(ids.tolist(), here.tolist(), named.tolist(), strict=True)
        ]

    def live_ids(self) -> Ids:
        ids = self.segment.ids.astype(np.int64)
        return ids[find_sorted(self.removed, ids) < 0] if len(self.removed) else ids

    def codes_of(self, ids: Ids) -> tuple[Packed, NDArray[np.bool_]]:
        codes, here = self.segment.codes_of(ids)
        here &= find_sorted(self.removed, ids) < 0
        return codes, here

    def labelled(self, ids: Ids, label: str) -> NDArray[np.bool_]:
        if self.details is None or label not in self.details.classes:
            return np.zeros(len(ids), np.bool_)
        rows = self.details.find(ids)
        here = (rows >= 0) & (find_sorted(self.removed, ids) < 0)
        here[here] = self.details.labelled(rows[here], label)
        return here

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything that goes into files."""
        arrays: dict[str, NDArray[Any]] = {"codes": self.segment.codes, "ids": self.segment.ids}
        if self.segment.ends is not None:
            arrays["ends"] = self.segment.ends
        if len(self.removed):
            arrays["removed"] = self.removed
        if self.approximate is not None:
            arrays["approximate"] = self.approximate.stored
        return arrays | ({} if self.details is None else self.details.arrays())


def make_part(codes: Packed, ids: Ids, details: Details | None) -> Part:
    return Part(make_segment(codes, ids), None if details is None else store(details, ids))


def settle(parts: Sequence[Part]) -> list[Part]:
    """The same rows in few parts.

    A part swallows the next one when that is at least half as large, so n rows lie in at most log2(n) parts, and a row
    is written again at most that often however it is added.
    """
    kept = thin(parts)
    while len(kept) > 1 and len(kept[-2]) < 2 * len(kept[-1]):
        kept[-2:] = [_merge(kept[-2:])]
    return kept


def thin(parts: Sequence[Part]) -> list[Part]:
    """The same rows; parts from which much was removed are made anew, so that removing costs little most times."""
    return [_merge([part]) if len(part.removed) > _MOST_REMOVED * len(part.segment) else part for part in parts if part]


def _merge(parts: Sequence[Part]) -> Part:
    rows = [part.segment.rows() for part in parts]
    live = [find_sorted(part.removed, ids) < 0 for part, (_, ids) in zip(parts, rows, strict=True)]
    codes = np.concatenate([codes[kept] for (codes, _), kept in zip(rows, live, strict=True)])
    ids = np.concatenate([ids[kept] for (_, ids), kept in zip(rows, live, strict=True)])
    stored = [_live_details(part.details, part.removed) for part in parts if part.details is not None]
    return Part(make_segment(codes, ids), join_details(stored) if stored else None)


def _live_details(details: StoredDetails, removed: Ids) -> StoredDetails:
    if not len(removed):
        return details
    return details.take(np.flatnonzero(find_sorted(removed, details.ids.astype(np.int64)) < 0))
