"""A file of codes → an engine, block by block; loading the same file again changes nothing."""

from typing import Any

import numpy as np

from drlh.codes_file import CodeSet
from drlh.errors import UserError
from drlh.index.details import Details
from drlh.index.engine import Engine
from drlh.progress import Progress, quiet

_COMPARED = 64  # names looked at before rows are overwritten


def load_items(engine: Engine, items: CodeSet, *, first_id: int = 0, progress: Progress = quiet) -> None:
    """Adds every code; its id is its row in the file, counted from `first_id`."""
    if items.n_bits != engine.n_bits:
        raise UserError(
            f"the index holds codes of {engine.n_bits} bits, the file codes of {items.n_bits}; "
            "encode with the model of the index or make a new index"
        )
    _refuse_other_images(engine, items, first_id)
    for start in range(0, len(items), engine.block):
        rows = slice(start, min(start + engine.block, len(items)))
        ids = np.arange(rows.start, rows.stop) + first_id
        engine.add(items.packed[rows], ids, details_of(items, rows))
        progress(rows.stop, len(items), "indexing")


def notes_of(items: CodeSet) -> dict[str, Any]:
    """What an index remembers of the model: enough to refuse the codes and queries of another."""
    return {key: items.notes[key] for key in ("data", "model_sha256") if key in items.notes}


def details_of(items: CodeSet, rows: slice = slice(None)) -> Details:
    return Details(np.asarray(items.names[rows]), np.asarray(items.labels[rows]), items.classes)


def _refuse_other_images(engine: Engine, items: CodeSet, first_id: int) -> None:
    """Rows of another file under the same ids would be lost without a word."""
    rows = np.unique(np.linspace(0, len(items) - 1, _COMPARED).astype(np.int64)) if len(items) else np.empty(0, int)
    for row, there in zip(rows.tolist(), engine.describe(rows + first_id), strict=True):
        if there is not None and there.name != str(items.names[row]):
            raise UserError(
                f"id {row + first_id} is {there.name!r} in the index and {str(items.names[row])!r} in the file: to add "
                "the file, pass a --first-id past the ids in use; to begin anew, pass --replace"
            )
