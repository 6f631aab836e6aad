"""Fitting time and mAP of DRLH and a deep method, by one process and by two that `torchrun` starts.

    python benchmarks/torchrun_speed.py [--data digits] [--methods drlh,dpsh] [--set n_epochs=3] [--json]

Every process has one thread, so that two of them have twice the cores. `--data` is `digits` or a feature file; a model
learns from the training rows of the protocol `split` and its codes are evaluated under it.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from drlh.bench.machine import machine, versions
from drlh.bench.scores import evaluate_file
from drlh.cli.console import print_table
from drlh.data import load
from drlh.encoding.outputs import encode_to_file
from drlh.features import make_extractor, with_features


def fit(given: argparse.Namespace, method: str, processes: int, model: Path) -> dict[str, Any]:
    """What `drlh fit --json` says, run by `torchrun` where there are several processes."""
    start = [sys.executable, "-m"]
    if processes > 1:
        start += ["torch.distributed.run", "--standalone", "--nproc-per-node", str(processes), "-m"]
    options = ["--protocol", "split", "--n-query", str(given.queries), "--n-train", str(given.train)]
    options += [word for one in given.set for word in ("--set", one)]
    command = [*start, "drlh", "fit", "--data", given.data, "--method", method, "--bits", str(given.bits)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, *options, "-o", str(model), "--json"], env=environment, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"{method} with {processes} processes failed: {done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def measure(given: argparse.Namespace, method: str, processes: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        model, codes = Path(folder) / "model", Path(folder) / "codes.npz"
        fitted = fit(given, method, processes, model)
        dataset = load(given.data)
        if dataset.features is None:
            dataset = with_features(dataset, make_extractor("gray8"))
        encode_to_file(model, dataset, codes)
        scores = evaluate_file(codes, "split", seed=0, n_query=given.queries, n_train=given.train)
    return {
        "method": method,
        "processes": processes,
        "n_train": fitted["n_train"],
        "fit_seconds": fitted["fit_seconds"],
        "map": round(scores["map"], 4),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="digits")
    parser.add_argument("--methods", default="drlh,dpsh")
    parser.add_argument("--bits", type=int, default=32)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--train", type=int, default=1000)
    parser.add_argument("--processes", default="1,2")
    parser.add_argument("--set", action="append", default=[], help="a parameter of the methods, NAME=VALUE")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    numbers = [int(word) for word in given.processes.split(",")]
    records = [measure(given, method, n) for method in given.methods.split(",") for n in numbers]
    if given.json:
        print(
            json.dumps({"machine": machine() | versions(), "data": given.data, "bits": given.bits, "records": records})
        )
        return
    print_table(list(records[0]), [list(record.values()) for record in records])


if __name__ == "__main__":
    main()
