"""Counts per Hamming distance or score: everything a metric needs to know about a ranking, in bounded memory.

A ranking by Hamming distance has only `n_bits + 1` places, its levels; the items of one level tie. How many items
each level holds, and how many of them are relevant, fixes every metric that does not take a side within ties.
A ranking by real scores has a level for each score.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import Codes, Packed, bytes_per_code, check_codes, pack, to_words, unpack
from drlh.core.errors import UserError
from drlh.core.progress import Progress, quiet
from drlh.data.labels import Labels
from drlh.hamming.counting import Marks, add_counts
from drlh.hamming.scan import pad

Counts = NDArray[np.int64]

_STEP = 1 << 17  # database rows between two reports of progress
_BLOCK_BYTES = 32 << 20  # histograms of graded levels held at a time
_SCORE_BYTES = 8 << 20  # scores held at a time
_NOISE = 1e-12  # scores this small beside a query's largest are what rounding leaves of zero


@dataclass(frozen=True, eq=False)
class LevelCounts:
    """Items and relevant items of each query at each distance, both (n_query, n_levels), nearest level first."""

    total: Counts
    relevant: Counts

    def within(self, radius: int) -> "LevelCounts":
        """The same ranking with every item farther than `radius` left out."""
        if radius < 0:
            raise UserError(f"radius must be a Hamming distance of at least 0: got {radius}")
        return LevelCounts(self.total[:, : radius + 1], self.relevant[:, : radius + 1])


def level_counts(
    query_packed: Packed,
    query_labels: Labels,
    database_packed: Packed,
    database_labels: Labels,
    n_bits: int,
    *,
    progress: Progress = quiet,
) -> LevelCounts:
    """Counts of a packed query set against a packed database; two images are relevant when they share a label."""
    query_labels, database_labels = check_labels(query_labels, database_labels)
    query = _checked_packed(query_packed, query_labels, n_bits, "query")
    database = _checked_packed(database_packed, database_labels, n_bits, "database")
    counts = np.zeros((len(query), 2, n_bits + 1), np.int64)  # two grades: relevant or not
    _add_all(counts, query, database, _marks(query_labels), _marks(database_labels), progress)
    return LevelCounts(counts.sum(axis=1), counts[:, 1])


def count_levels(
    query_codes: Codes,
    query_labels: Labels,
    database_codes: Codes,
    database_labels: Labels,
    *,
    progress: Progress = quiet,
) -> LevelCounts:
    """`level_counts` of 0/1 codes (n, n_bits)."""
    query_codes, database_codes = check_code_pair(query_codes, database_codes)
    packed = pack(query_codes), pack(database_codes)
    n_bits = query_codes.shape[1]
    return level_counts(packed[0], query_labels, packed[1], database_labels, n_bits, progress=progress)


def gain_counts(
    query_codes: Codes, query_labels: Labels, database_codes: Codes, database_labels: Labels
) -> Iterator[Counts]:
    """Items by number of shared labels and distance, in blocks of queries (n_rows, n_gains, n_bits + 1)."""
    query_labels, database_labels = check_labels(query_labels, database_labels)
    query_codes, database_codes = check_code_pair(query_codes, database_codes)
    n_bits = query_codes.shape[1]
    query = _checked_packed(pack(query_codes), query_labels, n_bits, "query")
    database = _checked_packed(pack(database_codes), database_labels, n_bits, "database")
    query_marks, marks = _marks(query_labels), _marks(database_labels)
    n_gains = 2 if query_labels.ndim == 1 else 1 + int(query_labels.sum(axis=1).max())
    step = max(1, _BLOCK_BYTES // (8 * n_gains * (n_bits + 1)))
    for start in range(0, len(query), step):
        rows = slice(start, min(start + step, len(query)))
        counts = np.zeros((rows.stop - start, n_gains, n_bits + 1), np.int64)
        _add_all(counts, query[rows], database, query_marks[rows], marks, quiet)
        yield counts


def score_counts(
    query_vectors: NDArray[Any], query_labels: Labels, database_vectors: NDArray[Any], database_labels: Labels
) -> Iterator[LevelCounts]:
    """Counts of a ranking by inner product, the largest first, in blocks of queries; vectors are (n, n_dimensions).

    Scores tie where they are equal as float32: the order of additions moves the last digits of a float64. Items of no
    relevance between two relevant ones are one level, since their order changes no metric.
    """
    query_labels, database_labels = check_labels(query_labels, database_labels)
    query = _checked_vectors(query_vectors, query_labels, "query")
    database = _checked_vectors(database_vectors, database_labels, "database")
    if query.shape[1] != database.shape[1]:
        raise UserError(
            f"query and database vectors must have the same length: got {query.shape[1]} and {database.shape[1]}"
        )
    query_marks, marks = _marks(query_labels), _marks(database_labels)
    step = max(1, _SCORE_BYTES // (8 * len(database)))
    for start in range(0, len(query), step):
        distances = _distances(query[start : start + step], database)
        rows = enumerate(distances, start)
        yield _side_by_side([_score_levels(row, marks.grades(query_marks.words[number]) > 0) for number, row in rows])


def _distances(query: NDArray[np.float64], database: NDArray[np.float64]) -> NDArray[np.float32]:
    """Negative inner products (n_query, n_database) in units of each query's largest, so that float32 holds them."""
    products = query @ database.T
    largest = np.maximum(products.max(axis=1), -products.min(axis=1))
    products /= -np.where(largest > 0, largest, 1.0)[:, None]
    products[np.abs(products) < _NOISE] = 0
    return products.astype(np.float32)


