"""How segments are made and merged: few of them, and few tombstones in each."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import Packed
from drlh.hamming.buckets import into_buckets, worth_it
from drlh.index.base import Ids
from drlh.index.details import Details
from drlh.index.local.columns import StoredDetails, join_details, narrow_ids, spread, store_details
from drlh.index.local.segment import Segment

# A list costs its end beside its code, and gathering beside scanning: below two ids a code, rows are better.
_IDS_PER_CODE = 2
_MOST_TOMBSTONES = 0.25  # of its rows; with more, a segment is rewritten


def compact(segments: Sequence[Segment]) -> list[Segment]:
    """The same rows in few segments.

    A segment swallows the next one when that is at least half as large, so n rows lie in at most log2(n) segments, and
    a row is rewritten at most that often, however it is added.
    """
    kept = purge(segments)
    while len(kept) > 1 and len(kept[-2]) < 2 * len(kept[-1]):
        kept[-2:] = [_merge(kept[-2:])]
    return kept


def purge(segments: Sequence[Segment]) -> list[Segment]:
    """The same rows; only segments with many tombstones are rewritten, so most removals are cheap."""
    return [
        _merge([segment]) if len(segment.tombstones) > _MOST_TOMBSTONES * len(segment.ids) else segment
        for segment in segments
        if len(segment)
    ]


def _merge(segments: Sequence[Segment]) -> Segment:
    rows = [segment.rows() for segment in segments]
    codes = np.concatenate([codes for codes, _ in rows])
    ids = np.concatenate([ids for _, ids in rows])
    details = [found for segment in segments if (found := segment.live_details()) is not None]
    return _lay_out(codes, ids, join_details(details) if details else None)


def make_segment(codes: Packed, ids: Ids, details: Details | None = None) -> Segment:
    """A segment of `codes` (n, width) of a fast width, under unique ids."""
    return _lay_out(codes, ids, None if details is None else store_details(details, ids))


def _lay_out(codes: Packed, ids: Ids, details: StoredDetails | None) -> Segment:
    """Chooses rows or lists by the number of distinct codes, and buckets for many rows."""
    if (np.diff(ids) < 0).any():
        order = np.argsort(ids, kind="stable")
        codes, ids = codes[order], ids[order]
    small = narrow_ids(ids)
    order, is_first = _sort_codes(codes)
    if len(ids) < _IDS_PER_CODE * int(is_first.sum()):
        return _rows(np.ascontiguousarray(codes), small, details)
    # Ids ascend within a code already, for the sort is stable; now the codes go by their first ids.
    starts = np.flatnonzero(is_first)
    lengths = np.diff(starts, append=len(order))
    by_first_id = np.argsort(order[starts])
    starts, lengths = starts[by_first_id], lengths[by_first_id]
    listed = order[spread(starts, lengths)]
    return Segment(np.ascontiguousarray(codes[order[starts]]), small[listed], np.cumsum(lengths), details)


def _rows(codes: Packed, ids: NDArray[Any], details: StoredDetails | None) -> Segment:
    """One row for each id; many of them in buckets, where the ids have the four bytes that the kernel wants."""
    if ids.dtype != np.uint32 or not worth_it(codes):
        return Segment(codes, ids, None, details)
    order, rest, starts = into_buckets(codes)
    return Segment(rest, ids[order], None, details, starts=starts)


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
