"""Makes docs/results.md from the records of `drlh bench --records benchmarks/records`: python benchmarks/tables.py"""

import json
from collections import defaultdict
from pathlib import Path
from statistics import mean, stdev
from typing import Any

ROOT = Path(__file__).parent.parent
Record = dict[str, Any]

HEAD = """# Results

Made by `python benchmarks/tables.py` from the records in `benchmarks/records`, which
`drlh bench … --records benchmarks/records` wrote. Tie-aware mAP, mean ± standard deviation over the seeds; each seed is
a split and a start of its own. Fit seconds are the mean at the longest code, with other work on the machine.
Codes rank by plain Hamming distance; `own ranking` is the ranking a method has of its own. `topline` ranks by a
classifier's posteriors and makes no codes: one value stands for every length.
"""


def main() -> None:
    groups: dict[str, list[Record]] = defaultdict(list)
    for path in sorted((ROOT / "benchmarks" / "records").rglob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        groups[_title(record)].append(record)
    parts = [HEAD, *(_table(title, records) for title, records in groups.items())]
    (ROOT / "docs" / "results.md").write_text("\n".join(parts), encoding="utf-8")


def _title(record: Record) -> str:
    sizes = f"{record['n_query']:,} queries, {record['n_train']:,} training images, {record['n_database']:,} searched"
    return f"## {record['data']}, {record['protocol']}: {sizes}"


def _table(title: str, records: list[Record]) -> str:
    # A reference line has 0 bits; a column for it is needed only where it stands alone.
    bits = sorted({record["bits"] for record in records if record["bits"]}) or [0]
    rows: dict[str, dict[int, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        for n_bits in [record["bits"]] if record["bits"] else bits:
            rows[_name(record)][n_bits].append(record)
    heads = [f"{n} bits" if n else "any length" for n in bits]
    lines = [f"| method | {' | '.join(heads)} | seeds | fit |", "|---" * (len(bits) + 3) + "|"]
    for name, cells in sorted(rows.items(), key=lambda row: -max(mean(r["map"] for r in c) for c in row[1].values())):
        lines.append(_row(name, cells, bits, "map"))
        if any("map_own" in record for cell in cells.values() for record in cell):
            lines.append(_row(f"{name}, own ranking", cells, bits, "map_own"))
    seen = any(record["database_labels_seen"] and record["supervised"] for record in records)
    note = ["", "Supervised methods have seen the labels of the images searched."] if seen else []
    return "\n".join([title, "", *lines, *note, ""])


def _row(name: str, cells: dict[int, list[Record]], bits: list[int], value: str) -> str:
    shown = [_cell([record[value] for record in cells.get(n, []) if value in record]) for n in bits]
    longest = cells[max(cells)]
    seconds = mean(record["fit_seconds"] for record in longest)
    return f"| {name} | {' | '.join(shown)} | {len(longest)} | {seconds:.1f} s |"


def _name(record: Record) -> str:
    changed = ", ".join(f"{name}={value}" for name, value in sorted(record["parameters"].items()))
    return f"{record['method']} ({changed})" if changed else str(record["method"])


def _cell(values: list[float]) -> str:
    if not values:
        return "–"
    spread = f" ± {stdev(values):.3f}" if len(values) > 1 else ""
    return f"{mean(values):.3f}{spread}"


if __name__ == "__main__":
    main()
