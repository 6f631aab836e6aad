import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from drlh.hashers.codebook.codebook import hadamard_matrix
from drlh.hashers.drlh.reward import Score, certainty_of, share_of, sharpness


def literal_potential(signs: np.ndarray, embedding: np.ndarray, kappa: float, weights: np.ndarray) -> float:
    """sum_c w_c log softmax_c(kappa s . S_c), one code at a time."""
    agreements = [kappa * float(row @ signs) for row in embedding]
    log_total = math.log(sum(math.exp(value) for value in agreements))
    return sum(float(w) * (value - log_total) for w, value in zip(weights, agreements, strict=True))


def simplex_codebook(order: int) -> np.ndarray:
    """(order, order - 1) signs, each two rows agreeing by -1: a Hadamard matrix without its constant column."""
    matrix = hadamard_matrix(order)
    assert matrix is not None
    return (matrix * matrix[:, :1])[:, 1:].astype(np.float64)


Situation = tuple[Score, np.ndarray, np.ndarray]


@st.composite
def situations(draw: st.DrawFn) -> Situation:
    """(score, five codes, their label weights): a class each, several classes each, or how likely each class is."""
    n_bits, n_classes = draw(st.integers(1, 12)), draw(st.integers(2, 6))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    embedding = torch.from_numpy(rng.choice([-1.0, 1.0], (n_classes, n_bits)))
    score = Score(embedding, draw(st.floats(0.01, 1.5)))
    signs = rng.choice([-1.0, 1.0], (5, n_bits))
    weights = {
        "class": lambda: np.eye(n_classes)[rng.integers(0, n_classes, 5)],
        "several": lambda: (rng.random((5, n_classes)) < 0.5).astype(float),
        "likely": lambda: rng.dirichlet(np.ones(n_classes), 5),
    }[draw(st.sampled_from(["class", "several", "likely"]))]()
    return score, signs, weights


def all_gains(score: Score, signs: np.ndarray, weights: np.ndarray) -> np.ndarray:
    codes, wanted = torch.from_numpy(signs), torch.from_numpy(weights)
    return score.gains(codes, score.shares(codes), score.pull(wanted), wanted.sum(dim=1, keepdim=True)).numpy()


@given(situations())
@settings(deadline=None, max_examples=80)
def test_a_gain_is_the_change_of_the_literal_potential(situation: Situation) -> None:
    score, signs, weights = situation
    embedding = score.embedding.numpy()
    found = all_gains(score, signs, weights)
    for row, code in enumerate(signs):
        before = literal_potential(code, embedding, score.kappa, weights[row])
        for bit in range(signs.shape[1]):
            flipped = np.where(np.arange(signs.shape[1]) == bit, -code, code)
            change = literal_potential(flipped, embedding, score.kappa, weights[row]) - before
            assert found[row, bit] == pytest.approx(change, abs=1e-9)


@given(situations())
@settings(deadline=None, max_examples=30)
def test_gains_are_linear_in_the_label_weights(situation: Situation) -> None:
    score, signs, weights = situation
    by_class = [all_gains(score, signs, np.tile(row, (5, 1))) for row in np.eye(weights.shape[1])]
    mixed = sum(weights[:, [c]] * gains for c, gains in enumerate(by_class))
    np.testing.assert_allclose(all_gains(score, signs, weights), mixed, atol=1e-9)


@given(situations())
@settings(deadline=None, max_examples=30)
def test_shares_are_a_division_that_favours_the_nearest_codeword(situation: Situation) -> None:
    score, signs, _ = situation
    shares = score.shares(torch.from_numpy(signs)).numpy()
    agreements = signs @ score.embedding.numpy().T
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_allclose(np.take_along_axis(shares, agreements.argmax(axis=1)[:, None], 1)[:, 0], shares.max(1))


@pytest.mark.parametrize("order", [2, 4, 8, 12, 16])
@pytest.mark.parametrize("top", [0.55, 0.9, 0.955])
def test_a_code_on_its_codeword_states_its_class_with_probability_top(order: int, top: float) -> None:
    codewords = torch.from_numpy(simplex_codebook(order))
    score = Score(codewords, sharpness(order - 1, order, top))
    shares = score.shares(codewords)
    np.testing.assert_allclose(shares.diagonal(), top, rtol=1e-9)
    others = shares[~torch.eye(order, dtype=torch.bool)]
    np.testing.assert_allclose(others, (1 - top) / (order - 1), rtol=1e-9)


def test_certainty_is_the_chance_that_two_draws_agree_whatever_the_sum_of_the_weights() -> None:
    likely = torch.tensor([[0.5, 0.5, 0, 0], [1, 0, 0, 0], [0.25, 0.25, 0.25, 0.25]])
    assert certainty_of(likely) == pytest.approx((1 / 2 + 1 + 1 / 4) / 3)
    assert certainty_of(3 * likely) == pytest.approx(certainty_of(likely))


def test_certainty_of_known_labels_is_their_share() -> None:
    labels = torch.tensor([[1.0, 1, 0], [0, 1, 0], [1, 1, 1]])
    assert share_of(labels) == pytest.approx((1 / 2 + 1 + 1 / 3) / 3)
    assert certainty_of(labels) == pytest.approx(share_of(labels))


def test_a_single_label_needs_no_mass() -> None:
    rng = np.random.default_rng(0)
    score = Score(torch.from_numpy(rng.choice([-1.0, 1.0], (4, 9))), 0.2)
    codes = torch.from_numpy(rng.choice([-1.0, 1.0], (6, 9)))
    weights = torch.eye(4, dtype=torch.float64)[[0, 1, 2, 3, 0, 1]]
    plain = score.gains(codes, score.shares(codes), score.pull(weights))
    np.testing.assert_allclose(plain, all_gains(score, codes.numpy(), weights.numpy()))
