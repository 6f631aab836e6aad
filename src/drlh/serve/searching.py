"""Many queries, few calls of the engine; and hits as columns that answers are made of."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import Packed, unpack
from drlh.index.base import Hits, Index
from drlh.index.details import Detail
from drlh.serve.codes_text import hex_texts, texts_of

_WIDER = 16  # a search within a class first looks at this many times k


@dataclass(frozen=True)
class Query:
    """The k nearest, of those within `radius` and with the class `label` where these are given."""

    packed: Packed  # (1, bytes)
    k: int
    radius: int | None = None
    label: str | None = None


@dataclass(frozen=True)
class Answer:
    """Hits, nearest first; every list has one entry for each."""

    ids: list[int]
    distances: list[int]
    details: list[Detail]
    codes: list[str]  # hex
    bits: list[str]
    differs: list[list[int]]  # bits in which hit and query differ


def answer_queries(engine: Index, queries: list[Query]) -> list[Answer]:
    """Queries for as many hits are one call of the engine; codes and names of all hits are one more each."""
    found: dict[int, Hits] = {}
    groups: dict[tuple[int, bool], list[int]] = {}
    for place, query in enumerate(queries):
        if query.label is None:
            # What lies within a radius is a promise that an approximate search does not keep.
            groups.setdefault((query.k, query.radius is not None), []).append(place)
        else:
            found[place] = _of_class(engine, query, query.label)
    for (k, exact), places in groups.items():
        distances, ids = engine.search(np.concatenate([queries[place].packed for place in places]), k, exact=exact)
        found |= {place: Hits(distances[row], ids[row]) for row, place in enumerate(places)}
    return _answers(engine, queries, [_within(found[place], query.radius) for place, query in enumerate(queries)])


def _within(found: Hits, radius: int | None) -> Hits:
    distances, ids = found
    n = len(ids) if radius is None else int(np.searchsorted(distances, radius, side="right"))
    return Hits(distances[:n], ids[:n])


def _of_class(engine: Index, query: Query, label: str) -> Hits:
    """The k nearest of a class: among somewhat more than k, or else among all there are."""
    asked = _WIDER * query.k
    distances, ids = (rows[0] for rows in engine.search(query.packed, asked, exact=True))
    kept = engine.labelled(ids, label)
    if int(kept.sum()) < query.k and len(ids) == asked:
        distances, ids = engine.search_radius(query.packed, engine.n_bits)[0]
        kept = engine.labelled(ids, label)
    return Hits(distances[kept][: query.k], ids[kept][: query.k])


def _answers(engine: Index, queries: list[Query], found: list[Hits]) -> list[Answer]:
    """All hits of all queries become text together: numpy is quick on many rows and slow on many calls."""
    owners = np.repeat(np.arange(len(queries)), [len(ids) for _, ids in found])
    distances, ids = (np.concatenate(column) for column in zip(*found, strict=True))
    (packed, there), described = engine.codes(ids), engine.describe(ids)
    details = [detail for detail, here in zip(described, there.tolist(), strict=True) if here and detail is not None]
    if len(details) < len(ids):  # on a server somebody may have removed a hit in between
        kept = there & np.array([detail is not None for detail in described])
        owners, distances, ids, packed = owners[kept], distances[kept], ids[kept], packed[kept]
    codes, n_bits = unpack(packed, engine.n_bits), engine.n_bits
    asked = unpack(np.concatenate([query.packed for query in queries]), n_bits)
    numbers, far, hexes, texts = ids.tolist(), distances.tolist(), hex_texts(packed), texts_of(codes)
    differs = _places(codes ^ asked[owners])
    stops = np.searchsorted(owners, np.arange(len(queries)), side="right").tolist()
    cuts = [slice(start, stop) for start, stop in zip([0, *stops], stops)]
    return [Answer(numbers[c], far[c], details[c], hexes[c], texts[c], differs[c]) for c in cuts]


def _places(codes: NDArray[np.uint8]) -> list[list[int]]:
    """Where each row holds a one."""
    rows, bits = np.nonzero(codes)
    ends = np.cumsum(np.bincount(rows, minlength=len(codes))).tolist()
    places, start, found = bits.tolist(), 0, []
    for end in ends:
        found.append(places[start:end])
        start = end
    return found
