"""An exact index in one process: codes in a directory, searched by a scan.

The directory holds one file of codes, named by its digest, and `index.json`, which points to it. The pointer is
replaced last and at once, so a reader sees the old index or the new one, whenever the writer is stopped.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.codes import Packed, bytes_per_code, distance_blocks
from drlh.codes_file import CodeSet, load_codes, save_codes
from drlh.errors import UserError
from drlh.files import file_digest, read_json, write_json

FORMAT, VERSION = "drlh-index", 1
POINTER = "index.json"


@dataclass(frozen=True)
class FlatIndex:
    """Every search compares with every code; ties go by (distance, row)."""

    items: CodeSet
    notes: dict[str, Any]  # for example which model made the codes

    def search(self, packed: Packed, k: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(distances, rows) of the k nearest, each `(n_queries, min(k, n))`, nearest first."""
        self._check(packed)
        if k < 1:
            raise UserError(f"k must be at least 1: got {k}")
        k = min(k, len(self.items))
        found = np.empty((2, len(packed), k), np.int64)
        for rows, distances in distance_blocks(packed, self.items.packed):
            # One whole number orders by distance, then by row; the row is what remains of it.
            keys = distances.astype(np.int64) * len(self.items) + np.arange(len(self.items))
            if k < keys.shape[1]:
                keys = np.partition(keys, k - 1, axis=1)[:, :k]
            keys.sort(axis=1)
            found[:, rows] = np.divmod(keys, len(self.items))
        return found[0], found[1]

    def search_radius(self, packed: Packed, radius: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """For each query (distances, rows) of all codes within `radius`, nearest first."""
        self._check(packed)
        found = []
        for _, distances in distance_blocks(packed, self.items.packed):
            for line in distances:
                near = np.flatnonzero(line <= radius)
                order = near[np.argsort(line[near], kind="stable")]
                found.append((line[order].astype(np.int64), order))
        return found

    def _check(self, packed: Packed) -> None:
        if packed.ndim != 2 or packed.shape[1] != bytes_per_code(self.items.n_bits):
            raise UserError(
                f"this index holds codes of {self.items.n_bits} bits ({bytes_per_code(self.items.n_bits)} bytes): "
                f"got packed codes of shape {packed.shape}; encode the query with the model of the index"
            )


def save_index(directory: str | Path, items: CodeSet, notes: dict[str, Any]) -> None:
    """Writes or replaces the index in `directory`."""
    if not len(items):
        raise UserError("an index needs at least one code: the file of codes is empty")
    directory = Path(directory)
    _refuse_foreign(directory)
    partial = directory / "codes.new"
    save_codes(partial, items)
    digest = file_digest(partial)
    name = f"codes-{digest[:16]}.npz"
    partial.replace(directory / name)
    pointer = {"format": FORMAT, "version": VERSION, "codes": name, "sha256": digest, "notes": notes}
    write_json(directory / POINTER, pointer)
    for old in directory.glob("codes-*.npz"):
        if old.name != name:
            old.unlink()


def _refuse_foreign(directory: Path) -> None:
    """A directory that holds anything but an index, whole or broken off, is not ours to write into."""
    if directory.is_file():
        raise UserError(f"{directory} is a file; an index is a directory, choose another name")
    names = [path.name.lstrip(".") for path in directory.glob("*")]
    foreign = [name for name in names if not name.startswith(("codes", POINTER))]
    if foreign:
        raise UserError(f"{directory} is not an index: it holds {foreign[0]!r}; choose another name")


def load_index(directory: str | Path) -> FlatIndex:
    """Opens an index; the codes are mapped, not read."""
    directory = Path(directory)
    if not directory.is_dir():
        raise UserError(f"{directory} is not a directory: wanted an index made by `drlh index`")
    pointer = read_json(directory / POINTER, format_name=FORMAT, version=VERSION)
    path = directory / str(pointer["codes"])
    if not path.is_file() or file_digest(path) != pointer["sha256"]:
        raise UserError(f"the index {directory} is damaged: {path.name} is missing or altered; make it anew")
    return FlatIndex(load_codes(path), dict(pointer["notes"]))
