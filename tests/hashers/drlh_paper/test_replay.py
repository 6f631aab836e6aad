import numpy as np
import pytest
import torch

from drlh.hashers.drlh_paper.environment import HISTORY, State
from drlh.hashers.drlh_paper.replay import ReplayMemory, Transitions
from drlh.hashers.training.agents import random_signs

CPU = torch.device("cpu")


def random_steps(n: int, n_bits: int, seed: int = 0, n_actions: int | None = None) -> Transitions:
    """Transitions whose row number and reward both count up from 0, so that each tells which one it is."""
    generator = torch.Generator().manual_seed(seed)
    n_actions = n_bits + 1 if n_actions is None else n_actions
    history = torch.randint(-1, n_actions - 1, (n, HISTORY), generator=generator).to(torch.int16)
    state = State(random_signs(n, n_bits, generator), history, torch.zeros(n, dtype=torch.int32))
    actions = torch.randint(0, n_actions, (n,), generator=generator)
    return Transitions(torch.arange(n), state, actions, torch.arange(n) / 4)


def part(steps: Transitions, rows: slice) -> Transitions:
    index = torch.arange(len(steps.rows))[rows]
    return Transitions(steps.rows[rows], steps.state.rows(index), steps.actions[rows], steps.rewards[rows])


def test_a_million_steps_of_48_bits_take_at_most_64_megabytes() -> None:
    memory = ReplayMemory(1_000_000, 48)
    assert memory.n_bytes == 36_000_000
    assert memory.n_bytes <= 64 << 20


@pytest.mark.parametrize(("n_bits", "n_actions"), [(8, 9), (13, 14), (48, 49), (255, 1 + 255 + 255 * 127)])
def test_remembered_steps_come_back_as_they_were(n_bits: int, n_actions: int) -> None:
    steps = random_steps(60, n_bits, n_actions=n_actions)
    memory = ReplayMemory(100, n_bits)
    memory.add(steps)
    found = memory.sample(400, np.random.default_rng(0), CPU)
    assert len(found.rows.unique()) > 50
    assert torch.equal(found.state.signs, steps.state.signs[found.rows])
    assert torch.equal(found.state.history, steps.state.history[found.rows])
    assert torch.equal(found.actions, steps.actions[found.rows])
    assert torch.equal(found.rewards, steps.rewards[found.rows])
    assert found.state.signs.dtype == steps.state.signs.dtype
    assert found.state.history.dtype == steps.state.history.dtype
    assert found.actions.dtype == found.rows.dtype == torch.int64


def test_a_full_memory_forgets_the_oldest_steps() -> None:
    steps, memory = random_steps(23, 8), ReplayMemory(10, 8)
    lengths = []
    for start in range(0, 23, 4):
        memory.add(part(steps, slice(start, start + 4)))
        lengths.append(len(memory))
        found = memory.sample(300, np.random.default_rng(start), CPU).rows
        newest = min(23, start + 4)
        assert sorted(found.unique().tolist()) == list(range(max(0, newest - 10), newest))
    assert lengths == [4, 8, 10, 10, 10, 10]


def test_of_more_steps_than_fit_the_newest_stay() -> None:
    memory = ReplayMemory(10, 8)
    memory.add(random_steps(25, 8))
    assert sorted(memory.sample(300, np.random.default_rng(0), CPU).rows.unique().tolist()) == list(range(15, 25))


def test_samples_follow_their_generator() -> None:
    memory = ReplayMemory(100, 8)
    memory.add(random_steps(100, 8))
    first, again, other = (memory.sample(50, np.random.default_rng(seed), CPU).rows for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.parametrize("n_added", [6, 10, 17])
def test_a_memory_from_a_checkpoint_goes_on_like_the_first(n_added: int) -> None:
    steps, memory = random_steps(30, 13), ReplayMemory(10, 13)
    memory.add(part(steps, slice(0, n_added)))
    taken_up = ReplayMemory(10, 13)
    taken_up.load_arrays(memory.arrays())
    for each in (memory, taken_up):
        each.add(part(steps, slice(n_added, n_added + 3)))
    first, second = (each.sample(40, np.random.default_rng(0), CPU) for each in (memory, taken_up))
    assert len(taken_up) == len(memory)
    assert torch.equal(first.rows, second.rows)
    assert torch.equal(first.state.signs, second.state.signs)
    assert torch.equal(first.actions, second.actions)


def test_a_checkpoint_holds_only_what_was_remembered() -> None:
    memory = ReplayMemory(1000, 8)
    memory.add(random_steps(7, 8))
    assert {len(array) for array in memory.arrays().values() if array.ndim} == {7}
