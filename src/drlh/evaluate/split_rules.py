"""How each protocol draws its rows. A rule here never changes: a better one gets a new protocol version."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.core.errors import UserError
from drlh.data.labels import Labels
from drlh.evaluate.splits import Rows, Shuffle, Split


@dataclass(frozen=True)
class Request:
    """All that a rule may look at; `labels` are checked, `protocol` is the name for messages."""

    protocol: str
    labels: Labels
    test: NDArray[np.bool_] | None  # the publisher's own test rows, (n,)
    shuffle: Shuffle
    seed: int
    n_query: int | None
    n_train: int | None
    parameters: Mapping[str, Any]


def cifar10_1(request: Request) -> Split:
    """100 query and 500 train images of each class, drawn from all rows; the database is all but the queries."""
    query, train = _per_class(request, query=100, train=500)
    return Split(query, train, _all_but(request, query))


def cifar10_1_disjoint(request: Request) -> Split:
    """As `cifar10_1`, with the train rows left out of the database."""
    query, train = _per_class(request, query=100, train=500)
    return _checked(request, Split(query, train, _all_but(request, query, train)))


def cifar10_1_train(request: Request) -> Split:
    """As `cifar10_1`, with the train rows alone as the database."""
    query, train = _per_class(request, query=100, train=500)
    return Split(query, train, train)


def cifar10_2(request: Request) -> Split:
    """The publisher's test rows against all others; queries are drawn where asked for, or without test rows."""
    if request.test is not None and not request.parameters["random_query"]:
        query = np.flatnonzero(request.test)
    else:
        size = request.parameters["query_per_class"]
        if size < 1:
            raise UserError(f"query_per_class of {request.protocol} must be at least 1: got {size}")
        (query,) = _per_class(request, query=size)
    rest = _all_but(request, query)
    return _checked(request, Split(query, rest, rest))


def nuswide_1(request: Request) -> Split:
    """100 query and 500 train images for each concept, no image twice; the database is all but the queries."""
    query, train = _per_concept(request, query=100, train=500)
    return Split(query, train, _all_but(request, query, _without_concept(request)))


def nuswide_2(request: Request) -> Split:
    """The queries of `nuswide_1`; train and database are all the others."""
    (query,) = _per_concept(request, query=100)
    rest = _all_but(request, query, _without_concept(request))
    return _checked(request, Split(query, rest, rest))


