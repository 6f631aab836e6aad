import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from drlh.core.errors import UserError
from drlh.hashers.drlh_paper.environment import (
    HISTORY,
    history_onehot,
    one_bit_actions,
    start_state,
    step,
    two_bit_actions,
)
from drlh.hashers.training.agents import random_signs


def test_single_flips_come_first_and_the_stop_last() -> None:
    actions = one_bit_actions(5)
    assert (actions.n_actions, actions.stop) == (6, 5)
    assert actions.factors.tolist() == [[-1 if bit == row else 1 for bit in range(5)] for row in range(6)]


def test_the_larger_set_adds_every_pair_once() -> None:
    actions = two_bit_actions(5)
    assert actions.n_actions == 1 + 5 + 10
    flipped = [tuple(torch.nonzero(row < 0)[:, 0].tolist()) for row in actions.factors]
    assert flipped[:5] == [(0,), (1,), (2,), (3,), (4,)]
    assert flipped[5:7] == [(0, 1), (0, 2)]
    assert flipped[-1] == ()
    assert len(set(flipped)) == 16
    listed = [tuple(bit for bit in row if bit < 5) for row in actions.bits.tolist()]
    assert listed == flipped
    assert actions.pairs.tolist() == [len(flips) == 2 for flips in flipped]
    assert not one_bit_actions(5).pairs.any()


@given(st.integers(1, 12), st.sampled_from([one_bit_actions, two_bit_actions]), st.data())
@settings(deadline=None, max_examples=50)
def test_a_walk_agrees_with_a_plain_one_on_lists(n_bits: int, make: type, data: st.DataObject) -> None:
    actions = make(n_bits)
    chosen = data.draw(st.lists(st.integers(0, actions.n_actions - 1), max_size=25))
    code = data.draw(st.lists(st.sampled_from([-1, 1]), min_size=n_bits, max_size=n_bits))
    state, flips = start_state(torch.tensor([code])), []
    for action in chosen:
        state, terminated, truncated = step(state, torch.tensor([action]), actions, max_steps=8)
        if action != actions.stop:
            flips.append(action)
            for bit in (bit for bit in actions.bits[action].tolist() if bit < n_bits):
                code[bit] = -code[bit]
        assert terminated.item() == (action == actions.stop)
        assert truncated.item() == (action != actions.stop and len(flips) >= 8)
    assert state.signs.tolist() == [code]
    assert state.steps.item() == len(flips)
    newest_first = flips[::-1][:HISTORY]
    assert state.history.tolist() == [newest_first + [-1] * (HISTORY - len(newest_first))]


def test_rows_walk_on_their_own() -> None:
    actions = one_bit_actions(4)
    signs = random_signs(5, 4, torch.Generator().manual_seed(0))
    state, terminated, truncated = step(start_state(signs), torch.tensor([0, 1, 2, 3, 4]), actions, max_steps=1)
    for row in range(4):
        assert torch.nonzero(state.signs[row] != signs[row])[:, 0].tolist() == [row]
    assert torch.equal(state.signs[4], signs[4])
    assert terminated.tolist() == [False] * 4 + [True]
    assert truncated.tolist() == [True] * 4 + [False]
    assert len(state) == 5
    assert state.rows(terminated).signs.tolist() == [signs[4].tolist()]
    assert state.rows(torch.tensor([2, 0])).history[:, 0].tolist() == [2, 0]


def test_a_stop_changes_nothing_however_often_it_is_taken() -> None:
    actions = one_bit_actions(3)
    state, _, _ = step(start_state(torch.tensor([[1, -1, 1]])), torch.tensor([1]), actions, max_steps=3)
    stopped = state
    for _ in range(4):
        stopped, terminated, truncated = step(stopped, torch.tensor([actions.stop]), actions, max_steps=3)
        assert terminated.all()
        assert not truncated.any()
    assert torch.equal(stopped.signs, state.signs)
    assert torch.equal(stopped.history, state.history)
    assert torch.equal(stopped.steps, state.steps)


def test_the_history_is_shown_as_ten_one_hot_rows() -> None:
    actions = one_bit_actions(4)
    state = start_state(torch.ones(1, 4))
    assert not history_onehot(state.history, actions).any()
    for action in (2, 0, 2):
        state, _, _ = step(state, torch.tensor([action]), actions, max_steps=9)
    shown = history_onehot(state.history, actions).reshape(HISTORY, 4)
    assert shown[:3].argmax(dim=1).tolist() == [2, 0, 2]
    assert shown.sum(dim=1).tolist() == [1] * 3 + [0] * 7


def test_a_pair_shows_both_its_bits_in_the_history() -> None:
    actions = two_bit_actions(4)
    pair = actions.bits.tolist().index([1, 3])
    state, _, _ = step(start_state(torch.ones(1, 4)), torch.tensor([pair]), actions, max_steps=9)
    assert history_onehot(state.history, actions).reshape(HISTORY, 4)[0].tolist() == [0, 1, 0, 1]


def test_random_starts_are_fair_and_follow_their_generator() -> None:
    first, again = (random_signs(4000, 8, torch.Generator().manual_seed(1)) for _ in range(2))
    assert torch.equal(first, again)
    assert first.dtype == torch.int8
    assert set(first.unique().tolist()) == {-1, 1}
    assert np.abs(first.float().mean(dim=0).numpy()).max() < 0.07


def test_pairs_are_refused_where_their_numbers_outgrow_the_history() -> None:
    largest = two_bit_actions(255)
    state, _, _ = step(start_state(torch.ones(1, 255)), torch.tensor([largest.stop - 1]), largest, max_steps=9)
    assert state.history[0, 0].item() == largest.stop - 1
    with pytest.raises(UserError, match="at most 255 bits: got n_bits=256"):
        two_bit_actions(256)
