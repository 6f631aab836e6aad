"""The paired bootstrap against a plain loop, and on cases whose answer is known."""

import numpy as np
import pytest

from drlh.evaluate.bootstrap import paired_bootstrap


def test_it_agrees_with_a_plain_loop_over_resamples() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.random(200), rng.random(200) - 0.02
    found = paired_bootstrap([first], [second], n_resamples=4000)
    other = np.random.default_rng(7)
    means = []
    for _ in range(4000):
        rows = other.integers(0, 200, 200)
        means.append(first[rows].mean() - second[rows].mean())
    assert found.difference == pytest.approx(first.mean() - second.mean(), abs=1e-12)
    assert (found.low, found.high) == pytest.approx(np.quantile(means, (0.025, 0.975)), abs=0.006)
    assert found.share_not_ahead == pytest.approx(np.mean(np.array(means) <= 0), abs=0.03)


def test_pairing_sees_a_small_difference_that_is_always_there() -> None:
    values = np.random.default_rng(0).random(300)
    found = paired_bootstrap([values + 0.001], [values])
    assert (found.low, found.high) == pytest.approx((0.001, 0.001))
    assert found.share_not_ahead == 0
    shuffled = paired_bootstrap([values + 0.001], [np.random.default_rng(1).permutation(values)])
    assert shuffled.low < 0 < shuffled.high  # without the pairs it drowns


def test_splits_count_alike_whatever_their_size() -> None:
    found = paired_bootstrap([np.full(10, 0.3), np.full(1000, 0.1)], [np.zeros(10), np.zeros(1000)])
    assert found.difference == pytest.approx(0.2)


def test_the_same_seed_gives_the_same_interval_whatever_fits_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).normal(size=(2, 50))
    whole = paired_bootstrap([values[0]], [values[1]], n_resamples=999)
    monkeypatch.setattr("drlh.evaluate.bootstrap._AT_ONCE", 50 * 7)
    assert paired_bootstrap([values[0]], [values[1]], n_resamples=999) == whole


def test_unequal_numbers_of_splits_are_refused() -> None:
    with pytest.raises(ValueError):
        paired_bootstrap([np.zeros(3)], [])
