import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from drlh.hashers.codebook.codebook import hadamard_matrix
from drlh.hashers.drlh.reward import LogScore, inverse_temperature, mean_certainty, mean_label_share


def literal_potential(signs: np.ndarray, codewords: np.ndarray, beta: float, targets: np.ndarray) -> float:
    """sum_c w_c log softmax_c(beta s . S_c), one code at a time."""
    agreements = [beta * float(row @ signs) for row in codewords]
    log_total = math.log(sum(math.exp(value) for value in agreements))
    return sum(float(w) * (value - log_total) for w, value in zip(targets, agreements, strict=True))


def simplex_codebook(order: int) -> np.ndarray:
    """(order, order - 1) signs, each two rows agreeing by -1: a Hadamard matrix without its constant column."""
    matrix = hadamard_matrix(order)
    assert matrix is not None
    return (matrix * matrix[:, :1])[:, 1:].astype(np.float64)


Situation = tuple[LogScore, np.ndarray, np.ndarray]


@st.composite
def situations(draw: st.DrawFn) -> Situation:
    """(score, five codes, their targets): a class each, several classes each, or how likely each class is."""
    n_bits, n_classes = draw(st.integers(1, 12)), draw(st.integers(2, 6))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    codewords = torch.from_numpy(rng.choice([-1.0, 1.0], (n_classes, n_bits)))
    score = LogScore(codewords, draw(st.floats(0.01, 1.5)))
    signs = rng.choice([-1.0, 1.0], (5, n_bits))
    targets = {
        "class": lambda: np.eye(n_classes)[rng.integers(0, n_classes, 5)],
        "several": lambda: (rng.random((5, n_classes)) < 0.5).astype(float),
        "likely": lambda: rng.dirichlet(np.ones(n_classes), 5),
    }[draw(st.sampled_from(["class", "several", "likely"]))]()
    return score, signs, targets


def all_rewards(score: LogScore, signs: np.ndarray, targets: np.ndarray) -> np.ndarray:
    codes, wanted = torch.from_numpy(signs), torch.from_numpy(targets)
    return score.flip_rewards(
        codes, score.posterior(codes), score.class_field(wanted), wanted.sum(dim=1, keepdim=True)
    ).numpy()


@given(situations())
@settings(deadline=None, max_examples=80)
def test_a_gain_is_the_change_of_the_literal_potential(situation: Situation) -> None:
    score, signs, targets = situation
    codewords = score.codewords.numpy()
    found = all_rewards(score, signs, targets)
    for row, code in enumerate(signs):
        before = literal_potential(code, codewords, score.beta, targets[row])
        for bit in range(signs.shape[1]):
            flipped = np.where(np.arange(signs.shape[1]) == bit, -code, code)
            change = literal_potential(flipped, codewords, score.beta, targets[row]) - before
            assert found[row, bit] == pytest.approx(change, abs=1e-9)


@given(situations())
@settings(deadline=None, max_examples=30)
def test_gains_are_linear_in_the_label_weights(situation: Situation) -> None:
    score, signs, targets = situation
    by_class = [all_rewards(score, signs, np.tile(row, (5, 1))) for row in np.eye(targets.shape[1])]
    mixed = sum(targets[:, [c]] * rewards for c, rewards in enumerate(by_class))
    np.testing.assert_allclose(all_rewards(score, signs, targets), mixed, atol=1e-9)


@given(situations())
@settings(deadline=None, max_examples=30)
def test_shares_are_a_division_that_favours_the_nearest_codeword(situation: Situation) -> None:
    score, signs, _ = situation
    posterior = score.posterior(torch.from_numpy(signs)).numpy()
    agreements = signs @ score.codewords.numpy().T
    np.testing.assert_allclose(posterior.sum(axis=1), 1)
    np.testing.assert_allclose(
        np.take_along_axis(posterior, agreements.argmax(axis=1)[:, None], 1)[:, 0], posterior.max(1)
    )


@pytest.mark.parametrize("order", [2, 4, 8, 12, 16])
@pytest.mark.parametrize("confidence", [0.55, 0.9, 0.955])
def test_a_code_on_its_codeword_states_its_class_with_the_target_confidence(order: int, confidence: float) -> None:
    codewords = torch.from_numpy(simplex_codebook(order))
    score = LogScore(codewords, inverse_temperature(order - 1, order, confidence))
    posterior = score.posterior(codewords)
    np.testing.assert_allclose(posterior.diagonal(), confidence, rtol=1e-9)
    others = posterior[~torch.eye(order, dtype=torch.bool)]
    np.testing.assert_allclose(others, (1 - confidence) / (order - 1), rtol=1e-9)


def test_certainty_is_the_chance_that_two_draws_agree_whatever_the_sum_of_the_weights() -> None:
    likely = torch.tensor([[0.5, 0.5, 0, 0], [1, 0, 0, 0], [0.25, 0.25, 0.25, 0.25]])
    assert mean_certainty(likely) == pytest.approx((1 / 2 + 1 + 1 / 4) / 3)
    assert mean_certainty(3 * likely) == pytest.approx(mean_certainty(likely))


def test_mean_certainty_known_labels_is_their_share() -> None:
    labels = torch.tensor([[1.0, 1, 0], [0, 1, 0], [1, 1, 1]])
    assert mean_label_share(labels) == pytest.approx((1 / 2 + 1 + 1 / 3) / 3)
    assert mean_certainty(labels) == pytest.approx(mean_label_share(labels))


def test_a_single_label_needs_no_count() -> None:
    rng = np.random.default_rng(0)
    score = LogScore(torch.from_numpy(rng.choice([-1.0, 1.0], (4, 9))), 0.2)
    codes = torch.from_numpy(rng.choice([-1.0, 1.0], (6, 9)))
    targets = torch.eye(4, dtype=torch.float64)[[0, 1, 2, 3, 0, 1]]
    plain = score.flip_rewards(codes, score.posterior(codes), score.class_field(targets))
    np.testing.assert_allclose(plain, all_rewards(score, codes.numpy(), targets.numpy()))
