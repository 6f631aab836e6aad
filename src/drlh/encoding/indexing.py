"""Codes → an index, block by block; loading the same rows again changes nothing."""

import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.core.errors import UserError
from drlh.core.progress import Progress, quiet
from drlh.encoding.codes_file import CodeRows, CodeSet
from drlh.encoding.codes_parquet import open_codes
from drlh.index.base import Index
from drlh.index.details import Details
from drlh.index.opening import create_index
from drlh.index.recall import measure_recall
from drlh.index.urls import redacted

_COMPARED = 64  # names compared before rows are overwritten
_GATHERED = 1 << 16  # rows of small blocks that are added in one go


def index_codes(
    path: str | Path,
    url: str | Path,
    *,
    first_id: int = 0,
    replace: bool = False,
    approximate: str | None = None,
    progress: Progress = quiet,
) -> dict[str, Any]:
    """Loads a file or Parquet directory of codes into an index, which is created where there is none.

    Parameters
    ----------
    path : str or Path
        What `drlh encode` wrote.
    url : str or Path
        The index, as for `open_index`.
    first_id : int
        Id of the first row.
    replace : bool
        Whether an existing index is replaced.
    approximate : str, optional
        Approximate search method, whose recall is then measured.
    progress : Progress
        Called with (rows done, rows in all, "indexing").

    Returns
    -------
    dict
        URL without password, rows in the index, rows loaded, bits, seconds, and the measured recall if any.
    """
    codes = open_codes(path)
    start = time.perf_counter()
    notes = index_notes(codes.notes)
    with create_index(url, codes.n_bits, notes=notes, approximate=approximate, replace=replace) as index:
        if isinstance(codes, CodeSet):
            load_items(index, codes, first_id=first_id, progress=progress)
        else:
            load_rows(index, codes.blocks(), codes.classes, first_id=first_id, total=len(codes), progress=progress)
        seconds = round(time.perf_counter() - start, 2)
        result = {"index": redacted(url), "rows": len(index), "loaded": len(codes), "bits": codes.n_bits}
        if index.approximate is not None:
            result |= {"approximate": index.approximate} | measure_recall(index, codes.packed)
    return result | {"seconds": seconds}


def load_items(index: Index, items: CodeSet, *, first_id: int = 0, progress: Progress = quiet) -> None:
    """Adds every code of a file; its id is its row in the file, counted from `first_id`."""
    if items.n_bits != index.n_bits:
        raise UserError(
            f"the index holds codes of {index.n_bits} bits, the file codes of {items.n_bits}; "
            "encode with the model of the index or make a new index"
        )
    _refuse_other_images(index, _rows(items, np.linspace(0, len(items) - 1, _COMPARED).astype(np.int64)), first_id)
    for start in range(0, len(items), index.block):
        rows = slice(start, min(start + index.block, len(items)))
        ids = np.arange(rows.start, rows.stop) + first_id
        index.add(items.packed[rows], ids, details_of(items, rows))
        progress(rows.stop, len(items), "indexing")


def load_rows(
    index: Index,
    blocks: Iterable[CodeRows],
    classes: Sequence[str],
    *,
    first_id: int = 0,
    total: int = 0,
    progress: Progress = quiet,
) -> None:
    """Adds rows as they come, under their own ids counted from `first_id`; small blocks are added together."""
    done = 0
    for rows in _gathered(blocks, min(index.block, _GATHERED)):
        _refuse_other_images(index, rows, first_id)
        index.add(rows.packed, rows.ids + first_id, Details(rows.names, rows.labels, tuple(classes)))
        done += len(rows)
        progress(done, total, "indexing")


def _gathered(blocks: Iterable[CodeRows], size: int) -> Iterator[CodeRows]:
    held: list[CodeRows] = []
    for block in blocks:
        held.append(block)
        if sum(map(len, held)) >= size:
            yield _joined(held)
            held = []
    if held:
        yield _joined(held)


def _joined(blocks: Sequence[CodeRows]) -> CodeRows:
    columns = ([getattr(block, name) for block in blocks] for name in ("ids", "packed", "names", "labels"))
    return CodeRows(*(np.concatenate(column) for column in columns))


def notes_of(items: CodeSet) -> dict[str, Any]:
    """What an index remembers of the model that made a file's codes."""
    return index_notes(items.notes)


def index_notes(notes: dict[str, Any]) -> dict[str, Any]:
    """What an index remembers of a model: enough to refuse the codes and queries of another."""
    return {key: notes[key] for key in ("data", "model_sha256") if key in notes}


def details_of(items: CodeSet, rows: slice = slice(None)) -> Details:
    return Details(np.asarray(items.names[rows]), np.asarray(items.labels[rows]), items.classes)


def _rows(items: CodeSet, rows: NDArray[np.int64]) -> CodeRows:
    rows = rows if len(items) else rows[:0]
    return CodeRows(rows, items.packed[rows], np.asarray(items.names[rows]), np.asarray(items.labels[rows]))


def _refuse_other_images(index: Index, rows: CodeRows, first_id: int) -> None:
    """Other images under the same ids would be overwritten silently, so some names are compared first."""
    places = np.unique(np.linspace(0, len(rows) - 1, _COMPARED).astype(np.int64)) if len(rows) else np.empty(0, int)
    ids = rows.ids[places] + first_id
    for number, name, there in zip(ids.tolist(), rows.names[places], index.describe(ids), strict=True):
        if there is not None and there.name != str(name):
            raise UserError(
                f"id {number} is {there.name!r} in the index and {str(name)!r} in the file: to add the file, choose a "
                "first_id past the ids in use; to start over, use replace=True"
            )
