"""DRLH against the next best method, with what the choice of queries may have done."""

from collections.abc import Sequence
from statistics import mean

from drlh.bench.records import Group, Record, arrays_of, by_group
from drlh.evaluate.bootstrap import paired_bootstrap
from drlh.hashers.methods import DEFAULT_METHOD, find_method
from drlh.report.grid import Grid, signed

_NOTE = (
    "The next best is the method whose mAP comes nearest to DRLH's, or passes it furthest, on the splits that both "
    "were run on. Interval: paired bootstrap over the queries, 5,000 resamples; it does not cover other training "
    "images or starts."
)


def comparison_grid(records: Sequence[Record]) -> Grid:
    rows = []
    for group, found in by_group(records).items():
        plain = [record for record in found if record["bits"] and not record["parameters"]]
        for n_bits in sorted({record["bits"] for record in plain}):
            row = _row(group, [record for record in plain if record["bits"] == n_bits], n_bits)
            if row:
                rows.append(row)
    columns = ["data, protocol", "bits", "DRLH", "next best", "its mAP", "difference", "95 % interval", "seeds"]
    return Grid("DRLH against the next best", columns, rows, [_NOTE])


def _row(group: Group, records: Sequence[Record], n_bits: int) -> list[str] | None:
    ours = [record for record in records if record["method"] == DEFAULT_METHOD]
    pairs = {
        name: pairs_of(ours, [record for record in records if record["method"] == name])
        for name in sorted({record["method"] for record in records} - {DEFAULT_METHOD})
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
