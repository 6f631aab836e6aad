import math
from collections.abc import Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from drlh.hashers.drlh.network import ValueHead, flip_values
from drlh.hashers.drlh.reward import LogScore
from drlh.hashers.drlh.walk import _flip_values, walk

Scene = tuple[ValueHead, LogScore, torch.Tensor, torch.Tensor]


def make_scene(n: int, n_classes: int, n_bits: int, beta: float, seed: int) -> Scene:
    """(value head, score, class probabilities, start codes), all in double precision as encoding has them."""
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        codewords = torch.randint(0, 2, (n_classes, n_bits)).double() * 2 - 1
        probs = torch.softmax(2 * torch.randn(n, n_classes, dtype=torch.float64), dim=1)
        start = torch.randint(0, 2, (n, n_bits)).double() * 2 - 1
        head = ValueHead(n_classes, n_bits).double().requires_grad_(False)
    return head, LogScore(codewords, beta), probs, start


def potential(code: Sequence[float], score: LogScore, weights: Sequence[float]) -> float:
    """sum_c w_c log softmax_c(beta s . S_c)."""
    agreements = [score.beta * sum(s * e for s, e in zip(code, row, strict=True)) for row in score.codewords.tolist()]
    log_total = math.log(sum(math.exp(value) for value in agreements))
    return sum(w * (value - log_total) for w, value in zip(weights, agreements, strict=True))


def flipped(code: list[float], bit: int) -> list[float]:
    return [-sign if place == bit else sign for place, sign in enumerate(code)]


def plain_walk(
    head: ValueHead, score: LogScore, weights: list[float], code: list[float], gamma: float, max_steps: int
) -> tuple[list[float], int, bool]:
    """One image, one code, one bit at a time; the rewards are literal changes of the potential."""
    for made in range(max_steps):
        now = potential(code, score, weights)
        rewards = [potential(flipped(code, bit), score, weights) - now for bit in range(len(code))]
        posterior = score.posterior(torch.tensor(code, dtype=torch.float64))
        later = head(torch.tensor(rewards, dtype=torch.float64), posterior, torch.tensor(weights, dtype=torch.float64))
        values = [reward + gamma * after for reward, after in zip(rewards, later.tolist(), strict=True)]
        largest = max(values)
        if largest <= 1e-8:
            return code, made, True
        code = flipped(code, next(bit for bit, value in enumerate(values) if value > largest - 1e-11))
    return code, max_steps, False


@given(
    st.integers(2, 5), st.integers(2, 10), st.floats(0.05, 0.6), st.sampled_from([0.0, 0.5, 0.9]),
    st.integers(1, 14), st.integers(0, 10**6),
)  # fmt: skip
@settings(deadline=None, max_examples=60)
def test_batched_walks_agree_with_a_plain_one(
    n_classes: int, n_bits: int, beta: float, gamma: float, max_steps: int, seed: int
) -> None:
    head, score, probs, start = make_scene(5, n_classes, n_bits, beta, seed)
    found = walk(head, score, probs, start, gamma, max_steps)
    for row in range(5):
        code, steps, stopped = plain_walk(head, score, probs[row].tolist(), start[row].tolist(), gamma, max_steps)
        assert found.signs[row].tolist() == code
        assert (int(found.steps[row]), bool(found.stopped[row])) == (steps, stopped)


@pytest.mark.parametrize("gamma", [0.0, 0.5])
def test_the_walks_own_arithmetic_is_that_of_the_network_to_the_last_bit(gamma: float) -> None:
    head, score, probs, start = make_scene(50, 5, 16, 0.2, 1)
    probs = 1.5 * probs  # several probs weigh more than 1
    field = score.class_field(probs)
    wanted = flip_values(head, score, start, score.posterior(start), probs, gamma)
    assert torch.equal(_flip_values(head, score, start, -start * field, probs, gamma), wanted)


