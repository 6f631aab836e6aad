"""How far apart the codewords of each kind lie, and how long they take to make.

    python benchmarks/codebooks.py [--seeds 3]

Writes the raw records to benchmarks/codebooks.json and the tables made from them into docs/codebooks.md.
"""

import argparse
import platform
import time
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from drlh.core.errors import UserError
from drlh.core.files import write_json, write_text
from drlh.hashers.codebook.codebook import KINDS, distance_bound, make_codebook, plotkin_bound

RECORDS = Path(__file__).with_suffix(".json")
PAGE = Path(__file__).parents[1] / "docs" / "codebooks.md"
BEGIN, END = "<!-- made by benchmarks/codebooks.py -->", "<!-- end -->"
LENGTHS = (8, 12, 16, 24, 32, 48, 64, 128)
CLASSES = (10, 21, 100, 1000)


def measure(kind: str, n_classes: int, n_bits: int, seed: int) -> dict[str, Any]:
    record: dict[str, Any] = {"kind": kind, "n_classes": n_classes, "n_bits": n_bits, "seed": seed}
    start = time.process_time()
    try:
        codebook = make_codebook(n_classes, n_bits, kind=kind, random_state=seed)
    except UserError as error:
        return record | {"refused": str(error)}
    seconds = round(time.process_time() - start, 3)
    found = {"distance": codebook.distance, "mean_distance": codebook.mean_distance, "source": codebook.source}
    return record | found | {"cpu_seconds": seconds}


def cell(records: list[dict[str, Any]], kind: str, n_classes: int, n_bits: int) -> str:
    """Minimum distance, as a range where seeds differ, and the mean distance."""
    wanted = (kind, n_classes, n_bits)
    found = [
        record
        for record in records
        if (record["kind"], record["n_classes"], record["n_bits"]) == wanted and "distance" in record
    ]
    if not found:
        return "–"
    distances = sorted({record["distance"] for record in found})
    span = f"{distances[0]}" if len(distances) == 1 else f"{distances[0]}–{distances[-1]}"
    return f"{span} ({mean(record['mean_distance'] for record in found):.1f})"


def table(records: list[dict[str, Any]], n_classes: int) -> str:
    rows = [f"| {n_classes} classes | " + " | ".join(f"{n_bits} bits" for n_bits in LENGTHS) + " |"]
    rows.append("|---" * (len(LENGTHS) + 1) + "|")
    for name, bound in (("Plotkin bound", plotkin_bound), ("sharper bound", distance_bound)):
        values = [str(bound(n_classes, b)) if n_classes <= 2**b else "–" for b in LENGTHS]
        rows.append(f"| {name} | " + " | ".join(values) + " |")
    for kind in KINDS:
        rows.append(f"| `{kind}` | " + " | ".join(cell(records, kind, n_classes, b) for b in LENGTHS) + " |")
    return "\n".join(rows)


def slowest(records: list[dict[str, Any]]) -> str:
    """The longest CPU time of a `bch` codebook for each number of classes."""
    times = {
        n_classes: max(
            record.get("cpu_seconds", 0.0)
            for record in records
            if record["kind"] == "bch" and record["n_classes"] == n_classes
        )
        for n_classes in CLASSES
    }
    return ", ".join(f"{n_classes} classes {seconds:.1f} s" for n_classes, seconds in times.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seeds", type=int, default=3)
    n_seeds = parser.parse_args().seeds
    records = [
        measure(kind, n_classes, n_bits, seed)
        for n_classes in CLASSES
        for n_bits in LENGTHS
        for kind in KINDS
        for seed in range(n_seeds)
    ]
    machine = {"python": platform.python_version(), "numpy": np.__version__, "machine": platform.machine()}
    write_json(RECORDS, {"format": "drlh-codebook-records", "version": 1} | machine | {"records": records})
    tables = "\n\n".join(table(records, n_classes) for n_classes in CLASSES)
    note = f"{n_seeds} seeds; slowest `bch` codebook, in CPU time: {slowest(records)} ({platform.machine()})."
    page = PAGE.read_text(encoding="utf-8")
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    write_text(PAGE, f"{before}{BEGIN}\n{tables}\n\n{note}\n{END}{after}")


if __name__ == "__main__":
    main()
