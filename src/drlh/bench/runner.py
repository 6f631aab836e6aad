"""Runs methods under a protocol, one record for each (method, bits, seed).

A record is a plain dictionary. With a directory for records each cell is written as soon as it is finished, and a
later run with the same settings reads it from there: a killed run loses one cell at most. With a record goes the
average precision of each query and the curves of precision and recall over the Hamming radius.

Every method is ranked by plain Hamming distance. A method with a ranking of its own offers
`query_vectors(X) -> (n, d)` and `database_vectors(X) -> (n, d)`, where a larger inner product is nearer: `map_own` is
what that ranking gives. A reference line has nothing else; it stands for every length, so its bits are 0.
"""

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.bench.cells import Cell, changed_parameters, make_estimator
from drlh.bench.machine import commit, machine, peak_memory_mb, reset_peak_memory, versions
from drlh.bench.store import SCORES, Record, RecordStore
from drlh.core.codes import pack
from drlh.core.errors import UserError
from drlh.core.files import digest
from drlh.core.progress import Progress, quiet
from drlh.data.base import DataSet
from drlh.data.labels import Labels
from drlh.evaluate.metrics import (
    LevelCounts,
    Ties,
    average_precisions_of,
    level_counts,
    precisions_by_radius,
    recalls_by_radius,
    score_counts,
)
from drlh.evaluate.protocols import Protocol, Split, split_digest
from drlh.hashers.methods import find_method, is_reference

Scores = dict[str, NDArray[np.float64]]  # one average precision for each query, by tie rule or by ranking


