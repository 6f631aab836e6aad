"""From tables to jobs: which cells there are, which are known, what is left out and why, how long the rest takes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any

from drlh.bench.cells import Cell
from drlh.bench.runner import Bench
from drlh.bench.store import SCORES
from drlh.core.errors import UserError
from drlh.core.progress import Progress, quiet
from drlh.data import DataSet
from drlh.evaluate.protocols import get_protocol
from drlh.hashers.methods import is_reference
from drlh.paper.sources import BACKBONE, AvailableData, NotComputed, Source
from drlh.paper.tables import PAPER_METHOD, Panel, Row, Table

_QUICK_EPOCHS = 8  # of the paper's agent, which has 25
_UNKNOWN_SECONDS = 30.0  # a cell nothing is known about
_SECONDS_A_PICTURE = 0.3  # a cell that trains a CNN, of which nothing is known

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Job:
    """One cell of one panel: its scores, or a snapshot of kind `tsne` or `walks`."""

    source: Source
    panel: Panel
    cell: Cell
    kind: str = SCORES
    size: tuple[int, int] = (0, 0)  # training images and features, by which its time is estimated

    def __str__(self) -> str:
        kind = "" if self.kind == SCORES else f"{self.kind} "
        length = f" {self.cell.n_bits} bits" if self.cell.n_bits else ""
        changed = "".join(
            f", {key}={value}" for key, value in self.cell.parameters.items() if key != "backbone_weights"
        )
        return f"{kind}{self.cell.method}{length}{changed}, seed {self.cell.seed}"

    @property
    def key(self) -> Key:
        """Tables share cells: equal keys are the same work."""
        parameters = tuple(sorted((name, repr(value)) for name, value in self.cell.parameters.items()))
        place = (self.source, replace(self.panel, bits=()))
        return (*place, self.cell.method, self.cell.n_bits, self.cell.seed, parameters, self.kind)


def bench_of(data: DataSet, panel: Panel, records: Path, cells_at_once: int = 1) -> Bench:
    bench = Bench(data, get_protocol(panel.protocol), panel.n_query, panel.n_train, records, cells_at_once)
    bench.check()
    return bench


@dataclass
class Plan:
    """Work to be done."""

    jobs: list[Job] = field(default_factory=list)
    n_known: int = 0
    left_out: list[str] = field(default_factory=list)  # tables and panels whose data is missing, a sentence each
    to_compute: list[str] = field(default_factory=list)  # before the jobs; filled only where nothing is computed


def make_plan(
    tables: Sequence[Table],
    available: AvailableData,
    seeds: Sequence[int],
    records: Path,
    progress: Progress = quiet,
    *,
    compute: bool = True,
) -> Plan:
    """Opens every source once: features that are missing are computed here, and not by each worker.

    Without `compute` nothing is computed: the plan says what a run would compute first, and since a record is known by
    its features, every cell that waits for some counts as one to run.
    """
    plan, planned = Plan(), set[Key]()
    benches = _Benches(available, records, progress, compute)
    # Seed by seed, so that every table has something to show early.
    for seed, table in product(seeds, tables):
        if table.snapshot and seed != seeds[0]:
            continue  # one snapshot is enough
        panels = table.quick if available.quick else table.panels
        if not panels:
            _note(plan.left_out, f"{table.name}: it has no quick form")
        for panel in panels:
            bench: Bench | None = None
            try:
                source = available.find(panel, seed)
                bench = benches.get(source, panel, seed)
            except NotComputed as missing:
                _note(plan.to_compute, str(missing))
            except UserError as error:
                if panel.role in available.files:
                    raise
                _note(plan.left_out, f"{table.name}, {panel.role} ({panel.protocol}): {error}")
                continue
            for job in jobs_of(table, panel, source, seed, available, _size(bench, seed)):
                if job.key not in planned:
                    planned.add(job.key)
                    _add(plan, job, bench)
    return plan


class _Benches:
    """One bench for each source and panel, each source opened once."""

    def __init__(self, available: AvailableData, records: Path, progress: Progress, compute: bool) -> None:
        self._available, self._records, self._progress, self._compute = available, records, progress, compute
        self._opened: dict[Source, DataSet | NotComputed] = {}
        self._benches: dict[tuple[Source, Panel], Bench] = {}

    def get(self, source: Source, panel: Panel, seed: int) -> Bench:
        if source not in self._opened:
            self._opened[source] = self._open(source, panel, seed)
        data = self._opened[source]
        if isinstance(data, NotComputed):
            raise data
        if (source, panel) not in self._benches:
            self._benches[source, panel] = bench_of(data, panel, self._records)
        return self._benches[source, panel]

    def _open(self, source: Source, panel: Panel, seed: int) -> DataSet | NotComputed:
        if self._compute:
            self._available.prepare(source, panel, seed, self._progress)
        try:
            return source.open(self._progress, compute=self._compute)
        except NotComputed as missing:
            return missing


def _size(bench: Bench | None, seed: int) -> tuple[int, int]:
    if bench is None:
        return 0, 0
    assert bench.data.features is not None  # the bench has checked
    return len(bench.split(seed).train), int(bench.data.features.shape[1])


def _note(sentences: list[str], sentence: str) -> None:
    if sentence not in sentences:
        sentences.append(sentence)


def _add(plan: Plan, job: Job, bench: Bench | None) -> None:
    if bench is not None and bench.find(job.cell, job.kind) is not None:
        plan.n_known += 1
    else:
        plan.jobs.append(job)


def jobs_of(
    table: Table, panel: Panel, source: Source, seed: int, available: AvailableData, size: tuple[int, int]
) -> Iterable[Job]:
    for n_bits in panel.bits:
        for row in table.rows(n_bits):
            length = 0 if is_reference(row.method) else n_bits
            cell = Cell(row.method, length, seed, _parameters(row, panel, available))
            yield Job(source, panel, cell, table.snapshot or SCORES, size)


def _parameters(row: Row, panel: Panel, available: AvailableData) -> dict[str, Any]:
    parameters = dict(row.parameters)
    if available.quick and row.method == PAPER_METHOD:
        parameters.setdefault("n_epochs", _QUICK_EPOCHS)
    if panel.role == "cnn-joint":
        parameters |= {"backbone": BACKBONE, "backbone_weights": str(available.weights)}
    return parameters


class Estimates:
    """Seconds a cell will take, from records of the nearest kind."""

    def __init__(self, records: Iterable[Mapping[str, Any]]) -> None:
        self._known: dict[Key, list[float]] = {}
        for record in records:
            seconds = record.get("cell_seconds", record["fit_seconds"] + record["encode_seconds"])
            size = (record["n_train"], record["n_features"])
            self._add(_kinds(record["method"], record["bits"], record["parameters"], size), seconds)

    def learn(self, job: Job, seconds: float) -> None:
        self._add(_kinds(job.cell.method, job.cell.n_bits, job.cell.parameters, job.size), seconds)

    def _add(self, kinds: Sequence[Key], seconds: float) -> None:
        for kind in kinds:
            self._known.setdefault(kind, []).append(seconds)

    def seconds(self, job: Job) -> float:
        for kind in _kinds(job.cell.method, job.cell.n_bits, job.cell.parameters, job.size):
            if kind in self._known:
                return mean(self._known[kind])
        return _SECONDS_A_PICTURE * job.size[0] if "backbone" in job.cell.parameters else _UNKNOWN_SECONDS


def _kinds(method: str, n_bits: int, parameters: Mapping[str, Any], size: tuple[int, int]) -> list[Key]:
    """From the very same cell with another seed to any cell at all; one with a CNN says nothing about the others."""
    backbone = parameters.get("backbone")
    exact = tuple(sorted((name, repr(value)) for name, value in parameters.items() if name != "backbone_weights"))
    kinds = [(method, n_bits, exact, size), (method, n_bits, backbone, size), (method, backbone, size)]
    kinds += [(size, backbone)]
    return kinds if backbone else [*kinds, ()]
