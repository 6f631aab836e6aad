"""Verbs that measure: `drlh evaluate`, `drlh bench`, `drlh bench paper` and `drlh report`."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from drlh.cli.console import ProgressBar, print_json, print_table, say
from drlh.cli.learn import open_data
from drlh.cli.options import (
    DATA,
    DirOption,
    FeaturesOption,
    FlipOption,
    JsonOption,
    LayerOption,
    ProtocolOption,
    QueryOption,
    RecordsOption,
    SeedOption,
    SetOption,
    SkipOption,
    TrainOption,
    WeightsOption,
    numbers,
    parse_parameters,
    words,
)
from drlh.cli.prepare import shortened
from drlh.core.errors import UserError

bench_app = typer.Typer(rich_markup_mode=None, invoke_without_command=True)


def evaluate(
    codes: Annotated[
        Path,
        typer.Argument(
            help="Codes of `drlh encode`, or an NPZ with query_codes, query_labels, "
            "database_codes, database_labels made elsewhere."
        ),
    ],
    protocol: ProtocolOption = "split",
    seed: SeedOption = 0,
    n_query: QueryOption = None,
    n_train: TrainOption = None,
    top_k: Annotated[int | None, typer.Option(help="Cut of mAP for codes made elsewhere (default: all).")] = None,
    legacy: Annotated[str | None, typer.Option(help="Also the number another code base would print.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Rank and score codes: tie-aware mAP with its bounds, precision, recall, lookup, NDCG.

    Example: drlh evaluate photos-codes.npz --protocol split --n-query 500
    """
    from drlh.bench.scores import evaluate_file

    result = evaluate_file(codes, protocol, seed=seed, n_query=n_query, n_train=n_train, top_k=top_k, legacy=legacy)
    if as_json:
        print_json(result)
        return
    hidden = {"precision_by_radius", "recall_by_radius", "warnings"}
    rows = [[key, shortened(value)] for key, value in result.items() if key not in hidden and value is not None]
    print_table(["measure", "value"], rows)
    for warning in result["warnings"]:
        say(f"note: {warning}")


