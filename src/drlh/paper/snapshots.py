"""Snapshots of a fitted method, kept as records without scores: codes laid out by t-SNE, and walks of single images."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.bench.cells import Cell
from drlh.bench.machine import commit, machine, versions
from drlh.bench.runner import Bench
from drlh.bench.store import Arrays, Record
from drlh.evaluate.protocols import Split

_MAX_POINTS, _N_WALKS = 2000, 6


def make_snapshot(bench: Bench, cell: Cell, kind: str) -> Record:
    """Fits the cell's method and keeps a snapshot of this kind, `tsne` or `walks`."""
    hasher = bench.fitted(cell)
    arrays = {"tsne": positions, "walks": walks}[kind](bench, hasher, bench.split(cell.seed), cell.seed)
    record = bench.about(cell, kind) | {"classes": list(bench.data.classes)}
    return bench.keep(record | {"commit": commit(), "versions": versions(), "machine": machine()}, arrays)


def positions(bench: Bench, hasher: Any, split: Split, seed: int) -> Arrays:
    """Queries laid out in the plane by the Hamming distances of their codes, and the class of each."""
    from sklearn.manifold import TSNE

    rows = split.query[:_MAX_POINTS]
    features, labels = bench.rows(rows)
    codes = hasher.transform(features).astype(np.float32)
    perplexity = min(30.0, (len(rows) - 1) / 3)
    laid_out = TSNE(perplexity=perplexity, metric="hamming", init="random", random_state=seed).fit_transform(codes)
    return {"positions": laid_out.astype(np.float32), "labels": _first_class(labels)}


def walks(bench: Bench, hasher: Any, split: Split, seed: int) -> Arrays:
    """The walks of the first queries of different classes: codes, distances to codewords, Q of the stop."""
    labels = _first_class(bench.data.labels[split.query])
    _, first = np.unique(labels, return_index=True)
    shown = first[:_N_WALKS]
    arrays: Arrays = {"labels": labels[shown]}
    for number, row in enumerate(split.query[shown]):
        trace = hasher.walk(bench.rows(np.array([row]))[0][0])
        arrays[f"codes_{number}"] = trace.codes
        arrays[f"distances_{number}"] = trace.distances
        arrays[f"stop_{number}"] = trace.values[:, -1]
        arrays[f"best_flip_{number}"] = trace.values[:, :-1].max(axis=1)
    return arrays


def _first_class(labels: NDArray[Any]) -> NDArray[np.int64]:
    """The class each row is coloured by: its only one, or the first of several."""
    return (labels.argmax(axis=1) if labels.ndim == 2 else labels).astype(np.int64)
