"""SDH: every step lowers the objective, and the codes it learns find the classes of new images."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import cho_factor

from drlh.core.errors import UserError
from drlh.evaluate.metrics import mean_average_precision
from drlh.hashers.classic.lsh import LSH
from drlh.hashers.classic.sdh import SDH, classifier, discrete_step, loss, regression


def overlapping(n: int = 400, n_classes: int = 6, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Classes that 40 features tell apart, though noise in all of them is larger than the classes' distance."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, n)
    centres = np.random.default_rng(99).normal(0, 0.7, (n_classes, 40))
    return centres[labels] + rng.normal(0, 1, (n, 40)), labels


def several_labels(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Each of 5 labels adds its own direction to the features."""
    rng = np.random.default_rng(seed)
    labels = (rng.random((n, 5)) < 0.3).astype(np.uint8)
    directions = np.random.default_rng(99).normal(0, 1, (5, 30))
    return labels @ directions + rng.normal(0, 0.8, (n, 30)), labels


def score(hasher: LSH | SDH, train: tuple, query: tuple, database: tuple) -> float:
    hasher.fit(*train)
    codes = (hasher.transform(query[0]), query[1], hasher.transform(database[0]), database[1])
    return mean_average_precision(*codes)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n_bits=st.integers(1, 10), n_classes=st.integers(1, 5), nu=st.floats(1e-6, 10))
def test_the_discrete_step_never_raises_the_loss_and_ends_where_no_single_flip_helps(
    seed: int, n_bits: int, n_classes: int, nu: float
) -> None:
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1.0, 1.0], (12, n_bits))
    targets, predicted = rng.normal(size=(12, n_classes)), rng.normal(size=(12, n_bits))
    weights = rng.normal(size=(n_bits, n_classes))
    before, given_signs = loss(signs, targets, weights, predicted, nu), signs.copy()
    one = discrete_step(signs, targets, weights, predicted, nu, n_sweeps=1)
    after = discrete_step(one, targets, weights, predicted, nu, n_sweeps=1000)
    np.testing.assert_array_equal(signs, given_signs)
    values = [before, loss(one, targets, weights, predicted, nu), loss(after, targets, weights, predicted, nu)]
    assert values[2] <= values[1] + 1e-9 <= values[0] + 2e-9
    assert set(np.unique(after)) <= {-1.0, 1.0}
    for row, bit in np.ndindex(after.shape):
        flipped = after.copy()
        flipped[row, bit] *= -1
        assert loss(flipped, targets, weights, predicted, nu) >= values[2] - 1e-9


def test_a_bit_whose_values_are_equally_good_stays() -> None:
    signs = np.array([[1.0, -1.0], [-1.0, 1.0]])
    zeros = np.zeros((2, 2))
    np.testing.assert_array_equal(discrete_step(signs, zeros, zeros, zeros, 1.0, n_sweeps=3), signs)


def test_the_classifier_is_at_the_minimum_of_its_ridge_regression() -> None:
    rng = np.random.default_rng(0)
    signs, targets = rng.choice([-1.0, 1.0], (30, 6)), rng.normal(size=(30, 3))
    weights = classifier(signs, targets, 2.0)
    np.testing.assert_allclose(2 * signs.T @ (signs @ weights - targets) + 4 * weights, 0, atol=1e-9)


def test_the_regression_is_at_the_minimum_of_its_ridge_regression_and_its_intercept_is_free() -> None:
    rng = np.random.default_rng(0)
    kernel = rng.normal(size=(30, 4))
    kernel -= kernel.mean(axis=0)
    signs = np.where(rng.random((30, 3)) < 0.8, 1.0, -1.0)  # far from balanced
    projection, offset = regression(kernel, cho_factor(kernel.T @ kernel + 3 * np.eye(4)), signs)
    errors = kernel @ projection + offset - signs
    np.testing.assert_allclose(kernel.T @ errors + 3 * projection, 0, atol=1e-9)
    np.testing.assert_allclose(errors.sum(axis=0), 0, atol=1e-9)


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 1000),
    nu=st.sampled_from([1e-5, 1e-2, 1.0]),
    ridge=st.sampled_from([1e-2, 10.0]),
    multilabel=st.booleans(),
)
def test_the_objective_never_rises_over_the_rounds(seed: int, nu: float, ridge: float, multilabel: bool) -> None:
    data = several_labels(80, seed) if multilabel else overlapping(80, seed=seed)
    hasher = SDH(9, n_anchors=30, nu=nu, ridge=ridge, n_iterations=8, random_state=seed).fit(*data)
    assert hasher.objective_.shape == (9,)
    assert (np.diff(hasher.objective_) <= 1e-9 * hasher.objective_[0]).all()
    assert hasher.objective_[1] < hasher.objective_[0]


def test_it_finds_the_classes_of_new_images_far_better_than_random_planes() -> None:
    data = [overlapping(seed=seed) for seed in (0, 1, 2)]
    learned = score(SDH(16, random_state=0), *data)
    assert learned > 0.7
    assert learned > 1.5 * score(LSH(16, random_state=0), *data)


def test_shuffled_labels_teach_nothing() -> None:
    (features, labels), query, database = (overlapping(seed=seed) for seed in (0, 1, 2))
    shuffled = np.random.default_rng(5).permutation(labels)
    nothing = score(LSH(16, random_state=0), (features, labels), query, database)
    assert score(SDH(16, random_state=0), (features, shuffled), query, database) < nothing


def test_images_that_share_one_of_several_labels_come_near() -> None:
    data = [several_labels(seed=seed) for seed in (0, 1, 2)]
    learned = score(SDH(24, random_state=0), *data)
    assert learned > score(LSH(24, random_state=0), *data) + 0.1


def test_class_ids_and_their_one_hot_rows_give_the_same_codes() -> None:
    features, labels = overlapping(100)
    ids = SDH(8, random_state=0).fit(features, labels).transform(features)
    np.testing.assert_array_equal(SDH(8, random_state=0).fit(features, np.eye(6)[labels]).transform(features), ids)


@pytest.mark.parametrize("name", ["nu", "lam", "ridge"])
def test_a_wrong_weight_is_one_clear_sentence(name: str) -> None:
    with pytest.raises(UserError, match=f"{name} of SDH must be a number above 0: got 0"):
        SDH(8).set_params(**{name: 0}).fit(*overlapping(50))


def test_progress_counts_the_rounds() -> None:
    seen: list[tuple[int, int, str]] = []
    SDH(4, n_iterations=3, random_state=0).fit(*overlapping(50), progress=lambda *args: seen.append(args))
    assert seen == [(1, 3, "SDH rounds"), (2, 3, "SDH rounds"), (3, 3, "SDH rounds")]
