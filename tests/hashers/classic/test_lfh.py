"""LFH: the step that never lowers the posterior, the regression, and what is learned."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.linear_model import Ridge

from drlh.core.errors import UserError
from drlh.evaluate.metrics import mean_average_precision
from drlh.hashers.base import Hasher
from drlh.hashers.classic import lfh
from drlh.hashers.classic.lfh import LFH, matching_thresholds, raise_posterior, ridge_regression, share_label
from drlh.hashers.classic.lsh import LSH


def log_posterior(rows: np.ndarray, columns: np.ndarray, similar: np.ndarray, variance: float) -> np.ndarray:
    """For each row: every pair in both orders, and the prior."""
    halves = rows @ columns.T / 2
    pairs = np.where(similar, halves, 0) - np.logaddexp(0, halves)
    return 2 * pairs.sum(axis=1) - np.square(rows).sum(axis=1) / (2 * variance)


def test_one_step_worked_by_hand() -> None:
    # u = 0, u_j = 2, prior variance 1: gradient (1 - 1/2) 2 = 1, curvature 4/8 + 1 = 3/2.
    zero, two = np.array([[0.0]]), np.array([[2.0]])
    assert raise_posterior(zero, two, np.array([[True]]), 1.0) == pytest.approx(2 / 3)
    assert raise_posterior(zero, two, np.array([[False]]), 1.0) == pytest.approx(-2 / 3)
    # u = 2 ln 3: sigma is 9/10, the gradient 1/10 2 - u, the curvature as before.
    start = 2 * np.log(3)
    after = start + (0.2 - start) / 1.5
    assert raise_posterior(np.array([[start]]), two, np.array([[True]]), 1.0) == pytest.approx(after)


sizes = st.floats(0.01, 30)


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 9), sizes, sizes, st.floats(0.01, 100))
def test_no_row_falls_while_the_columns_stay(
    seed: int, n_bits: int, n_columns: int, row_size: float, column_size: float, variance: float
) -> None:
    rng = np.random.default_rng(seed)
    rows, columns = rng.normal(0, row_size, (5, n_bits)), rng.normal(0, column_size, (n_columns, n_bits))
    similar = rng.random((5, n_columns)) < 0.3
    before = log_posterior(rows, columns, similar, variance)
    after = log_posterior(raise_posterior(rows, columns, similar, variance), columns, similar, variance)
    assert (after >= before - 1e-9 * (1 + abs(before))).all()


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 8), st.integers(1, 5), sizes, st.floats(0.01, 100))
def test_the_posterior_of_all_pairs_never_falls_when_rows_move_in_turn(
    seed: int, n: int, n_bits: int, size: float, variance: float
) -> None:
    rng = np.random.default_rng(seed)
    vectors, labels = rng.normal(0, size, (n, n_bits)), rng.integers(0, 3, n)
    similar = share_label(labels, labels)
    others = ~np.eye(n, dtype=bool)

    def whole() -> float:
        halves = vectors @ vectors.T / 2
        pairs = np.where(similar, halves, 0) - np.logaddexp(0, halves)
        return float(pairs[others].sum() - np.square(vectors).sum() / (2 * variance))

    for row in [*range(n), *range(n)]:
        before, rest = whole(), others[row]
        vectors[row] = raise_posterior(vectors[[row]], vectors[rest], similar[[row]][:, rest], variance)[0]
        assert whole() >= before - 1e-9 * (1 + abs(before))


def test_many_steps_arrive_at_the_maximum() -> None:
    rng = np.random.default_rng(0)
    row, columns, similar = rng.normal(size=(1, 3)), rng.normal(0, 2, (20, 3)), rng.random((1, 20)) < 0.5
    best = minimize(lambda u: -log_posterior(u[None], columns, similar, 2.0)[0], row[0], tol=1e-12).x
    for _ in range(300):
        row = raise_posterior(row, columns, similar, 2.0)
    np.testing.assert_allclose(row[0], best, atol=1e-4)


def test_pairs_that_share_a_label() -> None:
    assert share_label(np.array([0, 1, 2]), np.array([2, 0])).tolist() == [[0, 1], [0, 0], [1, 0]]
    sets = np.array([[1, 1, 0], [0, 1, 1], [0, 0, 0], [1, 0, 0]], np.uint8)
    assert share_label(sets, sets[[0, 2, 3]]).tolist() == [[1, 0, 1], [1, 0, 0], [0, 0, 0], [1, 0, 1]]
    many = np.ones((1, 256), np.uint8)  # as many as a byte cannot count
    assert share_label(many, many).all()


def test_the_regression_is_ridge_on_columns_of_variance_1(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    features = rng.normal([3, -50, 0, 0], [1, 20, 0.01, 5], (60, 4))
    targets = rng.choice([-1, 1], (60, 3)).astype(np.int8)
    scale = features.std(axis=0)
    wanted = Ridge(alpha=0.7 * 60).fit((features - features.mean(axis=0)) / scale, targets.astype(float)).coef_.T
    monkeypatch.setattr(lfh, "_ROWS_AT_ONCE", 7)  # blocks of unequal length
    np.testing.assert_allclose(ridge_regression(features, targets, 0.7), wanted / scale[:, None], rtol=1e-9)


def test_a_threshold_has_as_many_values_above_as_codes_have_the_bit() -> None:
    values = np.array([[1.0, 4, 0], [2, 3, 1], [4, 2, 2], [8, 1, 4]])
    codes = np.array([[0, 1, 0], [1, 1, 0], [0, 1, 0], [0, 0, 0]], np.uint8)
    assert matching_thresholds(values, codes).tolist() == [6, 1.5, 3]  # the last bit: one value above all the same


def topics(n: int, seed: int, n_classes: int = 5, multilabel: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Features of about one size, some of which depend on the labels."""
    rng = np.random.default_rng(seed)
    directions = np.random.default_rng(7).normal(0, 1, (n_classes, 20))
    ids = rng.integers(0, n_classes, n)
    sets = np.eye(n_classes, dtype=np.uint8)[ids]
    if multilabel:
        sets |= rng.random((n, n_classes)) < 0.2
    features = np.column_stack([sets @ directions + rng.normal(0, 0.7, (n, 20)), rng.normal(0, 1, (n, 6))])
    return features, sets if multilabel else ids


