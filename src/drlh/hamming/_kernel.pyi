"""The compiled kernel; arrays are C-contiguous, sizes are checked, the interpreter's lock is released."""

from typing import Any

from numpy.typing import NDArray

_Array = NDArray[Any]

def levels() -> dict[str, int]: ...
def nearest(
    level: int, queries: _Array, codes: _Array, width: int, k: int, distances: _Array, rows: _Array, /
) -> None: ...
def nearest_by_two(
    level: int,
    queries: _Array,
    codes: _Array,
    width: int,
    query_details: _Array,
    details: _Array,
    detail_width: int,
    k: int,
    distances: _Array,
    detail_distances: _Array,
    rows: _Array,
    /,
) -> None: ...
def nearest_in_lists(
    level: int,
    queries: _Array,
    distinct: _Array,
    width: int,
    ends: _Array,
    numbers: _Array,
    number_bytes: int,
    k: int,
    distances: _Array,
    found: _Array,
    /,
) -> None: ...
def nearest_in_buckets(
    level: int,
    queries: _Array,
    rest: _Array,
    starts: _Array,
    numbers: _Array,
    first: int,
    step: int,
    k: int,
    distances: _Array,
    found: _Array,
    /,
) -> None: ...
def within(level: int, queries: _Array, codes: _Array, width: int, radius: int, max_hits: int, /) -> bytes | None: ...
def count_levels(
    level: int,
    queries: _Array,
    codes: _Array,
    width: int,
    shared: bool,
    mark_words: int,
    query_marks: _Array,
    marks: _Array,
    n_grades: int,
    n_levels: int,
    counts: _Array,
    /,
) -> None: ...
