"""What is kept of a fitted method to be looked at: codes laid out by t-SNE, and the walks of single images."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.bench.bench import Bench, Cell
from drlh.core.files import write_json, write_npz
from drlh.evaluate.protocols import Split

FORMAT, VERSION = "drlh-look", 1
_MOST_POINTS, _WALKS = 2000, 6

Arrays = dict[str, NDArray[Any]]


def look_path(bench: Bench, cell: Cell, look: str) -> Path:
    path = bench.path(cell, f"{look}-")
    assert path is not None  # looks are always kept
    return path


def make_look(bench: Bench, cell: Cell, look: str) -> None:
    """Fits the cell's method and writes what `look` asks for, a JSON file with its arrays beside it."""
    path = look_path(bench, cell, look)
    hasher, split = bench.fitted(cell)
    arrays = {"tsne": positions, "walks": walks}[look](bench, hasher, split, cell.seed)
    about = bench.about(cell, split) | {"format": FORMAT, "version": VERSION, "look": look}
    write_npz(path.with_suffix(".npz"), arrays)
    write_json(path, about | {"classes": list(bench.data.classes)})


def positions(bench: Bench, hasher: Any, split: Split, seed: int) -> Arrays:
    """Queries laid out in the plane by the Hamming distances of their codes, and the class of each."""
    from sklearn.manifold import TSNE

    rows = split.query[:_MOST_POINTS]
    features, labels = bench.rows(rows)
    codes = hasher.transform(features).astype(np.float32)
    perplexity = min(30.0, (len(rows) - 1) / 3)
    laid_out = TSNE(perplexity=perplexity, metric="hamming", init="random", random_state=seed).fit_transform(codes)
    return {"positions": laid_out.astype(np.float32), "labels": _one_class(labels)}


def walks(bench: Bench, hasher: Any, split: Split, seed: int) -> Arrays:
    """The walks of the first queries of different classes: codes, distances to codewords, Q of the stop."""
    labels = _one_class(bench.data.labels[split.query])
    _, first = np.unique(labels, return_index=True)
    shown = first[:_WALKS]
    arrays: Arrays = {"labels": labels[shown]}
    for number, row in enumerate(split.query[shown]):
        trace = hasher.walk(bench.rows(np.array([row]))[0][0])
        arrays[f"codes_{number}"] = trace.codes
        arrays[f"distances_{number}"] = trace.distances
        arrays[f"stop_{number}"] = trace.values[:, -1]
        arrays[f"best_flip_{number}"] = trace.values[:, :-1].max(axis=1)
    return arrays


def _one_class(labels: NDArray[Any]) -> NDArray[np.int64]:
    """A class for each row to be coloured by: its own, or the first of several."""
    return (labels.argmax(axis=1) if labels.ndim == 2 else labels).astype(np.int64)
