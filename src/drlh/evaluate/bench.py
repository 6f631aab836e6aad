"""Runs methods under a protocol, one record for each (method, bits, seed).

A record is a plain dictionary. With a directory for records each cell is written as soon as it is known, and a
later run with the same settings takes it from there: a stop loses one cell at most.
"""

import os
import platform
import resource
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.codes import pack
from drlh.data.base import DataSet, Labels
from drlh.errors import UserError
from drlh.evaluate.metrics import average_precisions_of, level_counts
from drlh.evaluate.protocols import Protocol, Split, split_digest
from drlh.files import digest, read_json, write_json, write_npz
from drlh.hashers.methods import METHODS, find_method, make_hasher
from drlh.progress import Progress, quiet

FORMAT, VERSION = "drlh-record", 1


@dataclass(frozen=True)
class Cell:
    """One experiment: all that decides its result."""

    method: str
    n_bits: int
    seed: int
    parameters: Mapping[str, Any] = field(default_factory=dict)


def cells_of(
    methods: Sequence[str], bits: Sequence[int], seeds: Sequence[int], parameters: Mapping[str, Any]
) -> list[Cell]:
    """Every combination; `all` stands for every method, and names are checked before anything runs."""
    names = [method.name for method in METHODS] if list(methods) == ["all"] else methods
    found = [find_method(name).name for name in names]
    for name in found:
        make_hasher(name, **parameters)
    if not (found and bits and seeds):
        raise UserError("a bench needs at least one method, one code length and one seed")
    return [Cell(name, n_bits, seed, parameters) for name in found for n_bits in bits for seed in seeds]


@dataclass(frozen=True)
class Bench:
    """A data set under a protocol; `run` fills one cell at a time."""

    data: DataSet
    protocol: Protocol
    n_query: int | None = None
    n_train: int | None = None
    records: Path | None = None

    def run(self, cells: Sequence[Cell], progress: Progress = quiet) -> Iterator[dict[str, Any]]:
        """Yields the record of each cell, from disk where it is known already."""
        if self.data.features is None:
            raise UserError(f"{self.data.name} holds images: name the features, for example --features gist")
        if len(self.data.classes) < 2:
            raise UserError(f"{self.data.name} has one class only: a ranking is judged by two or more")
        data_digest = digest(self.data.features, self.data.labels) if self.records else ""
        for done, cell in enumerate(cells):
            progress(done, len(cells), f"{cell.method} {cell.n_bits} bits, seed {cell.seed}")
            path = self._path(cell, data_digest)
            if path and path.exists():
                yield read_json(path, format_name=FORMAT, version=VERSION)
                continue
            record, per_query = self._measure(cell)
            if path:
                write_npz(path.with_suffix(".npz"), {"average_precision": per_query.astype(np.float32)})
                write_json(path, record)
            yield record
        progress(len(cells), len(cells), "cells")

    def _path(self, cell: Cell, data_digest: str) -> Path | None:
        if self.records is None:
            return None
        settings = [self.protocol.title, self.protocol.version, self.n_query, self.n_train]
        settings += [sorted(cell.parameters.items()), version("drlh")]
        tag = digest(data_digest, repr(settings))[:10]
        name = f"{cell.method}-{cell.n_bits}-seed{cell.seed}-{tag}.json"
        return self.records / f"{self.data.name}-{self.protocol.name}" / name

    def _measure(self, cell: Cell) -> tuple[dict[str, Any], NDArray[np.float64]]:
        assert self.data.features is not None  # `run` has checked
        split = self.protocol.split(self.data.labels, self.data.test, cell.seed, self.n_query, self.n_train)
        hasher = make_hasher(cell.method, cell.n_bits, random_state=cell.seed, **cell.parameters)
        start = time.perf_counter()
        hasher.fit(self.data.features[split.train], self.data.labels[split.train])
        fitted = time.perf_counter()
        query = pack(hasher.transform(self.data.features[split.query]))
        database = pack(hasher.transform(self.data.features[split.database]))
        encoded = time.perf_counter()
        scores = self._score(query, database, split, cell.n_bits)
        record = {
            "format": FORMAT,
            "version": VERSION,
            "method": cell.method,
            "bits": cell.n_bits,
            "seed": cell.seed,
            "parameters": dict(cell.parameters),
            "data": self.data.name,
            "features": (self.data.extractor or {}).get("name"),
            "protocol": self.protocol.name,
            "protocol_parameters": dict(self.protocol.parameters),
            "protocol_version": self.protocol.version,
            "map": float(scores["expected"].mean()),
            "map_best": float(scores["best"].mean()),
            "map_worst": float(scores["worst"].mean()),
            "top_k": self.protocol.top_k,
            "divisor": self.protocol.divisor,
            "fit_seconds": round(fitted - start, 3),
            "encode_seconds": round(encoded - fitted, 3),
            "n_train": len(split.train),
            "n_query": len(split.query),
            "n_database": len(split.database),
            "n_features": int(self.data.features.shape[1]),
            "distinct_codes": len(np.unique(database, axis=0)),
            "supervised": find_method(cell.method).supervised,
            "database_labels_seen": split.seen_share == 1,
            "split_digest": split_digest(split),
            "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            "machine": machine(),
        }
        return record, scores["expected"]

    def _score(
        self, query: NDArray[np.uint8], database: NDArray[np.uint8], split: Split, n_bits: int
    ) -> dict[str, NDArray[np.float64]]:
        labels: Labels = self.data.labels
        counts = level_counts(query, labels[split.query], database, labels[split.database], n_bits)
        return {
            ties: average_precisions_of(counts, top_k=self.protocol.top_k, divisor=self.protocol.divisor, ties=ties)
            for ties in ("expected", "best", "worst")
        }


def machine() -> dict[str, str]:
    """What a time was measured on, and with which versions."""
    packages = ("numpy", "scikit-learn", "torch")
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        "drlh": version("drlh"),
    } | {name: version(name) for name in packages}