def test_every_flip_of_a_greedy_walk_raises_the_expected_score_until_none_does() -> None:
    head, score, probs, start = make_scene(40, 5, 16, 0.2, 0)
    codes = [walk(head, score, probs, start, 0, n).signs for n in range(1, 25)]
    for row in range(40):
        weights = probs[row].tolist()
        heights = [potential(code[row].tolist(), score, weights) for code in [start, *codes]]
        moves = [not torch.equal(a[row], b[row]) for a, b in zip([start, *codes], codes, strict=False)]
        for moved, before, after in zip(moves, heights, heights[1:], strict=False):
            assert after > before if moved else after == before
        last = codes[-1][row].tolist()
        assert all(potential(flipped(last, bit), score, weights) <= heights[-1] + 1e-7 for bit in range(16))


def test_a_walk_has_stopped_where_no_flip_gains_and_not_where_the_limit_came_first() -> None:
    head, score, probs, start = make_scene(60, 4, 16, 0.2, 3)
    free = walk(head, score, probs, start, 0, 100)
    assert free.stopped.all()
    assert free.steps.unique().numel() > 3
    cut = walk(head, score, probs, start, 0, 5)
    assert torch.equal(cut.steps, free.steps.clamp(max=5))
    assert torch.equal(cut.stopped, free.steps < 5)
    assert 0 < int(cut.stopped.sum()) < 60
    assert torch.equal(cut.signs[cut.stopped], free.signs[cut.stopped])


def test_the_walk_of_a_row_does_not_depend_on_its_batch() -> None:
    head, score, probs, start = make_scene(64, 7, 24, 0.15, 5)
    together = walk(head, score, probs, start, 0.5, 24)
    for row in range(64):
        alone = walk(head, score, probs[row : row + 1], start[row : row + 1], 0.5, 24)
        assert torch.equal(alone.signs[0], together.signs[row])
        assert alone.steps[0] == together.steps[row]


def test_equal_values_go_to_the_lower_bit() -> None:
    head, score, probs, _ = make_scene(1, 2, 6, 0.3, 0)
    score = LogScore(torch.ones(2, 6, dtype=torch.float64) * torch.tensor([[1.0], [-1.0]]), 0.3)
    probs = torch.tensor([[0.9, 0.1]], dtype=torch.float64)
    start = -torch.ones(1, 6, dtype=torch.float64)
    for steps in range(1, 4):
        found = walk(head, score, probs, start, 0, steps)
        assert torch.nonzero(found.signs[0] > 0)[:, 0].tolist() == list(range(steps))


@pytest.mark.parametrize("bit", [0, 5])
def test_a_bit_that_tells_no_class_from_another_stays_as_it_was(bit: int) -> None:
    head, score, probs, start = make_scene(200, 4, 6, 0.3, 2)
    codewords = score.codewords.clone()
    codewords[:, bit] = 1
    found = walk(head, LogScore(codewords, 0.3), probs, start, 0, 50)
    assert torch.equal(found.signs[:, bit], start[:, bit])
    assert found.stopped.all()


def test_exploring_walks_flip_at_random_and_repeat_with_their_generator() -> None:
    head, score, probs, start = make_scene(300, 4, 8, 0.2, 4)
    first, again, other = (
        walk(head, score, probs, start, 0, 1, epsilon=1.0, generator=torch.Generator().manual_seed(seed))
        for seed in (1, 1, 2)
    )
    assert torch.equal(first.signs, again.signs)
    assert not torch.equal(first.signs, other.signs)
    changed = (first.signs != start).double()
    assert (changed.sum(dim=1) == 1).all()
    assert ((changed.mean(dim=0) - 1 / 8).abs() < 0.08).all()
    assert not first.stopped.any()


def test_with_chance_epsilon_a_walk_goes_on_where_the_greedy_one_stops() -> None:
    head, score, probs, start = make_scene(400, 4, 8, 0.2, 4)
    at_rest = walk(head, score, probs, start, 0, 50).signs
    found = walk(head, score, probs, at_rest, 0, 1, epsilon=0.3, generator=torch.Generator().manual_seed(0))
    assert float(found.steps.double().mean()) == pytest.approx(0.3, abs=0.08)
    assert torch.equal(found.stopped, found.steps == 0)


def test_the_start_codes_are_left_as_they_were() -> None:
    head, score, probs, start = make_scene(10, 4, 8, 0.2, 4)
    kept = start.clone()
    assert not torch.equal(walk(head, score, probs, start, 0, 8).signs, kept)
    assert torch.equal(start, kept)