@dataclass(frozen=True)
class Bench:
    """A data set under a protocol; `run` fills one cell at a time."""

    data: DataSet
    protocol: Protocol
    n_query: int | None = None
    n_train: int | None = None
    records: Path | None = None
    cells_at_once: int = 1  # recorded, since the times of cells that share a machine are longer

    def run(self, cells: Sequence[Cell], progress: Progress = quiet) -> Iterator[Record]:
        """Yields the record of each cell, from disk where it is known already."""
        self.check()
        try:
            for done, cell in enumerate(cells):
                progress(done, len(cells), f"cells, now {cell.method} {cell.n_bits} bits, seed {cell.seed}")
                yield self.record_of(cell)
            progress(len(cells), len(cells), "cells")
        finally:
            if self.store:
                self.store.compact()

    def check(self) -> None:
        """Refuses data that no ranking can be measured on."""
        if self.data.features is None:
            raise UserError(f"{self.data.name} holds images and no features: name some, for example gist")
        if len(self.data.classes) < 2:
            raise UserError(f"{self.data.name} has one class only: a ranking is judged by two or more")

    @cached_property
    def store(self) -> RecordStore | None:
        """Where the records of this data set under this protocol are kept."""
        return RecordStore(self.records / f"{self.data.name}-{self.protocol.name}") if self.records else None

    def record_of(self, cell: Cell) -> Record:
        """One cell's record: read, or measured and written."""
        known = self.find(cell)
        if known is not None:
            return known
        record, arrays = self._measure(cell)
        return self.keep(record, {name: values.astype(np.float32) for name, values in arrays.items()})

    def find(self, cell: Cell, kind: str = SCORES) -> Record | None:
        """The cell's record from disk, or None."""
        return self.store.find(self.about(cell, kind)) if self.store else None

    def keep(self, record: Record, arrays: dict[str, NDArray[Any]]) -> Record:
        return self.store.add(record, arrays) if self.store else record

    @cached_property
    def _data_digest(self) -> str:
        assert self.data.features is not None  # `check` has made sure
        return digest(self.data.features, self.data.labels)

    @cached_property
    def _splits(self) -> dict[int, tuple[Split, str]]:
        return {}

    def split(self, seed: int) -> Split:
        return self._split_and_digest(seed)[0]

    def _split_and_digest(self, seed: int) -> tuple[Split, str]:
        if seed not in self._splits:
            split = self.protocol.split(self.data.labels, self.data.test, seed, self.n_query, self.n_train)
            self._splits[seed] = split, split_digest(split)
        return self._splits[seed]

    def fitted(self, cell: Cell) -> Any:
        """The cell's method, fitted on the training rows of its split."""
        return self._fitted_and_seconds(cell)[0]

    def _fitted_and_seconds(self, cell: Cell) -> tuple[Any, float]:
        """(the fitted estimator, the seconds its fit took).

        Cells that differ only in parameters of encoding, one after another, share a fit.
        """
        parameters = {"random_state": cell.seed, **cell.parameters}
        estimator = make_estimator(cell.method, cell.n_bits, parameters)
        of_encoding = getattr(estimator, "encoding_parameters", ())
        decisive = {name: value for name, value in parameters.items() if name not in of_encoding}
        key = (cell.method, cell.n_bits, json.dumps(decisive, sort_keys=True, default=repr))
        if key not in self._last_fit:
            self._last_fit.clear()  # before the fit, so that no memory of another counts towards its own
            start = time.perf_counter()
            estimator.fit(*self.rows(self.split(cell.seed).train))
            self._last_fit[key] = estimator, round(time.perf_counter() - start, 3)
        known, seconds = self._last_fit[key]
        return known.set_params(**{name: getattr(estimator, name) for name in of_encoding}), seconds

    @cached_property
    def _last_fit(self) -> dict[tuple[str, int, str], tuple[Any, float]]:
        return {}

    def _measure(self, cell: Cell) -> tuple[Record, Scores]:
        """The record, and the arrays that belong to it."""
        record, split = self.about(cell), self.split(cell.seed)
        make_estimator(cell.method, cell.n_bits, cell.parameters)  # its imports do not count towards its time
        reset_peak_memory()
        start, cpu_start = time.perf_counter(), time.process_time()
        estimator, seconds = self._fitted_and_seconds(cell)
        if is_reference(cell.method):
            found, arrays = self._measure_reference(estimator, split)
        else:
            found, arrays = self._measure_codes(estimator, split, cell.n_bits)
        record |= {"commit": commit(), "versions": versions(), "machine": machine()}
        record |= {"cells_at_once": self.cells_at_once} | found | {"fit_seconds": seconds}
        record["cell_seconds"] = round(time.perf_counter() - start, 3)
        record["cpu_seconds"] = round(time.process_time() - cpu_start, 3)  # hardly affected by a busy machine
        record["peak_memory_mb"] = peak_memory_mb()
        return record, arrays

    def about(self, cell: Cell, kind: str = SCORES) -> Record:
        """What a record says before anything is measured: all that decides it, and the sizes."""
        assert self.data.features is not None  # `check` has made sure
        split, rows_digest = self._split_and_digest(cell.seed)
        method = find_method(cell.method)
        return {
            "kind": kind,
            "method": method.name,
            "method_version": method.version,
            "bits": cell.n_bits,
            "seed": cell.seed,
            "parameters": changed_parameters(method.name, cell.parameters),
            "data": self.data.name,
            "data_digest": self._data_digest,
            "features": (self.data.extractor or {}).get("name"),
            "n_features": int(self.data.features.shape[1]),
            "protocol": self.protocol.name,
            "protocol_parameters": dict(self.protocol.parameters),
            "protocol_version": self.protocol.version,
            "top_k": self.protocol.top_k,
            "divisor": self.protocol.divisor,
            "n_train": len(split.train),
            "n_query": len(split.query),
            "n_database": len(split.database),
            "supervised": method.supervised,
            "database_labels_used": split.training_share == 1,
            "split_digest": rows_digest,
        }

    def _measure_codes(self, hasher: Any, split: Split, n_bits: int) -> tuple[dict[str, Any], Scores]:
        start = time.perf_counter()
        query, database = (pack(hasher.transform(self.rows(rows)[0])) for rows in (split.query, split.database))
        seconds = round(time.perf_counter() - start, 3)
        labels: Labels = self.data.labels
        counts = level_counts(query, labels[split.query], database, labels[split.database], n_bits)
        scores = self._score([counts])
        found = _summary(scores) | {"encode_seconds": seconds, "distinct_codes": len(np.unique(database, axis=0))}
        arrays = {
            "average_precision": scores["expected"],
            "precision_by_radius": precisions_by_radius(counts).mean(axis=0),
            "recall_by_radius": recalls_by_radius(counts).mean(axis=0),
        }
        if hasattr(hasher, "query_vectors"):
            arrays["average_precision_own"] = self._score(self._own_counts(hasher, split))["expected"]
            found["map_own"] = float(arrays["average_precision_own"].mean())
        return found, arrays

    def _measure_reference(self, reference: Any, split: Split) -> tuple[dict[str, Any], Scores]:
        start = time.perf_counter()
        counts = self._own_counts(reference, split)
        seconds = round(time.perf_counter() - start, 3)
        scores = self._score(counts)
        found = _summary(scores) | {"encode_seconds": seconds} | reference.accuracy(*self.rows(split.query))
        return found, {"average_precision": scores["expected"]}

    def _own_counts(self, estimator: Any, split: Split) -> Iterator[LevelCounts]:
        """Counts of an estimator's own ranking, the vectors made at once and the ranking as it is asked for."""
        query, query_labels = self.rows(split.query)
        database, database_labels = self.rows(split.database)
        vectors = estimator.query_vectors(query), estimator.database_vectors(database)
        return score_counts(vectors[0], query_labels, vectors[1], database_labels)

    def _score(self, blocks: Iterable[LevelCounts]) -> Scores:
        """Average precisions by tie rule, from counts in blocks of queries."""
        rules: tuple[Ties, ...] = ("expected", "best", "worst")
        top_k, divisor = self.protocol.top_k, self.protocol.divisor
        found = [
            [average_precisions_of(counts, top_k=top_k, divisor=divisor, ties=ties) for ties in rules]
            for counts in blocks
        ]
        return dict(zip(rules, np.concatenate(found, axis=1), strict=True))

    def rows(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.float32], Labels]:
        assert self.data.features is not None  # `check` has made sure
        return self.data.features[rows], self.data.labels[rows]


def _summary(scores: Scores) -> dict[str, float]:
    names = {"map": "expected", "map_best": "best", "map_worst": "worst"}
    return {name: float(scores[ties].mean()) for name, ties in names.items()}
