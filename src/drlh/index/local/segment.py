"""A part of the index that never changes: codes with their ids, in one of two layouts.

Learned codes repeat: images of one class share few codes. Where they do, a segment keeps every distinct code once
with the sorted list of its ids, and a search scans thousands of codes instead of millions. Where they do not, it keeps
one row for each id. Both answer exactly, by (distance, id).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import Packed
from drlh.index.base import Found, sorted_hits
from drlh.index.ids import Ids, compact, find_sorted
from drlh.index.local.scan import nearest_rows, rows_within
from drlh.index.ragged import Ragged, spread

# (queries, codes, k) → (distances, rows) of the k nearest codes.
Scan = Callable[[Packed, Packed, int], tuple[NDArray[np.int32], NDArray[np.int64]]]

# A list costs its end beside its code, and gathering beside scanning: below two ids a code, rows are better.
_IDS_PER_CODE = 2
_GATHERED = 4_000_000  # ids held at once while lists are merged


@dataclass(frozen=True)
class Segment:
    """`codes` (u, width) by their first id; `ids` (n,) list after list; `ends` (u,) of the lists, or None for rows."""

    codes: Packed
    ids: NDArray[Any]  # uint32, or int64 where an id is too large for that
    ends: NDArray[np.int64] | None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        return self.codes.nbytes + self.ids.nbytes + (0 if self.ends is None else self.ends.nbytes)

    def nearest(self, queries: Packed, k: int, scan: Scan = nearest_rows) -> Found:
        """(distances, ids) of the k nearest, (n_queries, min(k, n)) each; `scan` finds the nearest of our codes."""
        k = min(k, len(self))
        if self.ends is None:
            distances, rows = scan(queries, self.codes, k)
            return distances.astype(np.int64), self.ids[rows].astype(np.int64)
        lists = Ragged(self.ids, self.ends)
        found = np.empty((2, len(queries), k), np.int64)
        step = max(1, _GATHERED // (k * k))
        for start in range(0, len(queries), step):
            block = slice(start, start + step)
            found[:, block] = _nearest_in_lists(queries[block], self.codes, lists, k, scan)
        return found[0], found[1]

    def within(self, queries: Packed, radius: int) -> list[Found]:
        """For each query (distances, ids) of everything within `radius`, by (distance, id)."""
        found = []
        for query in queries:
            _, distances, rows = rows_within(query[None], self.codes, radius)
            if self.ends is None:
                ids = self.ids[rows].astype(np.int64)
            else:
                lists = Ragged(self.ids, self.ends).take(rows)
                ids = lists.values.astype(np.int64)
                distances = np.repeat(distances, np.diff(lists.ends, prepend=0))
            found.append(sorted_hits(distances.astype(np.int64), ids))
        return found

    def rows(self) -> tuple[Packed, Ids]:
        """Every (code, id), ids ascending."""
        if self.ends is None:
            return self.codes, self.ids.astype(np.int64)
        order = np.argsort(self.ids, kind="stable")
        places = np.repeat(np.arange(len(self.ends)), np.diff(self.ends, prepend=0))
        return self.codes[places[order]], self.ids[order].astype(np.int64)

    def codes_of(self, ids: Ids) -> tuple[Packed, NDArray[np.bool_]]:
        """(codes (n, width), whether each id is here (n,)); zeros where it is not."""
        order = self._by_id
        places = find_sorted(self.ids, ids) if order is None else _find_by(order, self.ids, ids)
        rows = places if self.ends is None else np.searchsorted(self.ends, places, side="right")
        here = places >= 0
        found = np.zeros((len(ids), self.codes.shape[1]), np.uint8)
        found[here] = self.codes[rows[here]]
        return found, here

    @cached_property
    def _by_id(self) -> NDArray[Any] | None:
        """The places of `ids` in ascending order, made when first asked for; None for rows, which have that order."""
        return None if self.ends is None else compact(np.argsort(self.ids, kind="stable"))

    def holds(self, ids: Ids) -> NDArray[np.bool_]:
        """Which of `ids` are here."""
        if self.ends is not None:
            return np.isin(ids, self.ids)
        return np.asarray(find_sorted(self.ids, ids) >= 0)


def _find_by(order: NDArray[Any], values: NDArray[Any], ids: Ids) -> NDArray[np.int64]:
    """The place of each of `ids` in `values`, which ascend in the order `order`; -1 where it is not there."""
    wanted = np.minimum(ids, np.iinfo(values.dtype).max).astype(values.dtype)
    found = order[np.minimum(np.searchsorted(values, wanted, sorter=order), len(order) - 1)].astype(np.int64)
    return np.where(values[found] == ids, found, -1)


def make_segment(codes: Packed, ids: Ids) -> Segment:
    """Chooses the layout by the number of distinct codes; `codes` (n, width) of a fast width, ids unique."""
    if (np.diff(ids) < 0).any():
        order = np.argsort(ids, kind="stable")
        codes, ids = codes[order], ids[order]
    small = compact(ids)
    order, is_first = _sort_codes(codes)
    if len(ids) < _IDS_PER_CODE * int(is_first.sum()):
        return Segment(np.ascontiguousarray(codes), small, None)
    # Ids ascend within a code already, for the sort is stable; now the codes go by their first ids.
    starts = np.flatnonzero(is_first)
    lengths = np.diff(starts, append=len(order))
    by_first_id = np.argsort(order[starts])
    starts, lengths = starts[by_first_id], lengths[by_first_id]
    listed = order[spread(starts, lengths)]
    return Segment(np.ascontiguousarray(codes[order[starts]]), small[listed], np.cumsum(lengths))


def _sort_codes(codes: Packed) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """A stable order that brings equal codes together, and where a new code begins in it."""
    words = codes.view(np.uint64 if codes.shape[1] % 8 == 0 else np.uint32)
    columns = [words[:, column] for column in range(words.shape[1])]
    order = np.lexsort(columns) if len(columns) > 1 else np.argsort(columns[0], kind="stable")
    is_first = np.zeros(len(codes), np.bool_)
    is_first[:1] = True
    for column in columns:
        ordered = column[order]
        is_first[1:] |= ordered[1:] != ordered[:-1]
    return order, is_first


def _nearest_in_lists(queries: Packed, codes: Packed, lists: Ragged, k: int, scan: Scan) -> Found:
    """The k nearest ids from the lists of the nearest codes.

    The k nearest codes by (distance, first id) hold the answer: an id among the k lowest of its distance lies in a list
    whose first id is at most it, and at most k - 1 lists of that distance can begin before that.
    """
    distances, rows = scan(queries, codes, min(k, len(codes)))
    starts = lists.starts(rows)
    lengths = np.minimum(lists.ends[rows] - starts, k)
    taken = np.cumsum(lengths, axis=1)
    # The distance at which k ids are reached; lists at it count as a whole, for the lowest ids may lie in any.
    last = np.minimum((taken < k).sum(axis=1), rows.shape[1] - 1)
    reached = np.take_along_axis(distances, last[:, None], axis=1)
    wanted = distances <= reached
    lengths = lengths[wanted]
    ids = lists.values[spread(starts[wanted], lengths)].astype(np.int64)
    groups = np.repeat(distances[wanted].astype(np.int64), lengths)
    per_query = np.zeros(len(queries) + 1, np.int64)
    np.add.at(per_query[1:], np.nonzero(wanted)[0], lengths)
    bounds = np.cumsum(per_query)
    n_distances = 8 * codes.shape[1] + 1
    groups += np.repeat(np.arange(len(queries)), per_query[1:]) * n_distances
    best = _order(groups, ids)[bounds[:-1, None] + np.arange(k)]
    return groups[best] % n_distances, ids[best]


def _order(groups: NDArray[np.int64], ids: Ids) -> NDArray[np.int64]:
    """The order by (group, id); groups ascend already."""
    span = int(ids.max()) + 1
    if (int(groups[-1]) + 1) * span < 2**63:  # one number for both sorts several times faster
        return np.argsort(groups * span + ids)
    return np.lexsort((ids, groups))
