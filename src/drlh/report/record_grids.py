"""Tables of records: every one, by groups of numbers that can be compared, and DRLH against the next best method."""

import re
from collections import defaultdict
from collections.abc import Sequence
from statistics import mean

from drlh.bench.records import Group, by_group
from drlh.bench.store import Record, arrays_of
from drlh.core.errors import UserError
from drlh.evaluate.bootstrap import paired_bootstrap
from drlh.hashers.methods import DEFAULT_METHOD, find_method
from drlh.paper.tables import PAPER_METHOD
from drlh.report.grid import Grid, signed, spread

LABELS_USED = "Supervised methods have seen the labels of the images searched."

_NOTE = (
    "The next best is the method whose mAP comes nearest to DRLH's, or passes it furthest, on the splits that both "
    "were run on. Interval: paired bootstrap over the queries, 5,000 resamples; it does not cover other training "
    "images or starts."
)


def is_plain(record: Record) -> bool:
    """Whether a record is of a method as it comes; variants have tables of their own."""
    return not record["parameters"]


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
    return Grid(group.title, ["method", *heads, "seeds", "fit"], shown, [LABELS_USED] if labels_used(records) else [])


def labels_used(records: Sequence[Record]) -> bool:
    return any(record["database_labels_used"] and record["supervised"] for record in records)


def row_name(record: Record) -> str:
    changed = ", ".join(f"{name}={value}" for name, value in sorted(record["parameters"].items()))
    name = method_label(record["method"])
    return f"{name} ({changed})" if changed else name


def method_label(name: str) -> str:
    """The command line's name of a method, or that of its paper where readers would take it for another method."""
    try:
        written = find_method(name).written
    except UserError:  # a record of another version of drlh
        return name
    letters = re.sub(r"\W", "", written).lower()
    return name if letters == name.replace("-", "") else written


def _row(name: str, cells: dict[int, list[Record]], bits: Sequence[int], value: str) -> list[str]:
    shown = [spread([record[value] for record in cells.get(n, []) if value in record]) for n in bits]
    longest = cells[max(cells)]
    seconds = mean(record["fit_seconds"] for record in longest)
    return [name, *shown, str(len(longest)), f"{seconds:.1f} s"]


def comparison_grid(records: Sequence[Record]) -> Grid:
    rows = []
    for group, found in by_group(records).items():
        plain = [record for record in found if record["bits"] and is_plain(record)]
        for n_bits in sorted({record["bits"] for record in plain}):
            row = _comparison_row(group, [record for record in plain if record["bits"] == n_bits], n_bits)
            if row:
                rows.append(row)
    columns = ["data, protocol", "bits", "DRLH", "next best", "its mAP", "difference", "95 % interval", "seeds"]
    return Grid("DRLH against the next best", columns, rows, [_NOTE])


def _comparison_row(group: Group, records: Sequence[Record], n_bits: int) -> list[str] | None:
    ours = [record for record in records if record["method"] == DEFAULT_METHOD]
    pairs = {
        name: pairs_of(ours, [record for record in records if record["method"] == name])
        for name in sorted({record["method"] for record in records} - {DEFAULT_METHOD, PAPER_METHOD})
    }
    pairs = {name: some for name, some in pairs.items() if some}
    if not pairs:
        return None
    name = min(pairs, key=lambda other: mean(one["map"] - two["map"] for one, two in pairs[other]))
    first, second = zip(*pairs[name])
    precisions = [[arrays_of(record)["average_precision"] for record in side] for side in (first, second)]
    found = paired_bootstrap(*precisions)
    values = [f"{mean(record['map'] for record in side):.3f}" for side in (first, second)]
    interval = f"{signed(found.low)} to {signed(found.high)}"
    seeds = str(len(first))
    place = f"{group.source}, {group.protocol}, {group.n_train:,} training images"
    other = find_method(name).written
    return [place, str(n_bits), values[0], other, values[1], signed(found.difference), interval, seeds]


def pairs_of(ours: Sequence[Record], theirs: Sequence[Record]) -> list[tuple[Record, Record]]:
    """Records of the same split and seed, whose queries can be compared one by one."""
    by_split = {_split(record): record for record in theirs if arrays_of(record)}
    return [
        (record, by_split[_split(record)])
        for record in sorted(ours, key=lambda one: one["seed"])
        if _split(record) in by_split and arrays_of(record)
    ]


def _split(record: Record) -> tuple[str, int]:
    """Some protocols have one split for all seeds."""
    return record["split_digest"], record["seed"]
