"""From tables to jobs: which cells there are, which are known, what is left out and why, how long the rest takes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any

from drlh.bench.bench import Bench, Cell
from drlh.core.errors import UserError
from drlh.core.progress import Progress, quiet
from drlh.data import DataSet
from drlh.evaluate.protocols import get_protocol
from drlh.hashers.methods import is_reference
from drlh.paper.snapshots import look_path
from drlh.paper.sources import BACKBONE, AtHand, Source
from drlh.paper.tables import Panel, Row, Table

_QUICK_EPOCHS = 8  # of the paper's preset, which has 25
_UNKNOWN_SECONDS = 30.0  # a cell nothing is known about
_SECONDS_A_PICTURE = 0.3  # a cell that teaches a CNN, of which nothing is known

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Job:
    """One cell of one panel; `look` asks for something to look at in place of scores."""

    source: Source
    panel: Panel
    cell: Cell
    look: str | None = None
    size: tuple[int, int] = (0, 0)  # training images and features, by which its time is guessed

    def __str__(self) -> str:
        length = f" {self.cell.n_bits} bits" if self.cell.n_bits else ""
        changed = "".join(
            f", {key}={value}" for key, value in self.cell.parameters.items() if key != "backbone_weights"
        )
        return f"{self.look or ''} {self.cell.method}{length}{changed}, seed {self.cell.seed}".strip()

    @property
    def key(self) -> Key:
        """Tables share cells: equal keys are the same work."""
        parameters = tuple(sorted((name, repr(value)) for name, value in self.cell.parameters.items()))
        place = (self.source, replace(self.panel, bits=()))
        return (*place, self.cell.method, self.cell.n_bits, self.cell.seed, parameters, self.look)


def bench_of(data: DataSet, panel: Panel, records: Path, at_once: int = 1) -> Bench:
    bench = Bench(data, get_protocol(panel.protocol), panel.n_query, panel.n_train, records, at_once)
    bench.check()
    return bench


@dataclass
class Plan:
    """Work to be done."""

    jobs: list[Job] = field(default_factory=list)
    n_known: int = 0
    left_out: list[str] = field(default_factory=list)


def make_plan(
    tables: Sequence[Table], at_hand: AtHand, seeds: Sequence[int], records: Path, progress: Progress = quiet
) -> Plan:
    """Opens every source once: features that are missing are made here, and not by each worker."""
    plan, seen = Plan(), set[Key]()
    opened: dict[Source, DataSet] = {}
    benches: dict[tuple[Source, Panel], tuple[Bench, tuple[int, int]]] = {}
    # Seed by seed, so that every table has something to show early.
    for seed, table in product(seeds, tables):
        if table.look and seed != seeds[0]:
            continue  # one is enough to look at
        panels = table.quick if at_hand.quick else table.panels
        if not panels:
            _leave_out(plan, f"{table.name}: it has no quick form")
        for panel in panels:
            try:
                source = at_hand.find(panel, seed, progress)
                if source not in opened:
                    opened[source] = source.open(progress)
                if (source, panel) not in benches:
                    bench = bench_of(opened[source], panel, records)
                    benches[source, panel] = bench, _size(bench, seed)
            except UserError as error:
                if panel.role in at_hand.files:
                    raise
                _leave_out(plan, f"{table.name}, {panel.role} ({panel.protocol}): {error}")
                continue
            bench, size = benches[source, panel]
            for job in jobs_of(table, panel, source, seed, at_hand, size):
                if job.key not in seen:
                    seen.add(job.key)
                    _add(plan, job, bench)
    return plan


def _size(bench: Bench, seed: int) -> tuple[int, int]:
    split = bench.protocol.split(bench.data.labels, bench.data.test, seed, bench.n_query, bench.n_train)
    assert bench.data.features is not None  # the bench has checked
    return len(split.train), int(bench.data.features.shape[1])


def _leave_out(plan: Plan, sentence: str) -> None:
    if sentence not in plan.left_out:
        plan.left_out.append(sentence)


def _add(plan: Plan, job: Job, bench: Bench) -> None:
    path = look_path(bench, job.cell, job.look) if job.look else bench.path(job.cell)
    if path and path.exists():
        plan.n_known += 1
    else:
        plan.jobs.append(job)


def jobs_of(
    table: Table, panel: Panel, source: Source, seed: int, at_hand: AtHand, size: tuple[int, int]
) -> Iterable[Job]:
    for n_bits in panel.bits:
        for row in table.rows(n_bits):
            length = 0 if is_reference(row.method) else n_bits
            cell = Cell(row.method, length, seed, _parameters(row, panel, at_hand))
            yield Job(source, panel, cell, table.look, size)


def _parameters(row: Row, panel: Panel, at_hand: AtHand) -> dict[str, Any]:
    parameters = dict(row.parameters)
    if at_hand.quick and parameters.get("preset") == "paper":
        parameters.setdefault("n_epochs", _QUICK_EPOCHS)
    if panel.role == "cnn-joint":
        parameters |= {"backbone": BACKBONE, "backbone_weights": str(at_hand.weights)}
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
    preset = parameters.get("preset"), backbone
    exact = tuple(sorted((name, repr(value)) for name, value in parameters.items() if name != "backbone_weights"))
    kinds = [(method, n_bits, exact, size), (method, n_bits, preset, size), (method, preset, size), (size, backbone)]
    return kinds if backbone else [*kinds, ()]
