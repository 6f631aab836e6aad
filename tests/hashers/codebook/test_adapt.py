import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from drlh.hashers.codebook.adapt import agreement_target, move_codewords
from drlh.hashers.codebook.codebook import make_codebook


def confusion_of(posteriors: np.ndarray) -> np.ndarray:
    return posteriors.T @ posteriors / len(posteriors)


def squared_error(signs: np.ndarray, target: np.ndarray) -> float:
    return float(np.square(signs @ signs.T / signs.shape[1] - target).sum())


def pairs_confused(n_classes: int) -> np.ndarray:
    """Posteriors of an agent that takes class 0 for 1 and 1 for 0 and is nearly sure of all others."""
    sure = 0.97 * np.eye(n_classes) + 0.03 / n_classes
    doubtful = np.full((2, n_classes), 0.03 / n_classes)
    doubtful[:, :2] += 0.97 / 2
    return np.vstack([sure, doubtful, doubtful])


@given(st.integers(2, 12), st.floats(0.05, 0.5), st.floats(0, 1), st.integers(0, 10**6))
@settings(deadline=None, max_examples=60)
def test_the_target_has_the_diagonal_mean_and_peak_it_promises(
    n_classes: int, strength: float, separation: float, seed: int
) -> None:
    posteriors = np.random.default_rng(seed).dirichlet(np.full(n_classes, 0.3), 50)
    target = agreement_target(confusion_of(posteriors), strength=strength, separation=separation)
    off = ~np.eye(n_classes, dtype=bool)
    assert (target.diagonal() == 1).all()
    np.testing.assert_allclose(target, target.T)
    assume(target[off].min() > -1)  # codewords cannot be farther apart: there the mean is cut off
    mean = -separation / (n_classes - 1)
    assert target[off].mean() == pytest.approx(mean, abs=1e-9)
    if n_classes > 2:
        assert target[off].max() == pytest.approx(mean + strength, abs=1e-9)


def test_the_most_confused_pair_is_wanted_nearest() -> None:
    target = agreement_target(confusion_of(pairs_confused(6)), strength=0.4, separation=0.9)
    np.fill_diagonal(target, -2)
    assert sorted(np.unravel_index(target.argmax(), target.shape)) == [0, 1]


@pytest.mark.parametrize("n_classes", [2, 5])
def test_classes_that_are_all_confused_alike_stay_equidistant(n_classes: int) -> None:
    alike = np.full((n_classes, n_classes), 0.02) + 0.1 * np.eye(n_classes)
    target = agreement_target(alike, strength=0.4, separation=0.9)
    off = ~np.eye(n_classes, dtype=bool)
    np.testing.assert_allclose(target[off], -0.9 / (n_classes - 1), atol=1e-6)


@given(st.integers(2, 6), st.integers(1, 14), st.integers(1, 3), st.integers(0, 10**6))
@settings(deadline=None, max_examples=60)
def test_moved_codewords_are_never_farther_from_the_target(
    n_classes: int, n_bits: int, n_starts: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    begin = rng.choice([-1.0, 1.0], (n_classes, n_bits))
    kept = begin.copy()
    target = rng.uniform(-0.5, 0.8, (n_classes, n_classes))
    target = (target + target.T) / 2
    np.fill_diagonal(target, 1)
    moved = move_codewords(begin, target, rng, n_starts=n_starts)
    assert squared_error(moved, target) <= squared_error(begin, target) + 1e-12
    assert set(np.unique(moved)) <= {-1.0, 1.0}
    assert moved.shape == begin.shape
    np.testing.assert_array_equal(begin, kept)


@pytest.mark.parametrize("seed", range(8))
def test_no_single_flip_brings_moved_codewords_nearer_the_target(seed: int) -> None:
    rng = np.random.default_rng(seed)
    target = agreement_target(confusion_of(rng.dirichlet(np.full(6, 0.3), 50)), strength=0.4, separation=0.9)
    moved = move_codewords(rng.choice([-1.0, 1.0], (6, 16)), target, rng, n_starts=1)
    least = squared_error(moved, target)
    for row, bit in np.ndindex(moved.shape):
        flipped = moved.copy()
        flipped[row, bit] *= -1
        assert squared_error(flipped, target) >= least - 1e-9


@pytest.mark.parametrize("n_bits", [16, 48])
def test_codewords_of_confused_classes_end_nearer_than_all_others(n_bits: int) -> None:
    begin = make_codebook(6, n_bits, random_state=0).signs.astype(np.float64)
    target = agreement_target(confusion_of(pairs_confused(6)), strength=0.4, separation=0.9)
    moved = move_codewords(begin, target, np.random.default_rng(0))
    agreements = moved @ moved.T / n_bits
    others = [agreements[a, b] for a in range(6) for b in range(a) if (a, b) != (1, 0)]
    assert agreements[0, 1] > max(others) + 0.1
    assert agreements[0, 1] > (begin @ begin.T / n_bits)[0, 1]
