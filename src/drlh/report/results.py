"""Every record in plain tables: one for each group of numbers that can be compared."""

from collections import defaultdict
from collections.abc import Sequence
from statistics import mean

from drlh.bench.records import Group, Record, by_group
from drlh.report.grid import Grid, spread

SEEN = "Supervised methods have seen the labels of the images searched."


def results_grids(records: Sequence[Record]) -> list[Grid]:
    return [group_grid(group, found) for group, found in by_group(records).items()]


def group_grid(group: Group, records: Sequence[Record]) -> Grid:
    """Methods in the order of their best mAP; fitting time is the mean at the longest code."""
    # A reference line has 0 bits; a column for it is needed only where it stands alone.
    bits = sorted({record["bits"] for record in records if record["bits"]}) or [0]
    rows: dict[str, dict[int, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        for n_bits in [record["bits"]] if record["bits"] else bits:
            rows[row_name(record)][n_bits].append(record)
    shown = []
    for name, cells in sorted(rows.items(), key=lambda row: -max(mean(r["map"] for r in c) for c in row[1].values())):
        shown.append(_row(name, cells, bits, "map"))
        if any("map_own" in record for cell in cells.values() for record in cell):
            shown.append(_row(f"{name}, own ranking", cells, bits, "map_own"))
    heads = [f"{n} bits" if n else "any length" for n in bits]
    return Grid(group.title, ["method", *heads, "seeds", "fit"], shown, [SEEN] if labels_seen(records) else [])


def labels_seen(records: Sequence[Record]) -> bool:
    return any(record["database_labels_seen"] and record["supervised"] for record in records)


def row_name(record: Record) -> str:
    changed = ", ".join(f"{name}={value}" for name, value in sorted(record["parameters"].items()))
    return f"{record['method']} ({changed})" if changed else str(record["method"])


def _row(name: str, cells: dict[int, list[Record]], bits: Sequence[int], value: str) -> list[str]:
    shown = [spread([record[value] for record in cells.get(n, []) if value in record]) for n in bits]
    longest = cells[max(cells)]
    seconds = mean(record["fit_seconds"] for record in longest)
    return [name, *shown, str(len(longest)), f"{seconds:.1f} s"]
