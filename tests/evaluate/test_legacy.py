"""The numbers of other code bases, on rankings small enough to work by hand."""

import numpy as np
import pytest

from drlh.core.errors import UserError
from drlh.evaluate.legacy import LEGACY, legacy_mean_average_precision
from drlh.evaluate.metrics import mean_average_precision


def codes_at(distances):
    return (np.arange(5) < np.array(distances)[:, None]).astype(np.uint8)


ORIGIN = codes_at([0])
ONE = np.array([1])


@pytest.mark.parametrize("mode", LEGACY)
def test_every_mode_divides_by_the_hits_found_above_the_cut(mode):
    database, labels = codes_at([3, 0, 1, 2]), np.array([1, 1, 0, 0])  # hits at places 1 and 4
    value = legacy_mean_average_precision(mode, ORIGIN, ONE, database, labels, top_k=3)
    assert value == pytest.approx(1)
    value = legacy_mean_average_precision(mode, ORIGIN, ONE, database, labels)
    assert value == pytest.approx((1 + 2 / 4) / 2)


@pytest.mark.parametrize("mode", LEGACY)
def test_only_some_modes_leave_queries_without_hits_out_of_the_mean(mode):
    query, query_labels = codes_at([0, 0]), np.array([1, 7])
    value = legacy_mean_average_precision(mode, query, query_labels, codes_at([0, 1]), np.array([1, 0]))
    assert value == (1 if mode in ("hashnet", "thulab-deephash") else 1 / 2)


def test_a_mode_that_drops_every_query_has_no_number():
    query = ORIGIN, np.array([7])
    assert np.isnan(legacy_mean_average_precision("hashnet", *query, codes_at([0, 1]), np.array([1, 0])))


def test_minus_one_as_a_slice_drops_the_last_item():
    database, labels = codes_at([0, 1, 2]), np.array([1, 0, 1])
    everything = legacy_mean_average_precision("deephash-pytorch", ORIGIN, ONE, database, labels)
    sliced = legacy_mean_average_precision("deephash-pytorch", ORIGIN, ONE, database, labels, top_k=-1)
    assert everything == pytest.approx((1 + 2 / 3) / 2)
    assert sliced == 1


@pytest.mark.parametrize("mode", ["hashnet", "thulab-deephash", "adsh-matlab", "caffe-cvprw15"])
def test_modes_that_do_not_slice_refuse_minus_one(mode):
    with pytest.raises(UserError, match=f"top_k of {mode} must be at least 1, or None"):
        legacy_mean_average_precision(mode, ORIGIN, ONE, codes_at([0]), ONE, top_k=-1)


def test_a_stable_sort_leaves_ties_in_the_order_of_the_database():
    database = codes_at([1, 1])
    first = legacy_mean_average_precision("adsh-matlab", ORIGIN, ONE, database, np.array([1, 0]))
    last = legacy_mean_average_precision("adsh-matlab", ORIGIN, ONE, database, np.array([0, 1]))
    assert (first, last) == (1, 1 / 2)


def tied_case():
    rng = np.random.default_rng(0)
    labels = np.sort(rng.integers(0, 4, 400))
    codebook = rng.integers(0, 2, (4, 12), dtype=np.uint8)
    seen_as = np.where(rng.random(400) < 0.2, rng.integers(0, 4, 400), labels)
    query_labels = rng.integers(0, 4, 30)
    seen_query = np.where(rng.random(30) < 0.2, rng.integers(0, 4, 30), query_labels)
    return codebook[seen_query], query_labels, codebook[seen_as], labels


@pytest.mark.parametrize("mode", ["deephash-pytorch", "dpsh-pytorch", "greedyhash"])
def test_default_sort_modes_leave_ties_as_numpy_sorts_float_distances(mode):
    query, query_labels, database, labels = tied_case()
    values = []
    for code, label in zip(query, query_labels, strict=True):
        distances = (code != database).sum(axis=1).astype(np.float32)
        hits = np.flatnonzero(labels[np.argsort(distances)][:50] == label) + 1
        values.append(np.mean(np.arange(1, len(hits) + 1) / hits) if len(hits) else 0.0)
    value = legacy_mean_average_precision(mode, query, query_labels, database, labels, top_k=50)
    assert value == pytest.approx(np.mean(values))


@pytest.mark.parametrize("mode", [mode for mode, rule in LEGACY.items() if not rule.drops_queries_without_hits])
@pytest.mark.parametrize("top_k", [None, 50])
def test_their_number_lies_between_our_worst_and_best_with_the_same_divisor(mode, top_k):
    case = tied_case()
    worst, best = (mean_average_precision(*case, top_k=top_k, divisor="found", ties=ties) for ties in ("worst", "best"))
    value = legacy_mean_average_precision(mode, *case, top_k=top_k)
    assert worst < value < best


def test_the_order_of_the_database_moves_their_number_and_not_ours():
    query, query_labels, database, labels = tied_case()
    back = slice(None, None, -1)
    theirs = [
        legacy_mean_average_precision("deephash-pytorch", query, query_labels, *rows, kind="stable")
        for rows in ((database, labels), (database[back], labels[back]))
    ]
    ours = [
        mean_average_precision(query, query_labels, *rows)
        for rows in ((database, labels), (database[back], labels[back]))
    ]
    assert abs(theirs[0] - theirs[1]) > 0.01
    assert ours[0] == ours[1]


def test_multi_hot_labels_are_relevant_when_they_share_one():
    query_labels = np.array([[1, 1, 0]], np.uint8)
    labels = np.array([[0, 0, 1], [0, 1, 1], [1, 0, 0]], np.uint8)
    value = legacy_mean_average_precision("hashnet", ORIGIN, query_labels, codes_at([0, 1, 2]), labels)
    assert value == pytest.approx((1 / 2 + 2 / 3) / 2)


def test_an_unknown_mode_is_refused_with_the_nearest_name():
    with pytest.raises(UserError, match="no legacy mode 'hash-net', the nearest name is hashnet"):
        legacy_mean_average_precision("hash-net", ORIGIN, ONE, ORIGIN, ONE)


def test_codes_and_labels_that_do_not_pair_are_refused():
    with pytest.raises(UserError, match="one label for each"):
        legacy_mean_average_precision("hashnet", ORIGIN, np.array([1, 2]), ORIGIN, ONE)
