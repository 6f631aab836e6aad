"""How many codes lie at each distance of each query, by how much the two items have in common.

What an item is marked with is a class number, or a set of classes as bits of words. The grade of two items is 1 where
their numbers are equal, or the number of classes they share.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import Packed, to_words
from drlh.hamming import engine
from drlh.hamming.engine import in_threads, settings, split

_CHUNK = 1 << 15  # rows at a time without the kernel: codes, marks and buffers of a chunk stay in the processor's cache


@dataclass(frozen=True, eq=False)
class Marks:
    """`words` (n, n_words); `shared` where they are sets, and class numbers are not."""

    words: NDArray[np.uint64]
    shared: bool

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, rows: slice) -> "Marks":
        return Marks(self.words[rows], self.shared)

    def grades(self, other: NDArray[np.uint64]) -> NDArray[Any]:
        """The grade of each of these with one other item (n_words,), in the narrowest type: that is the fastest."""
        if not self.shared:
            return np.asarray(self.words[:, 0] == other[0])
        grades: NDArray[Any] = np.bitwise_count(self.words[:, 0] & other[0])
        for word in range(1, self.words.shape[1]):
            grades = grades.astype(np.uint16) + np.bitwise_count(self.words[:, word] & other[word])
        return grades


def add_counts(counts: NDArray[np.int64], queries: Packed, codes: Packed, query_marks: Marks, marks: Marks) -> None:
    """Adds to `counts` (n_queries, n_grades, n_levels) the number of codes of each grade and distance.

    A grade above n_grades - 1 counts as that.
    """
    if settings.level is None:
        for start in range(0, len(codes), _CHUNK):
            rows = slice(start, start + _CHUNK)
            _add_with_numpy(counts, queries, codes[rows], query_marks, marks[rows])
        return
    level = settings.level

    def work(piece: slice) -> None:
        engine.kernel.count_levels(
            level,
            queries[piece],
            codes,
            codes.shape[1],
            marks.shared,
            marks.words.shape[1],
            query_marks.words[piece],
            marks.words,
            counts.shape[1],
            counts.shape[2],
            counts[piece],
        )

    in_threads(work, split(len(queries), len(queries) * len(codes)))


def _add_with_numpy(
    counts: NDArray[np.int64], queries: Packed, codes: Packed, query_marks: Marks, marks: Marks
) -> None:
    n_queries, n_grades, n_levels = counts.shape
    key_type = np.min_scalar_type(n_grades * n_levels - 1)  # the narrowest integer is by far the fastest
    columns, query_words = np.ascontiguousarray(to_words(codes).T), to_words(queries)  # (n_words, n), (n_queries, …)
    flat = counts.reshape(n_queries, n_grades * n_levels)
    difference = np.empty(len(codes), np.uint64)
    for row in range(n_queries):
        grades = marks.grades(query_marks.words[row])
        if marks.shared:
            grades = np.minimum(grades, n_grades - 1)
        key = np.multiply(grades, key_type.type(n_levels), dtype=key_type, casting="unsafe")
        for column, word in zip(columns, query_words[row], strict=True):
            np.bitwise_xor(column, word, out=difference)
            key += np.bitwise_count(difference)
        flat[row] += np.bincount(key, minlength=flat.shape[1])
