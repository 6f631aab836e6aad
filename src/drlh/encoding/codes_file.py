"""Codes as one NPZ file: what `drlh encode` writes and `drlh index` and `drlh evaluate` read.

The other format of codes, a directory of Parquet files, is in `codes_parquet.py`; `open_codes` there opens either.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import Packed, bytes_per_code
from drlh.core.errors import UserError
from drlh.core.files import NpzWriter, atomic_path, read_npz
from drlh.data.labels import Labels


@dataclass(frozen=True)
class CodeSet:
    """The codes of a collection, with the name and label of each row."""

    packed: Packed  # (n, bytes)
    n_bits: int
    labels: Labels
    classes: tuple[str, ...]
    names: NDArray[np.str_]  # what to call each row: its path, or `cifar10/17`
    test: NDArray[np.bool_] | None = None  # the publisher's test rows, where there are any
    notes: dict[str, Any] = field(default_factory=dict)  # of the model that made them

    def __len__(self) -> int:
        return len(self.packed)


@dataclass(frozen=True)
class CodeRows:
    """Some rows of a collection, under their ids."""

    ids: NDArray[np.int64]  # (n,)
    packed: Packed  # (n, bytes)
    names: NDArray[np.str_]  # (n,)
    labels: Labels  # (n,) class ids or (n, n_classes) multi-hot

    def __len__(self) -> int:
        return len(self.ids)


def save_codes(path: str | Path, codes: CodeSet) -> None:
    write_codes(
        path,
        codes.n_bits,
        iter([codes.packed]),
        codes.labels,
        codes.classes,
        lambda row: str(codes.names[row]),
        codes.test,
        codes.notes,
    )


def write_codes(
    path: str | Path,
    n_bits: int,
    packed: Iterator[Packed],
    labels: Labels,
    classes: Sequence[str],
    name_of: Callable[[int], str],
    test: NDArray[np.bool_] | None,
    notes: dict[str, Any],
) -> None:
    """The same from codes that come in blocks and names that are looked up one by one, so that memory stays bounded."""
    with atomic_path(path) as temporary, NpzWriter(temporary) as writer:
        writer.write_rows("packed", (len(labels), bytes_per_code(n_bits)), np.dtype(np.uint8), packed)
        writer.write("n_bits", np.array(n_bits))
        writer.write("labels", labels)
        writer.write("classes", np.array(classes, dtype=np.str_))
        writer.write_texts("names", name_of, len(labels))
        writer.write("notes", np.array(json.dumps(notes)))
        if test is not None:
            writer.write("test", test)


def load_codes(path: str | Path) -> CodeSet:
    arrays = read_npz(path)
    missing = {"packed", "n_bits", "labels", "classes", "names"} - arrays.keys()
    if missing:
        raise UserError(f"{path} is not a file of codes made by `drlh encode`: it has no {', '.join(sorted(missing))}")
    packed, n_bits = arrays["packed"], int(arrays["n_bits"])
    if packed.ndim != 2 or packed.dtype != np.uint8 or packed.shape[1] != bytes_per_code(n_bits):
        raise UserError(f"{path} is damaged: codes of {n_bits} bits have shape {packed.shape}")
    if not len(packed) == len(arrays["labels"]) == len(arrays["names"]):
        raise UserError(f"{path} is damaged: it holds {len(packed)} codes but {len(arrays['labels'])} labels")
    classes = tuple(str(name) for name in arrays["classes"])
    notes = json.loads(str(arrays["notes"])) if "notes" in arrays else {}
    return CodeSet(packed, n_bits, arrays["labels"], classes, arrays["names"], arrays.get("test"), notes)
