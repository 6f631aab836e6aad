"""Parts in a directory: what is there, taken up by mapping; what is new, written and made to count."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from drlh.core.errors import UserError
from drlh.index.details import from_arrays
from drlh.index.local import directory as disk
from drlh.index.local.approximate import Approximate
from drlh.index.local.part import Part
from drlh.index.local.segment import Segment

_OPENINGS = 5  # a writer may replace files between the reading of the pointer and their opening

Record = dict[str, Any]  # a part as the pointer tells it: its classes and its files


@dataclass
class PartFiles:
    """The parts of one directory, with the record of each."""

    directory: Path
    verify: bool = True
    n_bits: int = 0
    notes: dict[str, Any] = field(default_factory=dict)
    approximate: str | None = None
    number: int = -1  # of the newest file; it grows with every change
    parts: list[Part] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)

    def read(self) -> bool:
        """Takes up what the pointer says now; False where nothing has changed."""
        for attempt in range(_OPENINGS):
            pointer = disk.read_pointer(self.directory)
            if pointer["number"] == self.number:
                return False
            try:
                self._take_up(pointer)
                return True
            except FileNotFoundError as error:
                if attempt == _OPENINGS - 1:
                    missing = Path(str(error.filename)).name
                    raise UserError(f"the index {self.directory} is damaged: {missing} is missing") from error
        raise AssertionError("unreachable")

    def write(self, parts: Sequence[Part]) -> None:
        """Writes what is new in `parts`, makes them count, and deletes what no longer does."""
        try:
            pointer = self._write_all(parts)
        except BaseException:
            self.number = -1  # what counts is on disk, and is read again before the next change
            raise
        disk.clean(self.directory, {entry["file"] for part in pointer["parts"] for entry in part["files"].values()})
        self._take_up(pointer, verify=False)

    def _write_all(self, parts: Sequence[Part]) -> dict[str, Any]:
        self.number = max(self.number, disk.last_number(self.directory))
        records = [self._write_part(part) for part in parts]
        self.number += 1
        about = {"n_bits": self.n_bits, "notes": self.notes, "approximate": self.approximate}
        pointer = about | {"number": self.number, "parts": records}
        disk.write_pointer(self.directory, pointer)
        return pointer

    def _write_part(self, part: Part) -> Record:
        """The record of a part; arrays that lie in files already are not written again."""
        arrays, files = part.arrays(), {}
        for old, record in zip(self.parts, self.records, strict=True):
            if old.segment is part.segment:
                same_removed = old.removed is part.removed
                files = {name: entry for name, entry in record["files"].items() if name != "removed" or same_removed}
        self.number += 1
        new = {name: array for name, array in arrays.items() if name not in files}
        files |= disk.write_arrays(self.directory, self.number, new)
        return {"rows": len(part), "classes": list(part.details.classes) if part.details else [], "files": files}

    def _take_up(self, pointer: dict[str, Any], verify: bool | None = None) -> None:
        verify = self.verify if verify is None else verify
        known = {str(record): part for record, part in zip(self.records, self.parts, strict=True)}
        parts = [known.get(str(record)) or self._open_part(record, verify) for record in pointer["parts"]]
        self.n_bits, self.notes = int(pointer["n_bits"]), dict(pointer["notes"])
        self.approximate = pointer["approximate"]
        self.parts, self.records, self.number = parts, pointer["parts"], pointer["number"]

    def _open_part(self, record: Record, verify: bool) -> Part:
        arrays = disk.map_arrays(self.directory, record["files"], verify=verify)
        details = from_arrays(arrays, record["classes"]) if "names" in arrays else None
        segment = Segment(arrays["codes"], arrays["ids"], arrays.get("ends"))
        approximate = Approximate(arrays["approximate"]) if "approximate" in arrays else None
        return Part(segment, details, arrays.get("removed", np.empty(0, np.int64)), approximate)
