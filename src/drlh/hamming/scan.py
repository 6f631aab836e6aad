"""Exact scans over packed codes, in memory or mapped from a file: the nearest, and all within a radius.

Codes are rows of the same width. They are compared fastest in 4, 8, 16 or 32 bytes, so `pad` fills them with zero bits,
which change no distance.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import Packed
from drlh.core.errors import UserError
from drlh.hamming import engine, fallback
from drlh.hamming.engine import in_threads, settings, split

Distances = NDArray[np.int64]
Rows = NDArray[np.int64]

_FAST_WIDTHS = (4, 8, 16, 32, 64)
_HIT = np.dtype([("row", np.int64), ("query", np.int32), ("distance", np.int32)])  # as the kernel has it
_NO_LIMIT = np.iinfo(np.int64).max


def pad(packed: Packed) -> Packed:
    """Packed codes (n, bytes) padded to the next width with a fast path, past 64 bytes to a multiple of 8.

    No copy where they have that width.
    """
    wanted = packed.shape[1]
    width = _padded_width(wanted)
    if wanted == width:
        return np.ascontiguousarray(packed)
    padded = np.zeros((len(packed), width), np.uint8)
    padded[:, :wanted] = packed
    return padded


@cache
def _padded_width(width: int) -> int:
    return next((fast for fast in _FAST_WIDTHS if fast >= width), (width + 7) // 8 * 8)


def nearest_rows(queries: Packed, codes: Packed, k: int) -> tuple[Distances, Rows]:
    """(distances, rows) of the k nearest of `codes`, (n_queries, k) each, by (distance, row); k is at most len(codes).

    Many queries are shared out among threads, and for few of them the codes.
    """
    if not k or not len(queries):
        return np.empty((len(queries), k), np.int64), np.empty((len(queries), k), np.int64)
    if settings.level is None:
        return fallback.nearest_rows(queries, codes, k)
    n_comparisons = len(queries) * len(codes)
    pieces = split(len(codes), n_comparisons)
    if len(pieces) == 1:  # a small index is asked often, and every microsecond counts
        return _nearest(queries, codes, k)
    if len(queries) < len(pieces):
        return _merged(in_threads(lambda piece: _nearest_of(queries, codes, k, piece), pieces), k)
    blocks = in_threads(lambda piece: _nearest(queries[piece], codes, k), split(len(queries), n_comparisons))
    return np.concatenate([block[0] for block in blocks]), np.concatenate([block[1] for block in blocks])


def _nearest(queries: Packed, codes: Packed, k: int) -> tuple[Distances, Rows]:
    assert settings.level is not None
    distances, rows = np.empty((len(queries), k), np.int64), np.empty((len(queries), k), np.int64)
    engine.kernel.nearest(settings.level, queries, codes, codes.shape[1], k, distances, rows)
    return distances, rows


def _nearest_of(queries: Packed, codes: Packed, k: int, piece: slice) -> tuple[Distances, Rows]:
    distances, rows = _nearest(queries, codes[piece], min(k, piece.stop - piece.start))
    return distances, rows + piece.start


def _merged(parts: list[tuple[Distances, Rows]], k: int) -> tuple[Distances, Rows]:
    """The k nearest of answers from successive pieces: a stable sort keeps rows of one distance in their order."""
    distances, rows = (np.concatenate(column, axis=1) for column in zip(*parts, strict=True))
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(distances, order, axis=1), np.take_along_axis(rows, order, axis=1)


class TwoKeys(NamedTuple):
    """Neighbours by (distance, distance of detail codes, row), each (n_queries, k)."""

    distances: Distances
    detail_distances: Distances
    rows: Rows


def nearest_by_two_keys(queries: Packed, codes: Packed, query_details: Packed, details: Packed, k: int) -> TwoKeys:
    """The k nearest by (distance, distance of detail codes, row): short codes decide, longer ones order their ties.

    Parameters
    ----------
    queries, codes : uint8 arrays, shapes (n_queries, width) and (n, width)
        Packed codes, the first key.
    query_details, details : uint8 arrays, shapes (n_queries, detail_width) and (n, detail_width)
        Packed detail codes of the same items, the second key.
    k : int
        Number of neighbours; at most as many as there are codes are returned.
    """
    if len(query_details) != len(queries) or len(details) != len(codes):
        raise UserError(
            f"every code needs a detail code: got {len(queries)} queries with {len(query_details)} and "
            f"{len(codes)} codes with {len(details)}"
        )
    k = min(k, len(codes))
    found = TwoKeys(*(np.empty((len(queries), k), np.int64) for _ in range(3)))
    if not k or not len(queries):
        return found
    if settings.level is None:
        return TwoKeys(*fallback.nearest_by_two_keys(queries, codes, query_details, details, k))
    level, arrays = settings.level, [np.ascontiguousarray(array) for array in (codes, details)]

    def fill(piece: slice) -> None:
        engine.kernel.nearest_by_two(
            level,
            np.ascontiguousarray(queries[piece]),
            arrays[0],
            codes.shape[1],
            np.ascontiguousarray(query_details[piece]),
            arrays[1],
            details.shape[1],
            k,
            *(column[piece] for column in found),
        )

    in_threads(fill, split(len(queries), len(queries) * len(codes)))
    return found


def rows_within(queries: Packed, codes: Packed, radius: int) -> tuple[Rows, Distances, Rows]:
    """(bounds, distances, rows) of all codes within `radius`: query i has the entries bounds[i] to bounds[i + 1]."""
    found = some_within(queries, codes, radius)
    assert found is not None
    return found


def some_within(
    queries: Packed, codes: Packed, radius: int, max_hits: int = _NO_LIMIT
) -> tuple[Rows, Distances, Rows] | None:
    """`rows_within`, or None where that would be more than `max_hits`."""
    if settings.level is None:
        found = fallback.rows_within(queries, codes, radius)
        return found if len(found[1]) <= max_hits else None
    level = settings.level

    def scan(piece: slice) -> NDArray[np.void] | None:
        raw = engine.kernel.within(level, queries, codes[piece], codes.shape[1], radius, max_hits)
        return None if raw is None else np.frombuffer(raw, _HIT)

    pieces = split(len(codes), len(queries) * len(codes))
    parts = [part for part in in_threads(scan, pieces) if part is not None]
    if len(parts) < len(pieces) or sum(map(len, parts)) > max_hits:
        return None
    rows = np.concatenate([part["row"] + piece.start for part, piece in zip(parts, pieces, strict=True)])
    hits = parts[0] if len(parts) == 1 else np.concatenate(parts)
    order = slice(None) if len(parts) == 1 else np.argsort(hits["query"], kind="stable")
    bounds = np.searchsorted(hits["query"][order], np.arange(len(queries) + 1))
    return bounds.astype(np.int64), hits["distance"][order].astype(np.int64), rows[order]
