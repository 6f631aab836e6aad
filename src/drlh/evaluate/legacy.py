"""The mean average precision that well-known code bases print, each under its own name.

They differ from ours in three ways: ties stay in the order a sort leaves them in, so the number depends on the
order of the database rows; the divisor is the number of relevant items found above the cut; and some leave queries
without any hit out of the mean. Use these to line up with a paper, never to compare methods.

NumPy's default sort breaks ties differently from one processor and NumPy version to another; `kind="stable"`
asks for the database order instead. HashNet ranks real-valued outputs: its number is met where these are
binarised first.
"""

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import Codes, distance_blocks, pack
from drlh.core.errors import UserError
from drlh.data.labels import Labels
from drlh.evaluate.counts import check_code_pair, check_labels

Kind = Literal["quicksort", "heapsort", "stable"]
Order = Callable[[NDArray[np.float32], int, Kind], NDArray[np.int64]]


def _sorted_order(distances: NDArray[np.float32], cut: int, kind: Kind) -> NDArray[np.int64]:
    return np.argsort(distances, kind=kind)[:cut]


def _partitioned_order(distances: NDArray[np.float32], cut: int, kind: Kind) -> NDArray[np.int64]:
    """A partition picks the nearest `cut` items first; which of the tied ones get in is the partition's choice."""
    nearest = np.argpartition(distances, cut - 1)[:cut]
    return nearest[np.argsort(distances[nearest], kind=kind)]


@dataclass(frozen=True)
class LegacyMode:
    """How one code base computes its mAP."""

    repository: str
    file: str
    kind: Kind  # the sort that orders ties
    order: Order = _sorted_order
    drops_queries_without_hits: bool = False
    slices: bool = False  # the cut is a Python slice: -1, its "all", drops the last item


LEGACY: dict[str, LegacyMode] = {
    "deephash-pytorch": LegacyMode("swuxyj/DeepHash-pytorch", "utils/tools.py", "quicksort", slices=True),
    "dpsh-pytorch": LegacyMode("jiangqy/DPSH-pytorch", "utils/CalcHammingRanking.py", "quicksort", slices=True),
    "greedyhash": LegacyMode("ssppp/GreedyHash", "cal_map.py", "quicksort", slices=True),
    "hashnet": LegacyMode("thuml/HashNet", "pytorch/src/test.py", "quicksort", drops_queries_without_hits=True),
    "thulab-deephash": LegacyMode(
        "thulab/DeepHash",
        "DeepHash/evaluation/__init__.py",
        "quicksort",
        order=_partitioned_order,
        drops_queries_without_hits=True,
    ),
    "adsh-matlab": LegacyMode("jiangqy/ADSH-AAAI2018", "ADSH_matlab/utils/calculateTopMap.m", "stable"),
    "caffe-cvprw15": LegacyMode("kevinlin311tw/caffe-cvprw15", "analysis/precision.m", "stable"),
}


def legacy_mean_average_precision(
    mode: str,
    query_codes: Codes,
    query_labels: Labels,
    database_codes: Codes,
    database_labels: Labels,
    *,
    top_k: int | None = None,
    kind: Kind | None = None,
) -> float:
    """The mAP of the code base `mode` (a key of `LEGACY`) on 0/1 codes (n, n_bits).

    `top_k=None` keeps all items; -1 is taken by the modes that slice with it, and drops the last item as they do.
    `kind` replaces the mode's own sort. NaN where a mode drops every query.
    """
    rule = _find(mode)
    query_codes, database_codes = check_code_pair(query_codes, database_codes)
    query_labels, database_labels = check_labels(query_labels, database_labels)
    if not 0 < len(query_codes) == len(query_labels) or not 0 < len(database_codes) == len(database_labels):
        raise UserError(
            "query and database need at least one code, and one label for each: got "
            f"{len(query_codes)} and {len(database_codes)} codes, {len(query_labels)} and "
            f"{len(database_labels)} labels"
        )
    cut = _cut(mode, rule, top_k, len(database_codes))
    values = []
    for rows, block in distance_blocks(pack(query_codes), pack(database_codes)):
        for query, distances in zip(range(rows.start, rows.stop), block.astype(np.float32), strict=True):
            ranked = rule.order(distances, cut, kind or rule.kind)
            values.append(_average_precision(_relevant(query_labels[query], database_labels[ranked])))
    if rule.drops_queries_without_hits:
        values = [value for value in values if value > 0]
    return float(np.mean(values)) if values else float("nan")


def _find(mode: str) -> LegacyMode:
    if mode not in LEGACY:
        near = difflib.get_close_matches(mode, LEGACY, n=1, cutoff=0)
        raise UserError(
            f"there is no legacy mode {mode!r}, the nearest name is {near[0]}: choose one of {', '.join(LEGACY)}"
        )
    return LEGACY[mode]


def _cut(mode: str, rule: LegacyMode, top_k: int | None, n_database: int) -> int:
    if top_k is None:
        return n_database
    if top_k == -1 and rule.slices:
        return n_database - 1
    if top_k < 1:
        allowed = ", -1" if rule.slices else ""
        raise UserError(f"top_k of {mode} must be at least 1{allowed}, or None for all items: got {top_k}")
    return min(top_k, n_database)


def _relevant(query_label: Any, database_labels: Labels) -> NDArray[np.bool_]:
    if database_labels.ndim == 1:
        return np.asarray(database_labels == query_label)
    return np.asarray((database_labels & query_label).any(axis=1))


def _average_precision(relevant: NDArray[np.bool_]) -> float:
    """Mean precision at the relevant items of a ranking, 0 without any."""
    places = np.flatnonzero(relevant) + 1
    return float(np.mean(np.arange(1, len(places) + 1) / places)) if len(places) else 0.0