def random_split(request: Request) -> Split:
    """Plain random: not stratified by class, the publisher's test rows not heeded."""
    n = len(request.labels)
    order = request.shuffle.order(n)
    n_query = _size(request, "query", request.n_query, max(1, min(1000, n // 10)), n - 1)
    n_train = _size(request, "train", request.n_train, n - n_query, n - n_query)
    rest = order[n_query:]
    return Split(np.sort(order[:n_query]), np.sort(rest[:n_train]), np.sort(rest))


def unseen_classes(request: Request) -> Split:
    """Trains on some classes; queries and database hold the others alone.

    With test rows, all queries are test rows and no train or database row is; else the queries are drawn.
    """
    order = request.shuffle.order(len(request.labels))
    held_out = _held_out(request)
    if request.test is None:
        pool = order[held_out[order]]
        n_query = _size(request, "query", request.n_query, max(1, min(1000, len(pool) // 10)), len(pool) - 1)
        query, database, train = pool[:n_query], pool[n_query:], order[~held_out[order]]
    else:
        pool = order[(held_out & request.test)[order]]
        query = pool[: _size(request, "query", request.n_query, len(pool), len(pool))]
        database = order[(held_out & ~request.test)[order]]
        train = order[~(held_out | request.test)[order]]
    train = train[: _size(request, "train", request.n_train, len(train), len(train))]
    return _checked(request, Split(np.sort(query), np.sort(train), np.sort(database)))


def _held_out(request: Request) -> NDArray[np.bool_]:
    """Which rows are of held-out classes: a window over one fixed order of the classes, moved on by each seed."""
    ids = _class_ids(request)
    classes = np.unique(ids)
    share = request.parameters["held_out"]
    n_held_out = int(share * len(classes) + 0.5) if 0 < share < 1 else 0
    if not 1 <= n_held_out < len(classes):
        raise UserError(
            f"{request.protocol} must hold out at least one class and leave at least one: held_out={share} of "
            f"{len(classes)} classes leaves {n_held_out} held out"
        )
    order = Shuffle(f"{request.protocol} classes", 1, 0).order(len(classes))
    window = (request.seed * n_held_out + np.arange(n_held_out)) % len(classes)
    return np.isin(ids, classes[order[window]])


def _class_ids(request: Request) -> Labels:
    if request.labels.ndim != 1:
        raise UserError(
            f"{request.protocol} needs one class id for each image: got multi-hot labels of shape "
            f"{request.labels.shape}; use nuswide21-I, nuswide21-II or split"
        )
    return request.labels


def _per_class(request: Request, **sizes: int) -> list[Rows]:
    """For each size, so many random rows of every class, no row twice."""
    ids = _class_ids(request)
    order = request.shuffle.order(len(ids))
    grouped = order[np.argsort(ids[order], kind="stable")]
    classes, counts = np.unique(ids, return_counts=True)
    ends = np.cumsum(list(sizes.values()))
    if counts.min(initial=ends[-1]) < ends[-1]:
        few = int(counts.argmin())
        raise UserError(
            f"{request.protocol} takes {_wanted(sizes)} images of every class, but class {classes[few]} has "
            f"{counts[few]}; use the protocol split"
        )
    groups = np.split(grouped, np.cumsum(counts)[:-1])
    starts = ends - list(sizes.values())
    return [np.sort(np.concatenate([rows[a:b] for rows in groups])) for a, b in zip(starts, ends, strict=True)]


def _per_concept(request: Request, **sizes: int) -> list[Rows]:
    """For each size, so many random rows for every concept, no row twice; the rarest concept chooses first."""
    labels = request.labels
    if labels.ndim != 2:
        raise UserError(f"{request.protocol} needs multi-hot labels (n, n_concepts): got class ids; use cifar10-I")
    order = request.shuffle.order(len(labels))
    free = np.ones(len(labels), bool)
    chosen = []
    for size in sizes.values():
        start = free.copy()
        for concept in np.argsort(labels.sum(axis=0), kind="stable"):
            rows = order[(free & (labels[:, concept] == 1))[order]][:size]
            if len(rows) < size:
                raise UserError(
                    f"{request.protocol} takes {_wanted(sizes)} images for every concept, no image twice, but "
                    f"concept {concept} is on {labels[:, concept].sum()}; use the protocol split"
                )
            free[rows] = False
        chosen.append(np.flatnonzero(start & ~free))
    return chosen


def _wanted(sizes: Mapping[str, int]) -> str:
    return " and ".join(f"{size} {name}" for name, size in sizes.items())


def _without_concept(request: Request) -> Rows:
    """Rows that carry none of the concepts are no part of the set."""
    return np.flatnonzero(~request.labels.any(axis=1))


def _all_but(request: Request, *excluded: Rows) -> Rows:
    keep = np.ones(len(request.labels), bool)
    keep[np.concatenate(excluded)] = False
    return np.flatnonzero(keep)


def _size(request: Request, what: str, asked: int | None, default: int, available: int) -> int:
    size = default if asked is None else asked
    if not 1 <= size <= available:
        raise UserError(f"{request.protocol} takes from 1 to {available} {what} images of this data: got {size}")
    return size


def _checked(request: Request, split: Split) -> Split:
    for what, rows in (("query", split.query), ("train", split.train), ("database", split.database)):
        if len(rows) == 0:
            raise UserError(f"{request.protocol} leaves no {what} image of this data; use the protocol split")
    return split
