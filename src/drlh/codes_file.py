"""A file of codes: what `drlh encode` writes and `drlh index` and `drlh evaluate` read."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.codes import Packed, bytes_per_code
from drlh.data.base import Labels
from drlh.errors import UserError
from drlh.files import read_npz, write_npz


@dataclass(frozen=True)
class CodeSet:
    """The codes of a collection with what people want to see beside a hit."""

    packed: Packed  # (n, bytes)
    n_bits: int
    labels: Labels
    classes: tuple[str, ...]
    names: NDArray[np.str_]  # what to call each row: its path, or `cifar10/17`
    test: NDArray[np.bool_] | None = None  # the publisher's test rows, where there are any
    notes: dict[str, Any] = field(default_factory=dict)  # of the model that made them

    def __len__(self) -> int:
        return len(self.packed)


def save_codes(path: str | Path, codes: CodeSet) -> None:
    arrays = {
        "packed": codes.packed,
        "n_bits": np.array(codes.n_bits),
        "labels": codes.labels,
        "classes": np.array(codes.classes, dtype=np.str_),
        "names": codes.names,
        "notes": np.array(json.dumps(codes.notes)),
    }
    if codes.test is not None:
        arrays["test"] = codes.test
    write_npz(path, arrays)


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
