"""The classifier against scikit-learn's, its choice of a penalty, and labels that are hard to learn from."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from drlh.core.progress import quiet
from drlh.hashers.controls.posterior import (
    STRENGTHS,
    PosteriorMixin,
    choose_strength,
    fit_logistic,
    posterior_of,
    prior_only,
    standardised,
)


def one_label_set(n: int, seed: int = 0, spread: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, n)
    centres = np.random.default_rng(99).normal(0, 1, (4, 12))
    return centres[labels] + spread * rng.normal(size=(n, 12)), labels


def several_label_set(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Three labels by the sign of a feature each, with noise; a fourth that no image has, a fifth that all have."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, 8))
    hot = features[:, :3] + 0.3 * rng.normal(size=(n, 3)) > 0.5
    return features, np.hstack([hot, np.zeros((n, 1)), np.ones((n, 1))]).astype(np.uint8)


def fitted(features: np.ndarray, labels: np.ndarray, seed: int = 0) -> PosteriorMixin:
    model = PosteriorMixin()
    model._fit_posterior(features, labels, np.random.default_rng(seed), quiet)
    return model


@pytest.mark.parametrize("strength", [1.0, 0.01])
def test_posteriors_of_one_label_are_those_of_scikit_learns_logistic_regression(strength: float) -> None:
    features, labels = one_label_set(400)
    rows, _, _ = standardised(features, np.arange(400))
    targets = np.eye(4, dtype=np.float32)[labels]
    found = fit_logistic(rows, targets, strength, True, prior_only(targets, 12, True))
    theirs = LogisticRegression(C=1 / (400 * strength), tol=1e-8, max_iter=1000).fit(rows.astype(np.float64), labels)
    ours = posterior_of(rows @ found[:-1] + found[-1], True)
    np.testing.assert_allclose(ours, theirs.predict_proba(rows), atol=2e-3)


def test_posteriors_of_several_labels_are_those_of_one_logistic_regression_each() -> None:
    features, labels = several_label_set(400)
    rows, _, _ = standardised(features, np.arange(400))
    found = fit_logistic(rows, labels.astype(np.float32), 0.01, False, prior_only(labels.astype(np.float32), 8, False))
    ours = posterior_of(rows @ found[:-1] + found[-1], False)
    for label in range(3):
        theirs = LogisticRegression(C=1 / 4, tol=1e-8, max_iter=1000).fit(rows.astype(np.float64), labels[:, label])
        np.testing.assert_allclose(ours[:, label], theirs.predict_proba(rows)[:, 1], atol=2e-3)


def test_a_label_of_no_image_or_of_all_images_gets_a_posterior_near_0_or_1() -> None:
    model = fitted(*several_label_set(300))
    posterior = model.predict_posterior(several_label_set(100, seed=1)[0])
    assert posterior[:, 3].max() < 0.01
    assert posterior[:, 4].min() > 0.99


def test_several_labels_are_learned() -> None:
    model = fitted(*several_label_set(300))
    features, labels = several_label_set(500, seed=1)
    assert ((model.predict_posterior(features) > 0.5) == labels)[:, :3].mean(axis=0).min() > 0.85


def test_classes_are_learned_and_shuffled_labels_are_not() -> None:
    features, labels = one_label_set(600)
    test_features, test_labels = one_label_set(500, seed=1)
    learned = fitted(features, labels).predict_posterior(test_features)
    shuffled = fitted(features, np.random.default_rng(2).permutation(labels)).predict_posterior(test_features)
    assert (learned.argmax(axis=1) == test_labels).mean() > 0.6
    assert (shuffled.argmax(axis=1) == test_labels).mean() < 0.4  # four classes: chance is a quarter
    assert shuffled.max() < 0.5  # a strong penalty was chosen: it knows that it knows nothing
    np.testing.assert_allclose(learned.sum(axis=1), 1)


def test_noise_calls_for_a_stronger_penalty_than_a_clear_case() -> None:
    noisy, clear = (fitted(*one_label_set(200, spread=spread)).strength_ for spread in (8.0, 0.5))
    assert noisy >= 10 * clear


def test_the_chosen_penalty_has_the_least_loss_on_images_that_were_held_out() -> None:
    features, labels = one_label_set(300)
    rows, _, _ = standardised(features, np.arange(300))
    targets = np.eye(4, dtype=np.float32)[labels]
    chosen, _ = choose_strength(rows, targets, True, quiet)
    losses = []
    for strength in STRENGTHS:
        found = fit_logistic(rows[:240], targets[:240], strength, True, prior_only(targets[:240], 12, True))
        posterior = posterior_of(rows[240:] @ found[:-1] + found[-1], True)
        losses.append(-np.log(posterior[np.arange(60), labels[240:]]).mean())
    assert STRENGTHS[0] > chosen == STRENGTHS[int(np.argmin(losses))] > STRENGTHS[-1]


@pytest.mark.parametrize("seed", range(5))
def test_a_class_with_one_image_may_be_held_out(seed: int) -> None:
    features, labels = one_label_set(40)
    labels = np.append(labels, 4)
    posterior = fitted(np.vstack([features, features[:1]]), labels, seed).predict_posterior(features)
    assert posterior.shape == (40, 5)
    assert np.isfinite(posterior).all()


def test_posteriors_do_not_depend_on_the_units_of_the_features() -> None:
    features, labels = one_label_set(300)
    units, zeros = np.logspace(-3, 3, 12), np.linspace(-5, 5, 12)
    plain = fitted(features, labels).predict_posterior(features)
    other = fitted(features * units + zeros, labels).predict_posterior(features * units + zeros)
    np.testing.assert_allclose(other, plain, atol=1e-3)


def test_a_feature_that_never_varied_has_no_say() -> None:
    features, labels = one_label_set(300)
    with_constant = np.hstack([features, np.full((300, 1), 0.1), np.zeros((300, 1))])
    model = fitted(with_constant, labels)
    before = model.predict_posterior(with_constant)
    with_constant[:, 12:] += 1e-6
    np.testing.assert_allclose(model.predict_posterior(with_constant), before, atol=1e-6)


def test_features_of_single_precision_give_the_same_posteriors() -> None:
    features, labels = one_label_set(300)
    single = features.astype(np.float32)
    one, two = fitted(single, labels), fitted(single.astype(np.float64), labels)
    np.testing.assert_allclose(one.predict_posterior(single), two.predict_posterior(single), atol=1e-4)


def test_posteriors_of_many_rows_are_made_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    model, features = fitted(*one_label_set(100)), one_label_set(50, seed=1)[0]
    whole = model.predict_posterior(features)
    monkeypatch.setattr("drlh.hashers.controls.posterior._ROWS_AT_ONCE", 7)
    np.testing.assert_allclose(model.predict_posterior(features), whole, rtol=1e-12)
    rows, _, _ = standardised(features, np.arange(50)[::-1])
    np.testing.assert_allclose(rows.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(rows.std(axis=0), 1, atol=1e-5)


def test_huge_logits_overflow_nothing() -> None:
    logits = np.array([[-1e4, 0.0, 1e4]])
    np.testing.assert_array_equal(posterior_of(logits, True), [[0, 0, 1]])
    np.testing.assert_array_equal(posterior_of(logits, False), [[0, 0.5, 1]])
