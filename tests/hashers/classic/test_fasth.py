"""FastH: its pairs, its cuts against enumeration, its trees against scikit-learn, and what it learns."""

import sys
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from drlh.core.errors import UserError
from drlh.evaluate.metrics import mean_average_precision
from drlh.hashers.classic.fasth.hasher import FastH
from drlh.hashers.classic.fasth.inference import (
    Pairs,
    best_of_block,
    descend,
    infer_bit,
    make_blocks,
    minimum_cut,
    pair_weights,
    sample_pairs,
)
from drlh.hashers.classic.fasth.trees import bin_edges, grow, join, scores, to_bins
from drlh.hashers.classic.lsh import LSH

seeds = st.integers(0, 2**32 - 1)


def blobs(n: int, seed: int, n_classes: int = 5, n_features: int = 16) -> tuple[np.ndarray, np.ndarray]:
    rng = default_rng(seed)
    labels = rng.integers(0, n_classes, n)
    centres = default_rng(99).normal(0, 1, (n_classes, n_features))
    return centres[labels] + rng.normal(0, 1, (n, n_features)), labels


def tagged(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Multi-label data: the features are the sum of the labels' centres, and some rows carry no label."""
    rng = default_rng(seed)
    labels = (rng.random((n, 6)) < 0.25).astype(np.uint8)
    centres = default_rng(98).normal(0, 1.5, (6, 20))
    return labels @ centres + rng.normal(0, 1, (n, 20)), labels


def hinge(similar: bool, distance: int, n_bits: int) -> float:
    return (distance / n_bits) ** 2 if similar else max(0.0, 0.5 - distance / n_bits) ** 2


def share(labels: np.ndarray, i: int, j: int) -> bool:
    return bool(labels[i] == labels[j]) if labels.ndim == 1 else bool((labels[i] & labels[j]).any())


def small_problem(seed: int, multilabel: bool) -> tuple[np.ndarray, Pairs, np.ndarray]:
    """Few rows with random earlier codes: (labels, pairs, weights)."""
    rng = default_rng(seed)
    n, n_bits = int(rng.integers(2, 10)), int(rng.integers(1, 7))
    labels = (rng.random((n, 3)) < 0.4).astype(np.uint8) if multilabel else rng.integers(0, 3, n)
    pairs = sample_pairs(labels, int(rng.integers(1, 10)), rng)
    codes = rng.integers(0, 2, (n, n_bits - 1))
    distances = (codes[pairs.first] != codes[pairs.second]).sum(axis=1)
    return labels, pairs, pair_weights(pairs.similar, distances, n_bits)


def summed(pairs: Pairs, weights: np.ndarray, bits: np.ndarray) -> int:
    """The objective, pair by pair."""
    return sum(int(w) * int(bits[i]) * int(bits[j]) for i, j, w in zip(pairs.first, pairs.second, weights))


def test_a_pairs_weight_is_the_loss_it_would_save() -> None:
    for n_bits, similar in product(range(1, 9), (True, False)):
        distances = np.arange(n_bits)
        wanted = [hinge(similar, d, n_bits) - hinge(similar, d + 1, n_bits) for d in distances]
        weights = pair_weights(np.full(n_bits, similar), distances, n_bits)
        np.testing.assert_allclose(weights / (4 * n_bits**2), wanted, atol=1e-12)


@pytest.mark.parametrize("multilabel", [False, True])
def test_pairs_come_once_and_say_whether_they_share_a_label(multilabel: bool) -> None:
    labels = tagged(80, 0)[1] if multilabel else blobs(80, 0)[1]
    pairs = sample_pairs(labels, 6, default_rng(0))
    assert (pairs.first < pairs.second).all()
    assert len(set(zip(pairs.first.tolist(), pairs.second.tolist()))) == len(pairs.first)
    for i, j, similar in zip(pairs.first, pairs.second, pairs.similar):
        assert similar == share(labels, i, j)
    others = np.bincount(np.concatenate([pairs.first, pairs.second])[np.tile(~pairs.similar, 2)], minlength=80)
    assert (others >= 3).all()
    assert len(pairs.first) < 80 * 12


@pytest.mark.parametrize("multilabel", [False, True])
def test_a_small_set_gets_all_its_pairs(multilabel: bool) -> None:
    labels = tagged(30, 0)[1] if multilabel else blobs(30, 0)[1]
    pairs = sample_pairs(labels, 30, default_rng(0))
    assert set(zip(pairs.first.tolist(), pairs.second.tolist())) == set(combinations(range(30), 2))


@given(seeds, st.booleans())
@settings(max_examples=60, deadline=None)
def test_no_step_of_the_inference_raises_the_objective(seed: int, multilabel: bool) -> None:
    labels, pairs, weights = small_problem(seed, multilabel)
    rng = default_rng(seed)
    bits = rng.choice(np.array([-1, 1], np.int8), len(labels))
    for block in make_blocks(labels, pairs):
        before = summed(pairs, weights, bits)
        bits[block.rows] = best_of_block(block, weights, bits)
        assert summed(pairs, weights, bits) <= before
    blocks = make_blocks(labels, pairs)
    after = descend(bits, weights, blocks, 2, rng)
    assert summed(pairs, weights, after) <= summed(pairs, weights, bits)


@given(seeds)
@settings(max_examples=40, deadline=None)
def test_a_minimum_cut_is_the_best_of_all_bit_vectors(seed: int) -> None:
    rng = default_rng(seed)
    n = int(rng.integers(1, 8))
    ends = np.array(list(combinations(range(n), 2)), np.int64).reshape(-1, 2)
    ends = ends[rng.random(len(ends)) < 0.7]
    weights, pull = -rng.integers(0, 9, len(ends)), rng.integers(-12, 13, n)

    def cost(bits: tuple[int, ...]) -> int:
        return int(pull @ bits) + sum(int(w) * bits[i] * bits[j] for (i, j), w in zip(ends, weights))

    found = minimum_cut(pull, (ends[:, 0], ends[:, 1]), weights)
    assert cost(tuple(found.tolist())) == min(map(cost, product((-1, 1), repeat=n)))


@given(seeds, st.booleans())
@settings(max_examples=40, deadline=None)
def test_the_rows_of_a_label_take_the_best_bits_there_are(seed: int, multilabel: bool) -> None:
    labels, pairs, weights = small_problem(seed, multilabel)
    bits = default_rng(seed).choice(np.array([-1, 1], np.int8), len(labels))
    for block in make_blocks(labels, pairs):
        if multilabel and not labels[block.rows].any():
            continue  # rows without a label: no optimum is claimed
        bits[block.rows] = best_of_block(block, weights, bits)
        tried = []
        for values in product((-1, 1), repeat=len(block.rows)):
            trial = bits.copy()
            trial[block.rows] = values
            tried.append(summed(pairs, weights, trial))
        assert summed(pairs, weights, bits) == min(tried)


@given(seeds, st.integers(0, 3))
@settings(max_examples=40, deadline=None)
def test_a_bit_parts_the_classes_even_when_they_are_far_apart_already(seed: int, n_before: int) -> None:
    labels, pairs, _ = small_problem(seed, False)
    distances = np.where(pairs.similar, 0, n_before)
    bits = infer_bit(pairs, distances, n_before + 1, make_blocks(labels, pairs), len(labels), 2, default_rng(seed))
    assert len(np.unique(bits)) == min(2, len(np.unique(labels)))


@pytest.fixture
def task() -> tuple[np.ndarray, np.ndarray]:
    rng = default_rng(0)
    features = np.column_stack([rng.normal(size=(700, 6)), rng.integers(0, 4, (700, 2)), np.ones(700)])
    signs = np.where(np.sin(3 * features[:, 0]) + features[:, 1] * features[:, 6] > 0.5, 1, -1).astype(np.int8)
    return features, signs


def test_trees_that_see_every_feature_are_those_of_scikit_learn(task: tuple[np.ndarray, np.ndarray]) -> None:
    features, signs = task
    edges = bin_edges(features)
    sizes = {"n_trees": 40, "depth": 4, "learning_rate": 0.2, "max_features": 9}
    trees, found = grow(to_bins(features, edges), edges, signs, **sizes, rng=default_rng(0))
    peer = HistGradientBoostingClassifier(
        max_iter=40, max_depth=4, max_leaf_nodes=None, learning_rate=0.2, early_stopping=False
    ).fit(to_bins(features, edges), signs)
    unseen = np.concatenate([features, default_rng(1).normal(0, 3, (2000, 9))])
    unseen = np.concatenate([unseen, np.full((1, 9), 1e300), np.full((1, 9), -1e300)])
    unseen = np.concatenate([unseen, *at_thresholds(trees, unseen[:1])])
    wanted = peer.decision_function(to_bins(unseen, edges))
    np.testing.assert_allclose(scores(unseen, join([trees]))[:, 0], wanted, rtol=1e-5, atol=1e-6)
    assert ((found > 0) == (signs > 0)).mean() > 0.95


def test_what_is_learned_is_what_the_flat_trees_say_of_the_same_rows(task: tuple[np.ndarray, np.ndarray]) -> None:
    features, signs = task
    edges = bin_edges(features)
    sizes = {"n_trees": 40, "depth": 4, "learning_rate": 0.2, "max_features": 3}
    trees, found = grow(to_bins(features, edges), edges, signs, **sizes, rng=default_rng(0))
    np.testing.assert_array_equal(scores(features, join([trees]))[:, 0], found)
    ends = np.append(trees["roots"][1:], len(trees["feature"]))
    inner = trees["left"] != np.arange(len(trees["left"]))
    seen = [set(trees["feature"][a:b][inner[a:b]]) for a, b in zip(trees["roots"], ends)]
    assert max(map(len, seen)) <= 3
    assert len(set.union(*seen)) == 8  # all but the constant one, by one tree or another


def at_thresholds(trees: dict[str, np.ndarray], row: np.ndarray) -> list[np.ndarray]:
    """Rows that sit on a threshold, and on the next value above and below it."""
    inner = np.flatnonzero(trees["left"] != np.arange(len(trees["left"])))
    rows = np.repeat(row, len(inner), axis=0)
    found = []
    for value in (lambda t: t, lambda t: np.nextafter(t, np.inf), lambda t: np.nextafter(t, -np.inf)):
        rows = rows.copy()
        rows[np.arange(len(inner)), trees["feature"][inner]] = value(trees["threshold"][inner])
        found.append(rows)
    return found


def test_bins_part_neighbouring_values_and_leave_a_constant_feature_whole() -> None:
    features = np.array([[3.0, 7.0], [1.0, 7.0], [2.0, 7.0], [2.0, 7.0]])
    edges = bin_edges(features)
    np.testing.assert_array_equal(edges[0, :2], [1.5, 2.5])
    np.testing.assert_array_equal(to_bins(features, edges), [[2, 0], [0, 0], [1, 0], [1, 0]])


def test_the_pairs_are_judged_by_what_the_trees_say_and_not_by_what_they_should() -> None:
    features, labels = blobs(60, 0)
    hasher = FastH(5, n_trees=2, depth=1, n_pairs=60, random_state=0).fit(features, labels)
    codes = hasher.transform(features)
    losses = [hinge(share(labels, i, j), int((codes[i] != codes[j]).sum()), 5) for i, j in combinations(range(60), 2)]
    assert hasher.pair_loss_ == pytest.approx(np.mean(losses))


def held_out_map(hasher: FastH | LSH, make: object, shuffled: bool = False) -> float:
    features, labels = make(600, 0)  # type: ignore[operator]
    queries, wanted = make(400, 1)  # type: ignore[operator]
    order = default_rng(5).permutation(600) if shuffled else np.arange(600)
    codes = hasher.fit(features, labels[order]).transform(queries)
    return mean_average_precision(codes[:100], wanted[:100], codes[100:], wanted[100:])


@pytest.mark.parametrize("make", [blobs, tagged])
def test_it_learns_what_random_hyperplanes_miss_and_nothing_from_shuffled_labels(make: object) -> None:
    learned = held_out_map(FastH(16, random_state=0), make)
    random = held_out_map(LSH(16, random_state=0), make)
    shuffled = held_out_map(FastH(16, random_state=0), make, shuffled=True)
    assert learned > random + 0.1
    assert shuffled < random


@pytest.mark.parametrize("n_bits", [1, 3])
def test_two_classes_and_constant_features_are_enough(n_bits: int) -> None:
    features, labels = blobs(200, 0, n_classes=2)
    features[:, :8] = 4.0
    codes = FastH(n_bits, random_state=0).fit(features, labels).transform(blobs(200, 1, n_classes=2)[0])
    assert codes.shape == (200, n_bits)
    assert set(np.unique(codes)) == {0, 1}


def test_features_that_never_vary_give_every_image_the_same_code() -> None:
    codes = FastH(6, n_trees=3, random_state=0).fit(np.ones((20, 3)), np.arange(20) % 2).transform(np.ones((4, 3)))
    assert len(np.unique(codes, axis=0)) == 1


def test_images_that_all_share_a_label_give_constant_bits() -> None:
    features, labels = tagged(40, 0)
    labels[:, 0] = 1
    codes = FastH(4, n_trees=3, random_state=0).fit(features, np.maximum(labels[:, :1], [[0, 0]]).astype(int))
    assert len(np.unique(codes.transform(features), axis=0)) == 1


def test_the_number_of_threads_does_not_matter() -> None:
    features, labels = blobs(2000, 0, n_features=501)  # enough to be worth threads
    found = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, user_api="openmp"):
            found.append(FastH(1, n_trees=3, max_features=501, random_state=0).fit(features, labels).trees_)
    for name, values in found[0].items():
        np.testing.assert_array_equal(values, found[1][name])


def test_every_bit_is_reported() -> None:
    seen: list[tuple[int, int, str]] = []
    FastH(3, n_trees=2, random_state=0).fit(*blobs(40, 0), progress=lambda *report: seen.append(report))
    assert seen == [(done, 3, "FastH bits") for done in range(4)]


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("n_trees", 0), ("n_trees", 2.5), ("depth", 0), ("learning_rate", 0), ("learning_rate", "fast"),
        ("max_features", 0), ("max_features", 0.5), ("n_pairs", 0), ("n_sweeps", 0),
    ],
)  # fmt: skip
def test_a_parameter_out_of_range_is_one_clear_sentence(parameter: str, value: object) -> None:
    with pytest.raises(UserError, match=rf"^{parameter} of FastH must be .*: got {value!r}$"):
        FastH(4, **{parameter: value}).fit(*blobs(40, 0))


def test_a_scikit_learn_without_the_tree_grower_is_one_clear_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.ensemble._hist_gradient_boosting.grower", None)
    with pytest.raises(
        UserError, match=r"FastH needs .* scikit-learn 1\.6 to 1\.9, which .* does not have: pip install"
    ):
        FastH(4).fit(*blobs(40, 0))
