"""The second step of FastH: boosted trees, grown by scikit-learn on binned features, stored as plain arrays."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy.special import expit
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from drlh.core.errors import UserError
from drlh.hashers.base import Features

Bins = NDArray[np.uint8]
Trees = dict[str, NDArray[Any]]  # see `_flat_trees`

_WORKS_WITH, _SPECIFIER = "1.6 to 1.9", ">=1.6,<1.10"  # tried with the first and the last of them
_LEAF_ROWS = 20  # rows a leaf must hold at least; fewer where there are few rows
_WORTH_THREADS = 1_000_000  # values of binned features
_ROWS_AT_ONCE = 256  # so that rows and positions in the trees stay in the processor's cache


def bin_edges(features: Features, n_bins: int = 255) -> Features:
    """Values half-way between neighbouring quantiles, `(n_features, n_bins - 1)`, filled up with infinity.

    Bin `b` of a feature holds the values above edge `b - 1` and at most edge `b`.
    """
    edges = np.full((features.shape[1], n_bins - 1), np.inf)
    ranks = np.maximum(np.arange(1, n_bins) * len(features) // n_bins - 1, 0)
    for column, row in enumerate(edges):
        ordered = np.sort(features[:, column])
        lower = np.unique(ordered[ranks])
        lower = lower[lower < ordered[-1]]
        upper = ordered[np.searchsorted(ordered, lower, side="right")]
        row[: len(lower)] = lower / 2 + upper / 2
    return edges


def to_bins(features: Features, edges: Features) -> Bins:
    """Numbers of the bins, `(n, n_features)`."""
    bins = np.empty(features.shape, np.uint8, order="F")
    for column, row in enumerate(edges):
        bins[:, column] = np.searchsorted(row, features[:, column], side="left")
    return bins


def grow(
    bins: Bins,
    edges: Features,
    signs: NDArray[np.int8],
    *,
    n_trees: int,
    depth: int,
    learning_rate: float,
    max_features: int,
    rng: np.random.Generator,
) -> tuple[Trees, Features]:
    """Trees boosted to tell the rows of sign +1 from those of sign -1, and the score they give to every row.

    Gradient boosting of the logistic loss. Each tree is grown on its own random sample of `max_features` features;
    scikit-learn's classifier samples at each split, and builds histograms of all features nevertheless.
    """
    grower_class = tree_grower()
    targets = signs > 0
    bias = np.log(targets.mean() / (~targets).mean())
    fitted = np.full(len(bins), bias)
    by_feature, n_sampled = bins.T, min(max_features, bins.shape[1])
    parts = []
    for _ in range(n_trees):
        sampled = np.sort(rng.choice(len(by_feature), n_sampled, replace=False))
        probability = expit(fitted)
        grower = grower_class(
            by_feature[sampled].T,
            (probability - targets).astype(np.float32),
            (probability * (1 - probability)).astype(np.float32),
            max_depth=depth,
            min_samples_leaf=max(1, min(_LEAF_ROWS, len(bins) // 10)),
            shrinkage=learning_rate,
        )
        grower.grow()
        for leaf in grower.finalized_leaves:
            fitted[leaf.sample_indices] += leaf.value
        nodes = grower.make_predictor(edges[sampled]).nodes
        nodes["feature_idx"] = sampled[nodes["feature_idx"]]
        parts.append(nodes)
    return _flat_trees(parts, float(bias)), fitted


def tree_grower() -> Any:
    """scikit-learn's class of a single histogram tree, which has no public name.

    A test compares the trees it grows with scikit-learn's public classifier.
    """
    try:
        from sklearn.ensemble._hist_gradient_boosting.grower import TreeGrower
    except ImportError as error:
        raise UserError(
            f"FastH needs the tree grower of scikit-learn {_WORKS_WITH}, which scikit-learn {sklearn.__version__} "
            f'does not have: pip install "scikit-learn{_SPECIFIER}"'
        ) from error
    return TreeGrower


def useful_threads(n_values: int) -> threadpool_limits:
    """A context that limits OpenMP to one thread where there is little data.

    There threads mostly wait for each other, on a busy machine for minutes.
    """
    return threadpool_limits(None if n_values >= _WORTH_THREADS else 1, user_api="openmp")


def _flat_trees(parts: Sequence[NDArray[Any]], bias: float) -> Trees:
    """All nodes of all trees in a row: `feature`, `threshold`, `left`, `right`, `value`, then `roots`, `bias`, `depth`.

    A row goes left when its feature is at most the threshold. A leaf is its own child on both sides, so that all rows
    can take the same number of steps.
    """
    sizes = np.array([len(part) for part in parts])
    roots = np.cumsum(sizes) - sizes
    nodes = np.concatenate(parts)
    start, own = np.repeat(roots, sizes), np.arange(len(nodes))
    leaf = nodes["is_leaf"].astype(bool)
    return {
        "feature": np.where(leaf, 0, nodes["feature_idx"]).astype(np.int32),
        "threshold": np.where(leaf, 0.0, nodes["num_threshold"]),
        "left": np.where(leaf, own, start + nodes["left"]).astype(np.int32),
        "right": np.where(leaf, own, start + nodes["right"]).astype(np.int32),
        "value": np.where(leaf, nodes["value"], 0.0),
        "roots": roots.astype(np.int32),
        "bias": np.array([bias]),
        "depth": np.array([nodes["depth"].max()], np.int32),
    }


def constant_trees(sign: int) -> Trees:
    """No tree at all: the score is `sign` everywhere."""
    whole = {name: np.empty(0, np.int32) for name in ("feature", "left", "right", "roots")}
    real = {name: np.empty(0) for name in ("threshold", "value")}
    return {**whole, **real, "bias": np.array([float(sign)]), "depth": np.zeros(1, np.int32)}


def join(bits: Sequence[Trees]) -> Trees:
    """The trees of several bits as one; `n_trees` says how many belong to each bit."""
    sizes = [len(trees["feature"]) for trees in bits]
    shifts = np.cumsum([0, *sizes[:-1]]).astype(np.int32)
    places = {name: [trees[name] + shift for trees, shift in zip(bits, shifts)] for name in ("left", "right", "roots")}
    others = {name: [trees[name] for trees in bits] for name in ("feature", "threshold", "value", "bias", "depth")}
    joined = {name: np.concatenate(parts) for name, parts in {**places, **others}.items()}
    return {**joined, "n_trees": np.array([len(trees["roots"]) for trees in bits], np.int32)}


def scores(features: Features, trees: Trees) -> Features:
    """The boosted score of every bit, `(n, n_bits)`, from the trees that `join` returns."""
    # Indices of the platform's own width, which numpy would otherwise convert at every step.
    walk = {name: trees[name].astype(np.intp) for name in ("feature", "left", "right")}
    roots = np.split(trees["roots"].astype(np.intp), np.cumsum(trees["n_trees"])[:-1])
    found = np.empty((len(features), len(roots)))
    for start in range(0, len(features), _ROWS_AT_ONCE):
        block = np.ascontiguousarray(features[start : start + _ROWS_AT_ONCE])
        for bit, own_roots in enumerate(roots):
            leaves = _leaves(block, own_roots, int(trees["depth"][bit]), walk, trees["threshold"])
            found[start : start + len(block), bit] = _sums(trees["bias"][bit], trees["value"].take(leaves))
    return found


def _leaves(
    block: Features, roots: NDArray[np.intp], depth: int, walk: dict[str, NDArray[np.intp]], threshold: Features
) -> NDArray[np.intp]:
    """The leaf each row reaches in each tree, `(n_rows, n_trees)`: one level of all trees at a time."""
    values, first = block.ravel(), np.arange(len(block))[:, None] * block.shape[1]
    places = np.broadcast_to(roots, (len(block), len(roots)))
    for _ in range(depth):
        goes_left = values.take(first + walk["feature"].take(places)) <= threshold.take(places)
        places = np.where(goes_left, walk["left"].take(places), walk["right"].take(places))
    return places


def _sums(bias: float, values: Features) -> Features:
    """Bias and values added from the first tree to the last, as scikit-learn does, for any number of rows."""
    running = np.empty((len(values), values.shape[1] + 1))
    running[:, 0], running[:, 1:] = bias, values
    return np.asarray(np.cumsum(running, axis=1)[:, -1])
