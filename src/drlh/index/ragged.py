"""Lists of different lengths in two arrays: all values after one another, and where each list ends."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_STEP = 1 << 16  # lists copied in one go


@dataclass(frozen=True)
class Ragged:
    values: NDArray[Any]  # (total,)
    ends: NDArray[np.int64]  # (n,)

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, row: int) -> NDArray[Any]:
        return self.values[self.ends[row - 1] if row else 0 : self.ends[row]]

    def starts(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.where(rows > 0, self.ends[rows - 1], 0)

    def take(self, rows: NDArray[np.int64]) -> "Ragged":
        """The lists of `rows`, in that order; in steps, for a place takes eight bytes and a value perhaps one."""
        starts = self.starts(rows)
        lengths = self.ends[rows] - starts
        ends = np.cumsum(lengths)
        values = np.empty(int(ends[-1]) if len(ends) else 0, self.values.dtype)
        for at in range(0, len(rows), _STEP):
            step = slice(at, at + _STEP)
            places = spread(starts[step], lengths[step])
            first = int(ends[at] - lengths[at])
            values[first : first + len(places)] = self.values[places]
        return Ragged(values, ends)


def spread(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """The places start, start + 1, … of every list, after one another: (sum of lengths,)."""
    skipped = np.cumsum(lengths) - lengths
    places: NDArray[np.int64] = np.arange(int(lengths.sum())) + np.repeat(starts - skipped, lengths)
    return places


def join(parts: list[Ragged]) -> Ragged:
    """The lists of several, after one another."""
    shifts = np.cumsum([0] + [len(part.values) for part in parts[:-1]])
    ends = [part.ends + shift for part, shift in zip(parts, shifts, strict=True)]
    return Ragged(np.concatenate([part.values for part in parts]), np.concatenate(ends).astype(np.int64))
