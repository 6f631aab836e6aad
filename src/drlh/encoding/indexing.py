"""Codes → an engine, block by block; loading the same rows again changes nothing."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.core.errors import UserError
from drlh.core.progress import Progress, quiet
from drlh.encoding.codes_file import CodeRows, CodeSet
from drlh.index.base import Index
from drlh.index.details import Details

_COMPARED = 64  # names looked at before rows are overwritten
_GATHERED = 1 << 16  # rows of small blocks that are added in one go


def load_items(engine: Index, items: CodeSet, *, first_id: int = 0, progress: Progress = quiet) -> None:
    """Adds every code of a file; its id is its row in the file, counted from `first_id`."""
    if items.n_bits != engine.n_bits:
        raise UserError(
            f"the index holds codes of {engine.n_bits} bits, the file codes of {items.n_bits}; "
            "encode with the model of the index or make a new index"
        )
    _refuse_other_images(engine, _rows(items, np.linspace(0, len(items) - 1, _COMPARED).astype(np.int64)), first_id)
    for start in range(0, len(items), engine.block):
        rows = slice(start, min(start + engine.block, len(items)))
        ids = np.arange(rows.start, rows.stop) + first_id
        engine.add(items.packed[rows], ids, details_of(items, rows))
        progress(rows.stop, len(items), "indexing")


def load_rows(
    engine: Index,
    blocks: Iterable[CodeRows],
    classes: Sequence[str],
    *,
    first_id: int = 0,
    total: int = 0,
    progress: Progress = quiet,
) -> None:
    """Adds rows as they come, under their own ids counted from `first_id`; small blocks are added together."""
    done = 0
    for rows in _gathered(blocks, min(engine.block, _GATHERED)):
        _refuse_other_images(engine, rows, first_id)
        engine.add(rows.packed, rows.ids + first_id, Details(rows.names, rows.labels, tuple(classes)))
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


def made_with(notes: dict[str, Any], model_sha256: str) -> bool:
    """Whether an index with these notes can hold codes of the model; one that knows of none may."""
    return notes.get("model_sha256") in (None, model_sha256)


def details_of(items: CodeSet, rows: slice = slice(None)) -> Details:
    return Details(np.asarray(items.names[rows]), np.asarray(items.labels[rows]), items.classes)


def _rows(items: CodeSet, rows: NDArray[np.int64]) -> CodeRows:
    rows = rows if len(items) else rows[:0]
    return CodeRows(rows, items.packed[rows], np.asarray(items.names[rows]), np.asarray(items.labels[rows]))


def _refuse_other_images(engine: Index, rows: CodeRows, first_id: int) -> None:
    """Other images under the same ids would be lost without a word; some names are looked at."""
    places = np.unique(np.linspace(0, len(rows) - 1, _COMPARED).astype(np.int64)) if len(rows) else np.empty(0, int)
    ids = rows.ids[places] + first_id
    for number, name, there in zip(ids.tolist(), rows.names[places], engine.describe(ids), strict=True):
        if there is not None and there.name != str(name):
            raise UserError(
                f"id {number} is {there.name!r} in the index and {str(name)!r} in the file: to add "
                "the file, pass a --first-id past the ids in use; to begin anew, pass --replace"
            )
