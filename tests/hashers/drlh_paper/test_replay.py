from dataclasses import replace

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
    return steps.of_images(slice(*rows.indices(len(steps.rows))))


def test_a_million_steps_of_48_bits_take_at_most_64_megabytes() -> None:
    memory = ReplayMemory(31_250, 32, 48)
    assert memory.n_bytes == 32_000_000 + 8 * 31_250
    assert memory.n_bytes <= 64 << 20


@pytest.mark.parametrize(("n_bits", "n_actions"), [(8, 9), (13, 14), (48, 49), (255, 1 + 255 + 255 * 127)])
def test_remembered_steps_come_back_as_they_were(n_bits: int, n_actions: int) -> None:
    steps = random_steps(60, n_bits, n_actions=n_actions)
    memory = ReplayMemory(100, 5, n_bits)
    memory.add(steps)
    found = memory.sample(400, 1, np.random.default_rng(0), CPU)
    assert len(found.rows.unique()) > 50
    assert torch.equal(found.state.signs, steps.state.signs[found.rows])
    assert torch.equal(found.state.history, steps.state.history[found.rows])
    assert torch.equal(found.actions, steps.actions[found.rows])
    assert torch.equal(found.rewards, steps.rewards[found.rows])
    assert found.state.signs.dtype == steps.state.signs.dtype
    assert found.state.history.dtype == steps.state.history.dtype
    assert found.actions.dtype == found.rows.dtype == torch.int64


def test_several_steps_of_an_image_lie_together() -> None:
    memory = ReplayMemory(6, 4, 8)
    for round_number in range(3):  # rewards tell image and round
        steps = random_steps(6, 8, seed=round_number)
        memory.add(replace(steps, rewards=10.0 * steps.rows + round_number))
    found = memory.sample(5, 7, np.random.default_rng(0), CPU)
    assert found.steps_per_image == 7
    assert torch.equal(torch.div(found.rewards, 10, rounding_mode="floor").long(), found.row_of_each)
    assert set((found.rewards % 10).tolist()) == {0.0, 1.0, 2.0}
    some = found.of_images(slice(1, 3))
    assert torch.equal(some.rewards, found.rewards[7:21])
    assert torch.equal(some.rows, found.rows[1:3])


def test_only_images_that_have_walked_are_drawn() -> None:
    memory = ReplayMemory(50, 4, 8)
    memory.add(part(random_steps(50, 8), slice(20, 30)))
    assert set(memory.sample(300, 2, np.random.default_rng(0), CPU).rows.tolist()) == set(range(20, 30))


def test_a_full_memory_forgets_the_oldest_steps_of_each_image() -> None:
    memory, lengths = ReplayMemory(3, 4, 8), []
    for round_number in range(7):
        steps = random_steps(3, 8, seed=round_number)
        memory.add(replace(steps, rewards=torch.full((3,), float(round_number))))
        lengths.append(len(memory))
        found = memory.sample(100, 3, np.random.default_rng(round_number), CPU).rewards
        assert sorted(found.unique().tolist()) == list(range(max(0, round_number - 3), round_number + 1))
    assert lengths == [3, 6, 9, 12, 12, 12, 12]


def test_samples_follow_their_generator() -> None:
    memory = ReplayMemory(100, 2, 8)
    memory.add(random_steps(100, 8))
    first, again, other = (memory.sample(50, 1, np.random.default_rng(seed), CPU).rows for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.parametrize("n_rounds", [2, 4, 6])
def test_a_memory_from_a_checkpoint_goes_on_like_the_first(n_rounds: int) -> None:
    memory, resumed = ReplayMemory(10, 4, 13), ReplayMemory(10, 4, 13)
    for number in range(n_rounds):
        memory.add(random_steps(10, 13, seed=number))
    resumed.load_arrays({name: array.copy() for name, array in memory.arrays().items()})
    for each in (memory, resumed):
        each.add(random_steps(10, 13, seed=99))
    first, second = (each.sample(40, 3, np.random.default_rng(0), CPU) for each in (memory, resumed))
    assert len(resumed) == len(memory)
    assert torch.equal(first.rows, second.rows)
    assert torch.equal(first.state.signs, second.state.signs)
    assert torch.equal(first.actions, second.actions)
