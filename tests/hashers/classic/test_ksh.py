"""KSH: the residual against the matrix it stands for, steps that never lose, and codes that find classes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drlh.core.codes import signs
from drlh.core.errors import UserError
from drlh.evaluate.metrics import mean_average_precision
from drlh.hashers.classic.ksh import KSH, PairResidual, learn_bit, refine, signs_of, spectral_start, whitening
from drlh.hashers.classic.lsh import LSH

seeds = st.integers(0, 2**32 - 1)


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


def similarity(labels: np.ndarray) -> np.ndarray:
    """The dense matrix of +1 and -1, pair by pair."""
    rows = np.eye(labels.max() + 1)[labels] if labels.ndim == 1 else labels
    return np.array([[1.0 if (a * b).any() else -1.0 for b in rows] for a in rows])


def score(hasher: LSH | KSH, train: tuple, query: tuple, database: tuple) -> float:
    hasher.fit(*train)
    codes = (hasher.transform(query[0]), query[1], hasher.transform(database[0]), database[1])
    return mean_average_precision(*codes)


def random_problem(seed: int, n: int = 40, n_anchors: int = 8) -> tuple[np.ndarray, PairResidual]:
    """Inputs (n, n_anchors) and a residual of six bits from which two random bits have been taken."""
    rng = np.random.default_rng(seed)
    residual = PairResidual(rng.integers(0, 3, n), 6)
    for _ in range(2):
        residual.subtract(rng.choice([-1.0, 1.0], n))
    kernel = rng.random((n, n_anchors)) - 0.5
    return kernel @ whitening(kernel), residual


@settings(max_examples=30, deadline=None)
@given(seed=seeds, multilabel=st.booleans())
def test_products_with_the_residual_equal_those_with_the_dense_matrix(seed: int, multilabel: bool) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, (25, 4)).astype(np.uint8) if multilabel else rng.integers(0, 4, 25)
    residual, dense = PairResidual(labels, 5), 5 * similarity(labels)
    for _ in range(3):
        bit = rng.choice([-1.0, 1.0], 25)
        before = np.square(dense).sum()
        dense -= np.outer(bit, bit)
        assert residual.subtract(bit) * (5 * 25) ** 2 == pytest.approx(np.square(dense).sum() - before)
    values = rng.normal(size=(25, 3))
    np.testing.assert_allclose(residual.times(values), dense @ values, atol=1e-9)
    assert residual.gain(values[:, 0]) == pytest.approx(values[:, 0] @ dense @ values[:, 0])


def test_whitened_kernel_values_have_unit_variance_and_no_correlation() -> None:
    kernel = np.random.default_rng(0).normal(size=(50, 6)) @ np.random.default_rng(1).normal(size=(6, 6))
    doubled = np.column_stack([kernel, kernel])  # twelve anchors, of which six are copies
    inputs = doubled @ whitening(doubled)
    np.testing.assert_allclose(inputs.T @ inputs / 50, np.eye(6), atol=1e-9)


def test_whitening_does_not_make_inputs_of_rounding() -> None:
    rounding = 1e-15 * np.random.default_rng(0).normal(size=(50, 6))
    assert np.abs(rounding @ whitening(rounding)).max() < 1e-6


@settings(max_examples=30, deadline=None)
@given(seed=seeds)
def test_no_other_direction_gains_more_than_the_spectral_start(seed: int) -> None:
    inputs, residual = random_problem(seed)
    best = residual.gain(inputs @ spectral_start(inputs, residual))
    others = np.random.default_rng(seed).normal(size=(20, inputs.shape[1]))
    assert all(residual.gain(inputs @ other / np.linalg.norm(other)) <= best + 1e-9 for other in others)


@settings(max_examples=50, deadline=None)
@given(seed=seeds)
def test_the_cost_falls_at_every_step_of_the_refinement(seed: int) -> None:
    inputs, residual = random_problem(seed)
    start = spectral_start(inputs, residual)
    refined, costs = refine(inputs, residual, start, 200, 1e-6)
    assert (np.diff(costs) < 0).all()
    assert costs[0] == pytest.approx(-residual.gain(np.tanh(inputs @ start / 2)))
    assert costs[-1] == pytest.approx(-residual.gain(np.tanh(inputs @ refined / 2)))


def test_the_refinement_gains_much_over_its_start() -> None:
    inputs, residual = random_problem(0)
    _, costs = refine(inputs, residual, spectral_start(inputs, residual), 200, 1e-3)
    assert costs[-1] < 1.5 * costs[0] < 0


def test_a_bit_is_never_worth_less_than_its_spectral_start() -> None:
    n_worse = 0  # refined weights whose signs are worth less: the smooth cost is not the one that counts
    for seed in range(200):
        inputs, residual = random_problem(seed, n=12, n_anchors=3)
        start = spectral_start(inputs, residual)
        refined, _ = refine(inputs, residual, start, 50, 1e-2)
        learned = learn_bit(inputs, residual, 50, 1e-2)
        gains = [residual.gain(signs_of(inputs @ weights)) for weights in (start, refined, learned)]
        assert gains[2] == max(gains)
        n_worse += gains[1] < gains[0]
    assert n_worse > 0


def test_what_is_left_of_the_matrix_falls_with_every_bit_and_is_what_the_codes_leave() -> None:
    features, labels = overlapping(150, n_classes=4)
    hasher = KSH(12, random_state=0).fit(features, labels)
    codes = signs(hasher.transform(features)).astype(float)
    left = [
        np.square(12 * similarity(labels) - codes[:, :bits] @ codes[:, :bits].T).sum() / (12 * 150) ** 2
        for bits in range(13)
    ]
    np.testing.assert_allclose(hasher.residual_, left, atol=1e-9)
    assert (np.diff(hasher.residual_) < 0).all()


def test_it_finds_the_classes_of_new_images_far_better_than_random_planes() -> None:
    data = [overlapping(seed=seed) for seed in (0, 1, 2)]
    learned = score(KSH(16, random_state=0), *data)
    assert learned > 0.7
    assert learned > 1.5 * score(LSH(16, random_state=0), *data)


def test_shuffled_labels_teach_nothing() -> None:
    (features, labels), query, database = (overlapping(seed=seed) for seed in (0, 1, 2))
    shuffled = np.random.default_rng(5).permutation(labels)
    nothing = score(LSH(16, random_state=0), (features, labels), query, database)
    assert score(KSH(16, random_state=0), (features, shuffled), query, database) < nothing


def test_images_that_share_one_of_several_labels_come_near() -> None:
    data = [several_labels(seed=seed) for seed in (0, 1, 2)]
    learned = score(KSH(24, random_state=0), *data)
    assert learned > score(LSH(24, random_state=0), *data) + 0.1


def test_class_ids_and_their_one_hot_rows_give_the_same_codes() -> None:
    features, labels = overlapping(100)
    ids = KSH(8, random_state=0).fit(features, labels).transform(features)
    np.testing.assert_array_equal(KSH(8, random_state=0).fit(features, np.eye(6)[labels]).transform(features), ids)


def test_more_labelled_images_than_n_labelled_leave_the_others_labels_unread() -> None:
    features, labels = overlapping(200)
    few = KSH(6, n_labelled=40, random_state=0)
    once = few.fit(features, labels).transform(features)
    kept = 0
    for row in range(0, 200, 10):  # another label on an image that was not drawn changes nothing
        other = labels.copy()
        other[row] = (other[row] + 1) % 6
        kept += np.array_equal(few.fit(features, other).transform(features), once)
    assert 10 <= kept < 20


def test_one_bit_splits_two_classes() -> None:
    features, labels = overlapping(200, n_classes=2)
    codes = KSH(1, random_state=0).fit(features, labels).transform(features)[:, 0]
    assert max((codes == labels).mean(), (codes != labels).mean()) > 0.95


def test_a_wrong_tolerance_is_one_clear_sentence() -> None:
    with pytest.raises(UserError, match="tolerance of KSH must be a number above 0: got 0"):
        KSH(8, tolerance=0).fit(*overlapping(50))


def test_a_wrong_n_labelled_is_one_clear_sentence() -> None:
    with pytest.raises(UserError, match="n_labelled of KSH must be a whole number of at least 1: got 0"):
        KSH(8, n_labelled=0).fit(*overlapping(50))


def test_progress_counts_the_bits() -> None:
    seen: list[tuple[int, int, str]] = []
    KSH(3, random_state=0).fit(*overlapping(50), progress=lambda *args: seen.append(args))
    assert seen == [(1, 3, "KSH bits"), (2, 3, "KSH bits"), (3, 3, "KSH bits")]
