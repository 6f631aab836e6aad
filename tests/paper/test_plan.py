"""From tables to jobs: what runs, what is known, what is left out, how long."""

from dataclasses import replace
from pathlib import Path

import pytest

from drlh.bench.cells import Cell
from drlh.core.errors import UserError
from drlh.paper.jobs import do_job
from drlh.paper.plan import Estimates, Job, make_plan
from drlh.paper.sources import AvailableData, Source, parse_files
from drlh.paper.tables import TABLES, Panel, Table

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRLH_CACHE", str(tmp_path / "cache"))


def test_jobs_come_seed_by_seed_and_a_cell_of_two_tables_once(feature_file: Path, table: Table, tmp_path: Path) -> None:
    available = AvailableData({"digits": str(feature_file)})
    plan = make_plan([table, replace(table, name="again")], available, [0, 1], tmp_path / "runs")
    # Two methods at two lengths, and one line that stands for both.
    assert [job.cell.seed for job in plan.jobs] == [0] * 5 + [1] * 5
    assert plan.jobs[0].size == (90, 12)
    assert plan.left_out == []


def test_snapshots_are_made_for_the_first_seed_alone(feature_file: Path, table: Table, tmp_path: Path) -> None:
    snapshots = replace(table, snapshot="tsne", rows=lambda n_bits: table.rows(n_bits)[:1])
    plan = make_plan([snapshots], AvailableData({"digits": str(feature_file)}), [3, 4], tmp_path)
    assert {job.cell.seed for job in plan.jobs} == {3}


def test_what_is_done_is_known(feature_file: Path, table: Table, tmp_path: Path) -> None:
    available = AvailableData({"digits": str(feature_file)})
    jobs = make_plan([table], available, [0], tmp_path / "runs").jobs
    do_job(jobs[0], tmp_path / "runs", 1)
    plan = make_plan([table], available, [0], tmp_path / "runs")
    assert (plan.n_known, [str(job) for job in plan.jobs]) == (1, [str(job) for job in jobs[1:]])


def test_the_committed_records_are_met_by_the_definitions() -> None:
    plan = make_plan([TABLES["digits"]], AvailableData({}), [0], ROOT / "benchmarks" / "records")
    found = {(job.cell.method, job.cell.n_bits) for job in plan.jobs}
    assert not found & {(method, n) for method in ("drlh", "itq", "sdh") for n in (16, 32, 48)}


def test_data_that_is_not_available_is_left_out_with_a_sentence(tmp_path: Path) -> None:
    plan = make_plan([TABLES["traditional"], TABLES["cnn-update"]], AvailableData({}), [0], tmp_path)
    assert plan.jobs == []
    nuswide = next(sentence for sentence in plan.left_out if "nuswide21-I" in sentence)
    assert "nuswide21 is not available" in nuswide
    assert "give a file for nuswide" in nuswide
    assert any("weights of a CNN" in sentence for sentence in plan.left_out)


def test_a_table_without_a_quick_form_is_told(tmp_path: Path) -> None:
    plan = make_plan([TABLES["multilabel"]], AvailableData({}, quick=True), [0], tmp_path)
    assert plan.left_out == ["multilabel: it has no quick form"]


def test_a_given_file_that_is_wrong_stops_everything(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.npz"):
        make_plan([TABLES["cnn"]], AvailableData({"cifar10": str(tmp_path / "none.npz")}), [0], tmp_path)
    for item in ("cifar10", "cifar=a.npz"):
        with pytest.raises(UserError, match="ROLE=FILE"):
            parse_files([item])
    assert parse_files(["gist=a=b.npz"]) == {"gist": "a=b.npz"}


def test_quick_runs_take_fewer_epochs_of_the_papers_agent(tmp_path: Path) -> None:
    jobs = make_plan([TABLES["actions"]], AvailableData({}, quick=True), [0], tmp_path).jobs
    assert {job.cell.parameters["n_epochs"] for job in jobs} == {8}


def test_time_is_guessed_from_the_nearest_records() -> None:
    def record(method: str, bits: int, seconds: float, **parameters: object) -> dict[str, object]:
        sizes = {"n_train": 100, "n_features": 5, "fit_seconds": seconds, "encode_seconds": 0.0}
        return {"method": method, "bits": bits, "parameters": parameters, **sizes}

    def guess(method: str, bits: int, size: tuple[int, int] = (100, 5), **parameters: object) -> float:
        job = Job(Source("x"), Panel("digits", "split", ()), Cell(method, bits, 9, parameters), size=size)
        return estimates.seconds(job)

    estimates = Estimates([record("a", 8, 1.0), record("a", 8, 3.0), record("a", 16, 9.0), record("b", 8, 100.0)])
    assert guess("a", 8) == 2.0
    assert guess("a", 32) == pytest.approx(13 / 3)  # other lengths of the same method
    assert guess("c", 8) == pytest.approx(113 / 4)  # anything on data of that size
    assert guess("a", 8, (900, 7)) == pytest.approx(113 / 4)  # anything at all
    assert guess("a", 8, backbone="cnn-small") == pytest.approx(30)  # a CNN takes its time for every picture
    estimates = Estimates([record("a", 8, 5000.0, backbone="cnn-small"), record("a", 16, 9.0)])
    assert guess("a", 16, backbone="cnn-small") == 5000.0
    assert guess("b", 8) == guess("b", 8, (900, 7)) == 9.0  # which says nothing about cells without one
    assert Estimates([]).seconds(Job(Source("x"), Panel("d", "split", ()), Cell("a", 8, 0))) > 0
