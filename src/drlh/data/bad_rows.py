"""Rows that cannot be used: the first one is an error, or all of them are left out and reported."""

from dataclasses import replace
from typing import SupportsIndex

import numpy as np

from drlh.core.errors import UserError
from drlh.data.base import DataSet
from drlh.data.some_images import subset


class BadRows:
    """One sentence for each bad row; without `skip_bad` the first one is raised."""

    def __init__(self, skip_bad: bool) -> None:
        self.skip_bad = skip_bad
        self._sentences: dict[int, str] = {}

    def add(self, row: SupportsIndex, sentence: str) -> None:
        if not self.skip_bad:
            raise UserError(f"{sentence}; repair it, or leave such rows out with skip_bad")
        self._sentences.setdefault(int(row), sentence)

    @property
    def left_out(self) -> tuple[str, ...]:
        return tuple(self._sentences[row] for row in sorted(self._sentences))

    def drop_from(self, dataset: DataSet) -> DataSet:
        """`dataset` without its bad rows, their sentences in `left_out`."""
        if self._sentences:
            mask = np.ones(len(dataset), np.bool_)
            mask[list(self._sentences)] = False
            dataset = subset(dataset, mask)
        return refuse_empty(replace(dataset, left_out=self.left_out))


def refuse_empty(dataset: DataSet) -> DataSet:
    if len(dataset) == 0 or not dataset.classes:
        why = f": all {len(dataset.left_out)} were left out, first {dataset.left_out[0]}" if dataset.left_out else ""
        raise UserError(f"{dataset.name} has no usable row{why}; a data set needs at least one row and one class")
    return dataset