def _score_levels(distances: NDArray[np.float32], relevant: NDArray[np.bool_]) -> tuple[Counts, Counts]:
    """(items, relevant items) of one query: a gap of irrelevant items, a level, a gap, a level, …, the rest."""
    hits, misses = np.sort(distances[relevant]), np.sort(distances[~relevant])
    values, n_hits = np.unique(hits, return_counts=True)
    edges = np.stack([np.searchsorted(misses, values, side) for side in ("left", "right")], axis=1).ravel()
    total = np.diff(edges, prepend=0, append=len(misses))
    n_relevant = np.zeros_like(total)
    n_relevant[1::2] = n_hits
    return total + n_relevant, n_relevant


def _side_by_side(rows: list[tuple[Counts, Counts]]) -> LevelCounts:
    """The levels of several queries as one table; shorter rows end in empty levels."""
    table = np.zeros((2, len(rows), max(len(total) for total, _ in rows)), np.int64)
    for number, row in enumerate(rows):
        table[:, number, : len(row[0])] = row
    return LevelCounts(*table)


def check_code_pair(query_codes: Codes, database_codes: Codes) -> tuple[Codes, Codes]:
    query, database = check_codes(query_codes, "query_codes"), check_codes(database_codes, "database_codes")
    if query.shape[1] != database.shape[1]:
        raise UserError(
            f"query and database codes must have the same number of bits: got {query.shape[1]} and "
            f"{database.shape[1]}; encode both with the same hasher"
        )
    return query, database


def check_labels(query_labels: Labels, database_labels: Labels) -> tuple[Labels, Labels]:
    """Both as int64 class ids (n,) or both as uint8 multi-hot (n, n_classes) over the same classes.

    Class names, as hashers learn from them too, are numbered together.
    """
    named = [np.asarray(labels) for labels in (query_labels, database_labels)]
    if all(labels.ndim == 1 and labels.dtype.kind in "UOS" for labels in named):
        numbers = np.unique(np.concatenate([labels.astype(str) for labels in named]), return_inverse=True)[1]
        named = np.split(numbers, [len(named[0])])
    query, database = one_label_set(named[0], "query_labels"), one_label_set(named[1], "database_labels")
    if query.ndim != database.ndim or query.shape[1:] != database.shape[1:]:
        raise UserError(
            "query and database labels must both be class ids (n,) or both multi-hot over the same classes: "
            f"got shapes {query.shape} and {database.shape}; bring both to one form"
        )
    return query, database


def one_label_set(labels: Labels, name: str) -> Labels:
    """`labels` as int64 ids (n,) or uint8 multi-hot (n, n_classes)."""
    labels = np.asarray(labels)
    if labels.ndim not in (1, 2) or labels.dtype.kind not in "iub":
        raise UserError(
            f"{name} must be whole-number class ids (n,) or a 0/1 matrix (n, n_classes): "
            f"got shape {labels.shape} of type {labels.dtype}"
        )
    return labels.astype(np.int64) if labels.ndim == 1 else check_codes(labels, name)


def _checked_packed(packed: Packed, labels: Labels, n_bits: int, what: str) -> Packed:
    packed = np.asarray(packed)
    if n_bits < 1 or packed.ndim != 2 or packed.dtype != np.uint8 or packed.shape[1] != bytes_per_code(n_bits):
        raise UserError(
            f"packed {what} codes of {n_bits} bits must be uint8 rows of {bytes_per_code(n_bits)} bytes: "
            f"got shape {packed.shape} of type {packed.dtype}"
        )
    if len(packed) == 0 or len(packed) != len(labels):
        raise UserError(
            f"the {what} set needs at least one code and one label for each: "
            f"got {len(packed)} codes and {len(labels)} labels"
        )
    if n_bits % 8 and unpack(packed[:, -1:], 8)[:, n_bits % 8 :].any():
        raise UserError(f"packed {what} codes have bits set past bit {n_bits - 1}: they belong to longer codes")
    return pad(packed)


def _checked_vectors(vectors: NDArray[Any], labels: Labels, what: str) -> NDArray[np.float64]:
    found = np.asarray(vectors, np.float64)
    if found.ndim != 2 or len(found) == 0 or len(found) != len(labels) or not np.isfinite(found).all():
        raise UserError(
            f"the {what} set needs finite vectors (n, n_dimensions), at least one, and one label for each: "
            f"got shape {found.shape} and {len(labels)} labels"
        )
    return found


def _marks(labels: Labels) -> Marks:
    """Class ids as they are, several labels as bits."""
    if labels.ndim == 1:
        return Marks(np.ascontiguousarray(labels, np.int64).view(np.uint64)[:, None], shared=False)
    return Marks(to_words(pack(labels)), shared=True)


def _add_all(
    counts: Counts, query: Packed, database: Packed, query_marks: Marks, marks: Marks, progress: Progress
) -> None:
    """Adds each query's histogram over (grade, distance) to `counts` (n_query, n_grades, n_levels)."""
    for start in range(0, len(database), _STEP):
        part = slice(start, min(start + _STEP, len(database)))
        add_counts(counts, query, database[part], query_marks, marks[part])
        progress(part.stop, len(database), "ranking")
