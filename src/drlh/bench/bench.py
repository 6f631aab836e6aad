"""Runs methods under a protocol, one record for each (method, bits, seed).

A record is a plain dictionary. With a directory for records each cell is written as soon as it is known, and a
later run with the same settings takes it from there: a stop loses one cell at most. Beside a record lies an NPZ with
the average precision of each query and the curves of precision and recall over the Hamming radius.

Every method is ranked by plain Hamming distance. A method with a ranking of its own offers
`query_vectors(X) -> (n, d)` and `database_vectors(X) -> (n, d)`, where a larger inner product is nearer: `map_own` is
what that ranking gives. A reference line has nothing else; it stands for every length, so its bits are 0.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.bench.machine import forget_peak_memory, machine, peak_memory_mb
from drlh.core.codes import pack
from drlh.core.errors import UserError
from drlh.core.files import digest, file_digest, read_json, write_json, write_npz
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
from drlh.hashers.methods import METHODS, REFERENCES, find_method, is_reference, make_hasher, make_reference

FORMAT, VERSION = "drlh-record", 1

Scores = dict[str, NDArray[np.float64]]  # one average precision for each query, by tie rule or by ranking


@dataclass(frozen=True)
class Cell:
    """One experiment: all that decides its result. A reference line has 0 bits."""

    method: str
    n_bits: int
    seed: int
    parameters: Mapping[str, Any] = field(default_factory=dict)


def cells_of(
    methods: Sequence[str], bits: Sequence[int], seeds: Sequence[int], parameters: Mapping[str, Any]
) -> list[Cell]:
    """Every combination; `all` stands for every method, and names are checked before anything runs."""
    names = [method.name for method in METHODS + REFERENCES] if list(methods) == ["all"] else methods
    found = [find_method(name).name for name in names]
    for name in found:
        _unfitted(name, 32, parameters)
    if not (found and bits and seeds):
        raise UserError("a bench needs at least one method, one code length and one seed")
    lengths = {name: [0] if is_reference(name) else bits for name in found}
    return [Cell(name, n_bits, seed, parameters) for name in found for n_bits in lengths[name] for seed in seeds]


def _unfitted(name: str, n_bits: int, parameters: Mapping[str, Any]) -> Any:
    return make_reference(name, **parameters) if is_reference(name) else make_hasher(name, n_bits, **parameters)


@dataclass(frozen=True)
class Bench:
    """A data set under a protocol; `run` fills one cell at a time."""

    data: DataSet
    protocol: Protocol
    n_query: int | None = None
    n_train: int | None = None
    records: Path | None = None
    at_once: int = 1  # cells that run beside each other, which a time should be read with

    def run(self, cells: Sequence[Cell], progress: Progress = quiet) -> Iterator[dict[str, Any]]:
        """Yields the record of each cell, from disk where it is known already."""
        self.check()
        for done, cell in enumerate(cells):
            progress(done, len(cells), f"cells, now {cell.method} {cell.n_bits} bits, seed {cell.seed}")
            yield self.record_of(cell)
        progress(len(cells), len(cells), "cells")

    def check(self) -> None:
        """Refuses data that no ranking can be measured on."""
        if self.data.features is None:
            raise UserError(f"{self.data.name} holds images: name the features, for example --features gist")
        if len(self.data.classes) < 2:
            raise UserError(f"{self.data.name} has one class only: a ranking is judged by two or more")

    def record_of(self, cell: Cell) -> dict[str, Any]:
        """One cell's record: read, or measured and written."""
        path = self.path(cell)
        if path and path.exists():
            return read_json(path, format_name=FORMAT, version=VERSION)
        record, arrays = self._measure(cell)
        if path:
            write_npz(path.with_suffix(".npz"), {name: values.astype(np.float32) for name, values in arrays.items()})
            write_json(path, record)
        return record

    def path(self, cell: Cell, what: str = "") -> Path | None:
        """Where a cell's record lies; `what` sets files of another kind apart."""
        if self.records is None:
            return None
        settings = [self.protocol.title, self.protocol.version, self.n_query, self.n_train]
        settings += [sorted(told_parameters(cell).items()), version("drlh")]
        tag = digest(self._data_digest, repr(settings))[:10]
        name = f"{what}{cell.method}-{cell.n_bits}-seed{cell.seed}-{tag}.json"
        return self.records / f"{self.data.name}-{self.protocol.name}" / name

    @cached_property
    def _data_digest(self) -> str:
        assert self.data.features is not None  # `check` has looked
        return digest(self.data.features, self.data.labels)

    def fitted(self, cell: Cell) -> tuple[Any, Split]:
        """The cell's method, fitted on the training rows of its split."""
        split = self.protocol.split(self.data.labels, self.data.test, cell.seed, self.n_query, self.n_train)
        estimator = _unfitted(cell.method, cell.n_bits, {"random_state": cell.seed, **cell.parameters})
        return estimator.fit(*self.rows(split.train)), split

    def _measure(self, cell: Cell) -> tuple[dict[str, Any], Scores]:
        """The record, and the arrays that belong to it."""
        _unfitted(cell.method, cell.n_bits, cell.parameters)  # what it imports is no part of its time
        forget_peak_memory()
        start, own_start = time.perf_counter(), time.process_time()
        estimator, split = self.fitted(cell)
        seconds = round(time.perf_counter() - start, 3)
        if is_reference(cell.method):
            found, arrays = self._measure_reference(estimator, split)
        else:
            found, arrays = self._measure_codes(estimator, split, cell.n_bits)
        record = self.about(cell, split) | found | {"fit_seconds": seconds}
        record["cell_seconds"] = round(time.perf_counter() - start, 3)
        record["cpu_seconds"] = round(time.process_time() - own_start, 3)  # hardly minds a busy machine
        record["peak_memory_mb"] = peak_memory_mb()
        return record, arrays

    def about(self, cell: Cell, split: Split) -> dict[str, Any]:
        """What a record says beside what was measured."""
        assert self.data.features is not None  # `check` has looked
        return {
            "format": FORMAT,
            "version": VERSION,
            "method": cell.method,
            "bits": cell.n_bits,
            "seed": cell.seed,
            "parameters": told_parameters(cell),
            "data": self.data.name,
            "features": (self.data.extractor or {}).get("name"),
            "protocol": self.protocol.name,
            "protocol_parameters": dict(self.protocol.parameters),
            "protocol_version": self.protocol.version,
            "top_k": self.protocol.top_k,
            "divisor": self.protocol.divisor,
            "n_train": len(split.train),
            "n_query": len(split.query),
            "n_database": len(split.database),
            "n_features": int(self.data.features.shape[1]),
            "supervised": find_method(cell.method).supervised,
            "database_labels_seen": split.seen_share == 1,
            "split_digest": split_digest(split),
            "machine": machine(),
            "cells_at_once": self.at_once,
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
        assert self.data.features is not None  # `check` has looked
        return self.data.features[rows], self.data.labels[rows]


def _summary(scores: Scores) -> dict[str, float]:
    names = {"map": "expected", "map_best": "best", "map_worst": "worst"}
    return {name: float(scores[ties].mean()) for name, ties in names.items()}


def told_parameters(cell: Cell) -> dict[str, Any]:
    """Parameters as a record tells them: a file of weights by its name and content, wherever it lies."""
    told = dict(cell.parameters)
    if told.get("backbone_weights"):
        path = Path(told["backbone_weights"])
        if not path.is_file():
            raise UserError(
                f"backbone_weights={str(path)!r} is not a file: wanted one of `drlh pretrain` or a publisher's"
            )
        told["backbone_weights"] = f"{path.name} {file_digest(path)[:10]}"
    return told