@bench_app.callback()
def bench(
    context: typer.Context,
    data: Annotated[str | None, typer.Option("--data", help=DATA)] = None,
    methods: Annotated[str, typer.Option(help="Names of `drlh methods` with commas between them, or all.")] = "itq",
    bits: Annotated[str, typer.Option(help="Code lengths with commas between them.")] = "32",
    seeds: Annotated[str, typer.Option(help="Seeds with commas between them.")] = "0",
    protocol: ProtocolOption = "split",
    features: FeaturesOption = None,
    data_dir: DirOption = None,
    flip: FlipOption = False,
    weights: WeightsOption = None,
    layer: LayerOption = None,
    n_query: QueryOption = None,
    n_train: TrainOption = None,
    parameters: SetOption = None,
    records: Annotated[
        Path | None, typer.Option(help="Keep a record of each cell here; a rerun computes only what is missing.")
    ] = None,
    skip_bad: SkipOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compare methods under a protocol: one record for each method, length and seed.

    Example: drlh bench --data digits --protocol split --methods itq,lsh --bits 16,32 --seeds 0,1
    """
    if context.invoked_subcommand:
        return
    if data is None:
        raise UserError("drlh bench needs --data, a data set's name, folder, table or NPZ; or run drlh bench paper")
    from drlh.bench.cells import cells_of
    from drlh.bench.runner import Bench
    from drlh.evaluate.protocols import get_protocol

    chosen = parse_parameters(parameters)
    cells = cells_of(words(methods), numbers(bits, "--bits"), numbers(seeds, "--seeds"), chosen)
    rule = get_protocol(protocol)
    with ProgressBar() as bar:
        dataset = open_data(
            data, features, directory=data_dir, flip=flip, weights=weights, layer=layer, skip_bad=skip_bad, bar=bar,
            backbone=chosen.get("backbone"),
        )  # fmt: skip
        found = list(Bench(dataset, rule, n_query, n_train, records).run(cells, bar))
    if as_json:
        print_json(found)
    else:
        _print_records(found)


def _print_records(records: list[dict[str, Any]]) -> None:
    first = records[0]
    columns = ["method", "bits", "seed", "map", "map_best", "map_worst", "fit_seconds", "encode_seconds"]
    if any("map_own" in record for record in records):
        columns.insert(4, "map_own")
    title = (
        f"{first['data']}, {first['protocol']}: {first['n_query']:,} queries, {first['n_train']:,} training images"
        f", {first['n_database']:,} images searched"
    )
    shown = [record | {"bits": record["bits"] or None} for record in records]
    rows = [[record.get(column) for column in columns] for record in shown]
    print_table(["own ranking" if column == "map_own" else column for column in columns], rows, title=title)
    if first["database_labels_used"] and any(record["supervised"] for record in records):
        say("note: the supervised methods have seen the labels of the images searched")
    for record in records:
        if record["bits"] == 0:
            accuracy = f", classifier's accuracy {record['accuracy']:.4f}" if "accuracy" in record else ""
            say(f"note: {record['method']}, seed {record['seed']}, stands for every length{accuracy}")


@bench_app.command("paper")
def paper(
    table: Annotated[
        str,
        typer.Option(
            help="traditional, cnn, deep, eta, steps, actions, cnn-update, tsne, timing, walks, ablation, agent, "
            "multilabel, digits, several with commas between them, or all."
        ),
    ] = "all",
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data",
            help="ROLE=FILE, may be repeated: gist and cifar10 (CIFAR-10 with GIST and with CNN features), nuswide, "
            "nuswide-cnn, voc, pictures. Named sets that are present are found without it.",
        ),
    ] = None,
    weights: Annotated[
        Path | None, typer.Option(help="A cnn-small of drlh pretrain, for the table cnn-update.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Minutes: few lengths, digits where CIFAR-10 is slow.")
    ] = False,
    seeds: Annotated[str | None, typer.Option(help="Seeds with commas (default: 0,1,2; with --quick 0).")] = None,
    workers: Annotated[int, typer.Option(help="Cells that run at once, each in one thread.")] = 2,
    records: RecordsOption = Path("runs"),
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Compute nothing: only say what would run, what is missing, and how long it takes."
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Run the experiments of the paper on the data that is available; a stopped run continues where it was.

    Example: drlh bench paper --quick --data cifar10=cifar10_lite0.npz, then: drlh report --records runs -o report
    """
    from drlh.bench.records import read_records
    from drlh.paper.jobs import duration, run_jobs
    from drlh.paper.plan import Estimates, make_plan
    from drlh.paper.sources import BACKBONE, AvailableData, parse_files
    from drlh.paper.tables import find_tables

    if workers < 1:
        raise UserError(f"--workers must be at least 1: got {workers}")
    if weights is not None:
        from drlh.networks.backbone import check_weights

        check_weights(BACKBONE, weights)
    tables, available = find_tables(table), AvailableData(parse_files(data), weights, quick)
    start = time.perf_counter()
    with ProgressBar() as bar:
        plan = make_plan(tables, available, _seeds(seeds, quick), records, bar, compute=not dry_run)
    known = read_records(records) if records.is_dir() else []
    estimates = Estimates(known)
    expected = sum(map(estimates.seconds, plan.jobs)) / workers
    for sentence in plan.left_out:
        say(f"left out: {sentence}")
    if plan.left_out:
        say("give data with --data ROLE=FILE, the weights of a CNN with --weights FILE")
    for sentence in plan.to_compute:
        say(f"before that: {sentence}")
    say(f"{len(plan.jobs)} cells to run, {plan.n_known} known; about {duration(expected)} with {workers} at once")
    failures: list[str] = []
    if not dry_run and plan.jobs:
        with ProgressBar(time_left=False) as bar:
            failures = run_jobs(plan.jobs, records, estimates, workers, bar)
    result: dict[str, Any] = {
        "records": str(records), "cells": len(plan.jobs), "known": plan.n_known,
        "left_out": plan.left_out, "to_compute": plan.to_compute,
        "failures": failures, "expected_seconds": round(expected), "seconds": round(time.perf_counter() - start, 1),
    }  # fmt: skip
    if as_json:
        print_json(result)
    elif not dry_run:
        done = f"{len(plan.jobs) - len(failures)} cells in {duration(result['seconds'])}"
        print(f"{done}; see: drlh report --records {records}")
    if failures:
        raise UserError(f"{len(failures)} cells failed, the first: {failures[0]}")


def report(
    records: RecordsOption = Path("runs"),
    out: Annotated[
        Path, typer.Option("-o", "--out", help="Directory for the page, the tables and the figures.")
    ] = Path("report"),
    fill: Annotated[
        list[Path] | None,
        typer.Option(help="Write the marked tables of this Markdown page anew instead; may be repeated."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make one HTML page, Markdown tables and figures of records, with the paper's numbers beside ours.

    Example: drlh report --records runs -o report
    """
    from drlh.bench.records import read_records
    from drlh.core.files import write_text
    from drlh.report.drawing import standalone
    from drlh.report.experiments_page import experiments_page
    from drlh.report.markdown import fill_page, markdown_blocks

    blocks = markdown_blocks(read_records(records))
    if fill:
        changed = [str(page) for page in fill if fill_page(page, blocks)]
        print_json({"changed": changed}) if as_json else print(f"written anew: {', '.join(changed) or 'nothing'}")
        return
    page, drawings = experiments_page(records)
    write_text(out / "index.html", page)
    names = [name for name in blocks if not name.endswith("-cifar10")]
    write_text(out / "tables.md", "# Experiments\n\n" + "\n".join(blocks[name] for name in names))
    for drawing in drawings:
        write_text(out / "figures" / f"{drawing.name}.svg", standalone(drawing.svg))
    result = {"page": str(out / "index.html"), "tables": str(out / "tables.md"), "figures": len(drawings)}
    if as_json:
        print_json(result)
    else:
        print(f"{result['page']}: {len(drawings)} figures; tables in {result['tables']}")


def _seeds(text: str | None, quick: bool) -> list[int]:
    return numbers(text or ("0" if quick else "0,1,2"), "--seeds")