def score(hasher: Hasher, multilabel: bool = False, shuffled: bool = False) -> float:
    """mAP of 200 new queries in 800 new images."""
    features, labels = topics(1000, 0, multilabel=multilabel)
    hasher.fit(features, np.random.default_rng(3).permutation(labels) if shuffled else labels)
    new, their_labels = topics(1000, 1, multilabel=multilabel)
    codes = hasher.transform(new)
    return mean_average_precision(codes[:200], their_labels[:200], codes[200:], their_labels[200:])


@pytest.mark.parametrize("n_bits", [8, 24])
def test_new_images_are_found_far_better_than_by_random_hyperplanes(n_bits: int) -> None:
    learned = score(LFH(n_bits, random_state=0))
    assert learned > 0.9
    assert learned > score(LSH(n_bits, random_state=0)) + 0.25


def test_with_shuffled_labels_it_does_no_better_than_random_hyperplanes() -> None:
    assert score(LFH(24, random_state=0), shuffled=True) < score(LSH(24, random_state=0))


def test_it_learns_from_several_labels_to_an_image() -> None:
    learned = score(LFH(24, random_state=0), multilabel=True)
    assert learned > 0.9
    assert learned > score(LSH(24, random_state=0), multilabel=True) + 0.15
    assert learned > score(LFH(24, random_state=0), multilabel=True, shuffled=True) + 0.25


def test_one_label_each_means_the_same_as_ids_and_as_multi_hot() -> None:
    features, ids = topics(200, 0)
    multi_hot = np.eye(5, dtype=np.uint8)[ids]
    codes = LFH(12, random_state=0).fit(features, ids).transform(features)
    np.testing.assert_array_equal(LFH(12, random_state=0).fit(features, multi_hot).transform(features), codes)


def test_an_image_without_labels_is_like_no_other_and_no_obstacle() -> None:
    features, labels = topics(200, 0, multilabel=True)
    labels[:20] = 0
    codes = LFH(12, random_state=0).fit(features, labels).transform(features)
    assert (codes.mean(axis=0) > 0).all()
    assert (codes.mean(axis=0) < 1).all()


def test_units_and_constant_columns_change_no_code() -> None:
    features, labels = topics(300, 0)
    codes = LFH(16, random_state=0).fit(features, labels).transform(features)
    changed = np.column_stack([features * np.geomspace(1e-4, 1e4, 26) + 5, np.full(300, 1e6), np.zeros(300)])
    again = LFH(16, random_state=0).fit(changed, labels).transform(changed)
    np.testing.assert_array_equal(again, codes)


@pytest.mark.parametrize(("n", "n_features", "n_bits"), [(40, 3, 64), (2, 1, 5), (3, 50, 1)])
def test_more_bits_than_features_or_rows_are_fine(n: int, n_features: int, n_bits: int) -> None:
    features = np.random.default_rng(0).normal(size=(n, n_features))
    assert LFH(n_bits, random_state=0).fit(features, np.arange(n) % 2).transform(features).shape == (n, n_bits)


def test_memory_grows_with_the_images_not_with_their_pairs() -> None:
    features = np.random.default_rng(0).normal(size=(30_000, 4))
    tracemalloc.start()
    LFH(8, n_iterations=2, random_state=0).fit(features, np.arange(30_000) % 10)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 120e6  # a byte for every pair would be 900 MB


def test_every_round_is_told() -> None:
    told: list[tuple[int, int, str]] = []
    features, labels = topics(50, 0)
    LFH(4, n_iterations=3, random_state=0).fit(features, labels, progress=lambda *report: told.append(report))
    assert told == [(1, 3, "LFH rounds"), (2, 3, "LFH rounds"), (3, 3, "LFH rounds")]


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("n_iterations", 0, "a whole number of at least 1"),
        ("n_iterations", 1.5, "a whole number of at least 1"),
        ("n_columns", 0, "a whole number of at least 1"),
        ("n_columns", "all", "a whole number of at least 1"),
        ("beta", 0, "a number above 0"),
        ("beta", "wide", "a number above 0"),
        ("ridge", -1.0, "a number above 0"),
        ("ridge", float("nan"), "a number above 0"),
        ("ridge", None, "a number above 0"),
    ],
)
def test_a_wrong_parameter_is_one_clear_sentence(name: str, value: object, wanted: str) -> None:
    with pytest.raises(UserError, match=f"^{name} of LFH must be {wanted}: got {value!r}$"):
        LFH(4, **{name: value}).fit(*topics(50, 0))
