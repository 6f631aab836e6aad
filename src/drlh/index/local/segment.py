"""A segment: codes with their ids in arrays that never change, and the tombstones of rows removed since.

Learned codes repeat: images of one class share few codes. Where they do, a segment keeps every distinct code once
with the sorted list of its ids, and a search scans thousands of codes instead of millions. Where they do not, it keeps
one row for each id; millions of short rows lie in buckets, by their first bits. All layouts answer exactly, by
(distance, id).
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import Packed
from drlh.hamming.buckets import Starts, nearest_in_buckets, rows_within_buckets, whole_codes
from drlh.hamming.engine import settings
from drlh.hamming.lists import nearest_in_lists
from drlh.hamming.scan import nearest_rows, rows_within
from drlh.index.base import Hits, Ids, sorted_hits
from drlh.index.details import Detail
from drlh.index.local.approximate import SMALLEST, Approximate, build_approximate
from drlh.index.local.columns import Ragged, StoredDetails, find_sorted, narrow_ids, spread

# (queries, codes, k) → (distances, rows) of the k nearest codes.
Scan = Callable[[Packed, Packed, int], tuple[NDArray[np.int64], NDArray[np.int64]]]

_GATHERED = 4_000_000  # ids held at once while lists are merged


@dataclass(frozen=True)
class Segment:
    """`codes` (u, width) by their first id; `ids` (n,) list after list; `ends` (u,) of the lists, or None for rows.

    With `starts` rows lie in buckets: `codes` (n, 4) are what is left of them, and `ids` are in their order.
    """

    codes: Packed
    ids: NDArray[Any]  # uint32, or int64 where an id is too large for that
    ends: NDArray[np.int64] | None
    details: StoredDetails | None = None  # of all rows, of some, or of none
    tombstones: Ids = field(default_factory=lambda: np.empty(0, np.int64))  # removed ids, ascending
    approximate: Approximate | None = None
    starts: Starts | None = None

    def __len__(self) -> int:
        """Number of live rows."""
        return len(self.ids) - len(self.tombstones)

    @property
    def nbytes(self) -> int:
        """Bytes of everything but names and labels."""
        found = self.codes.nbytes + self.ids.nbytes + self.tombstones.nbytes
        found += sum(array.nbytes for array in (self.ends, self.starts) if array is not None)
        return found + (0 if self.approximate is None else self.approximate.stored.nbytes)

    def nearest(self, queries: Packed, k: int, exact: bool = True) -> Hits:
        """(distances, ids) of the k nearest live rows, (n_queries, min(k, n)) each."""
        if self.starts is not None and settings.level is None:  # faiss knows no buckets
            return self._without_buckets.nearest(queries, k, exact)
        scan = nearest_rows if exact or self.approximate is None else self.approximate.nearest_rows
        find = self._nearest_in_rows if self.ends is None else self._nearest_in_lists
        n, k = len(self.ids), min(k, len(self.ids) - len(self.tombstones))
        if not len(self.tombstones):
            return find(queries, k, scan)
        asked = min(n, k + k // 4 + 16)
        while True:  # the answer without removed rows is what is left of a longer answer
            distances, ids = find(queries, asked, scan)
            live = find_sorted(self.tombstones, ids) < 0
            if asked == n or (live.sum(axis=1) >= k).all():
                break
            asked = min(n, 4 * asked)
        order = np.argsort(~live, axis=1, kind="stable")[:, :k]
        return Hits(np.take_along_axis(distances, order, axis=1), np.take_along_axis(ids, order, axis=1))

    def _nearest_in_rows(self, queries: Packed, k: int, scan: Scan) -> Hits:
        if self.starts is not None:
            return Hits(*nearest_in_buckets(queries, self.codes, self.starts, self.ids, k))
        distances, rows = scan(queries, self.codes, k)
        return Hits(distances, self.ids[rows].astype(np.int64))

    def _nearest_in_lists(self, queries: Packed, k: int, scan: Scan) -> Hits:
        """The k nearest ids from the lists of the nearest codes.

        The k nearest codes by (distance, first id) hold the answer: an id among the k lowest of its distance lies in a
        list whose first id is at most it, and at most k - 1 lists of that distance can begin before that.
        """
        assert self.ends is not None
        if scan is nearest_rows and settings.level is not None:
            return Hits(*nearest_in_lists(queries, self.codes, self.ends, self.ids, k))
        step = max(1, _GATHERED // (k * k))
        if len(queries) > step:
            starts = range(0, len(queries), step)
            blocks = [self._nearest_in_lists(queries[start : start + step], k, scan) for start in starts]
            return Hits(*(np.concatenate(column) for column in zip(*blocks, strict=True)))
        distances, rows = scan(queries, self.codes, min(k, len(self.codes)))
        starts_of = np.where(rows > 0, self.ends[rows - 1], 0)
        lengths = np.minimum(self.ends[rows] - starts_of, k)
        # The distance at which k ids are reached; lists at it count as a whole, for the lowest ids may lie in any.
        last = np.minimum((np.cumsum(lengths, axis=1) < k).sum(axis=1), rows.shape[1] - 1)
        lengths[distances > distances[np.arange(len(last)), last, None]] = 0
        n_distances = 8 * self.codes.shape[1] + 1
        groups = distances + n_distances * np.arange(len(queries))[:, None]  # ascending, row by row
        groups = np.repeat(groups.ravel(), lengths.ravel())
        ids = self.ids[spread(starts_of.ravel(), lengths.ravel())].astype(np.int64)
        span = int(ids.max()) + 1
        # One number for both sorts several times faster than two.
        fits = (int(groups[-1]) + 1) * span < 2**63
        order = np.argsort(groups * span + ids) if fits else np.lexsort((ids, groups))
        per_query = lengths.sum(axis=1)
        best = order[(np.cumsum(per_query) - per_query)[:, None] + np.arange(k)]
        return Hits(groups[best] % n_distances, ids[best])

    def within(self, queries: Packed, radius: int) -> list[Hits]:
        """For each query (distances, ids) of all live rows within `radius`, by (distance, id)."""
        found = []
        for query in queries:
            if self.starts is None:
                _, distances, rows = rows_within(query[None], self.codes, radius)
            else:
                distances, rows = rows_within_buckets(query[None], self.codes, self.starts, radius)
            if self.ends is None:
                ids = self.ids[rows].astype(np.int64)
            else:
                lists = Ragged(self.ids, self.ends).take(rows)
                ids = lists.values.astype(np.int64)
                distances = np.repeat(distances, np.diff(lists.ends, prepend=0))
            if len(self.tombstones):
                live = find_sorted(self.tombstones, ids) < 0
                distances, ids = distances[live], ids[live]
            found.append(sorted_hits(distances, ids))
        return found

    def rows(self) -> tuple[Packed, Ids]:
        """Every live (code, id), ids ascending."""
        codes, ids = self.codes, self.ids.astype(np.int64)
        if self.ends is not None or self.starts is not None:
            order = np.argsort(ids, kind="stable")
            codes, ids = self._codes_at(order), ids[order]
        live = find_sorted(self.tombstones, ids) < 0
        return (codes[live], ids[live]) if len(self.tombstones) else (codes, ids)

    def _codes_at(self, places: NDArray[np.int64]) -> Packed:
        """The codes of ids by their places in `ids`."""
        if self.starts is not None:
            return whole_codes(self.codes, self.starts, places)
        return self.codes[places if self.ends is None else np.searchsorted(self.ends, places, side="right")]

    @cached_property
    def _without_buckets(self) -> "Segment":
        """The same rows in the order of their ids."""
        codes, ids = replace(self, tombstones=self.tombstones[:0]).rows()
        return replace(self, codes=codes, ids=narrow_ids(ids), starts=None)

    def live_ids(self) -> Ids:
        ids = self.ids.astype(np.int64)
        return ids[find_sorted(self.tombstones, ids) < 0] if len(self.tombstones) else ids

    def live_details(self) -> StoredDetails | None:
        if self.details is None or not len(self.tombstones):
            return self.details
        return self.details.take(np.flatnonzero(find_sorted(self.tombstones, self.details.ids.astype(np.int64)) < 0))

    def holds(self, ids: Ids) -> NDArray[np.bool_]:
        """Which of `ids` are live rows of this segment."""
        if self.details is not None and len(self.details.ids) == len(self.ids):
            here = find_sorted(self.details.ids, ids) >= 0  # names lie in the order of ids, where a look-up is quick
        elif self.ends is not None or self.starts is not None:
            here = np.isin(ids, self.ids)
        else:
            here = find_sorted(self.ids, ids) >= 0
        return here & (find_sorted(self.tombstones, ids) < 0)

    def describe(self, ids: Ids) -> list[Detail | None]:
        """Name and labels of each id; None where it is not a live row of this segment."""
        found: list[Detail | None] = [None] * len(ids)
        if self.details is None or len(self.details.ids) < len(self.ids):  # a row without a name is named by its id
            found = [
                Detail(str(number), ()) if here else None for number, here in zip(ids, self.holds(ids), strict=True)
            ]
        if self.details is not None:
            rows = find_sorted(self.details.ids, ids)
            named = np.flatnonzero((rows >= 0) & (find_sorted(self.tombstones, ids) < 0))
            for place, detail in zip(named.tolist(), self.details.describe(rows[named]), strict=True):
                found[place] = detail
        return found

    def codes_of(self, ids: Ids) -> tuple[Packed, NDArray[np.bool_]]:
        """(codes (n, width), whether each id is a live row here (n,)); zeros where it is not."""
        order = self._by_id
        places = find_sorted(self.ids, ids) if order is None else _find_by(order, self.ids, ids)
        here = (places >= 0) & (find_sorted(self.tombstones, ids) < 0)
        codes = self._codes_at(places[here])
        found = np.zeros((len(ids), codes.shape[1]), np.uint8)
        found[here] = codes
        return found, here

    @cached_property
    def _by_id(self) -> NDArray[Any] | None:
        """The order in which `ids` ascend, made when first asked for; None for rows, which ascend already."""
        in_order = self.ends is None and self.starts is None
        return None if in_order else narrow_ids(np.argsort(self.ids, kind="stable"))

    def labelled(self, ids: Ids, label: str) -> NDArray[np.bool_]:
        if self.details is None or label not in self.details.classes:
            return np.zeros(len(ids), np.bool_)
        rows = find_sorted(self.details.ids, ids)
        here = (rows >= 0) & (find_sorted(self.tombstones, ids) < 0)
        here[here] = self.details.labelled(rows[here], label)
        return here

    def without(self, ids: Ids) -> "Segment":
        """This segment with tombstones for those of `ids` that it holds; the very same where it holds none."""
        gone = ids[self.holds(ids)]
        return replace(self, tombstones=np.union1d(self.tombstones, gone)) if len(gone) else self

    def with_approximate(self, method: str | None) -> "Segment":
        """This segment with its approximate search, where one is wanted and worth it."""
        if method is None or self.approximate is not None or len(self.codes) < SMALLEST:
            return self
        rows = self if self.starts is None else self._without_buckets
        return replace(rows, approximate=build_approximate(rows.codes, method))


def _find_by(order: NDArray[Any], values: NDArray[Any], ids: Ids) -> NDArray[np.int64]:
    """The position of each of `ids` in `values`, which ascend in the order `order`; -1 where it is not there."""
    wanted = np.minimum(ids, np.iinfo(values.dtype).max).astype(values.dtype)
    found = order[np.minimum(np.searchsorted(values, wanted, sorter=order), len(order) - 1)].astype(np.int64)
    return np.where(values[found] == ids, found, -1)
