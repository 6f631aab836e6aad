"""The paper's Q-learning: its targets, its schedule, and what it learns against Q* by dynamic programming."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from drlh.hashers.codebook.codebook import make_codebook
from drlh.hashers.drlh_paper.environment import State, one_bit_actions, start_state, step
from drlh.hashers.drlh_paper.exact_q import all_signs, exact_q
from drlh.hashers.drlh_paper.learner import DQNConfig, DQNLearner
from drlh.hashers.drlh_paper.network import QNetwork
from drlh.hashers.drlh_paper.replay import Transitions
from drlh.hashers.drlh_paper.reward import Reward
from drlh.hashers.training.agents import random_signs

N_BITS, N_CLASSES = 8, 3
CPU = torch.device("cpu")


def make_learner(n_images: int = 30, hidden: int = 16, seed: int = 0, **config: Any) -> DQNLearner:
    """Images whose feature names their class, eta = 1, no dropout."""
    actions = one_bit_actions(N_BITS)
    reward = Reward(make_codebook(N_CLASSES, N_BITS), actions, eta=1)
    labels = torch.arange(n_images) % N_CLASSES
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        network = QNetwork(N_CLASSES, actions, hidden_size=hidden, dropout=0.0)
    return DQNLearner(network, reward, torch.eye(N_CLASSES)[labels], labels, DQNConfig(**config), seed=0)


def some_steps(actions: list[int]) -> Transitions:
    """Transitions from random codes, one for each action; the rewards are 0, 1, 2, ..."""
    n = len(actions)
    state = start_state(random_signs(n, N_BITS, torch.Generator().manual_seed(0)))
    return Transitions(torch.arange(n), state, torch.tensor(actions), torch.arange(n).float())


def change_target(learner: DQNLearner) -> None:
    """Gives the target network other weights than the network's."""
    with torch.random.fork_rng([]), torch.no_grad():
        torch.manual_seed(5)
        for part in learner.target_network.parameters():
            part.add_(0.3 * torch.randn_like(part))


@torch.no_grad()
def values_at(learner: DQNLearner, network: QNetwork, steps: Transitions, state: State) -> torch.Tensor:
    values: torch.Tensor = network.eval()(network.image(learner.inputs[steps.row_of_each]), state)
    return values


def values_after(learner: DQNLearner, network: QNetwork, steps: Transitions) -> torch.Tensor:
    return values_at(learner, network, steps, step(steps.state, steps.actions, learner.actions, max_steps=99)[0])


def drawn_steps(learner: DQNLearner, actions: list[int]) -> Transitions:
    """Fills the memory; gives the batch that an update with the generator of seed 0 will draw."""
    learner.memory.add(some_steps(actions))
    return learner.memory.sample(learner.config.batch_size, learner.config.replay_ratio, np.random.default_rng(0), CPU)


def loss_to(learner: DQNLearner, steps: Transitions, targets: torch.Tensor) -> float:
    """The mean squared error of the values of what was done."""
    values = values_at(learner, learner.network, steps, steps.state).gather(1, steps.actions[:, None])[:, 0]
    return float((values - targets).square().mean())


@pytest.mark.parametrize("max_steps", [1, 50])
def test_the_step_limit_does_not_end_the_future(max_steps: int) -> None:
    learner = make_learner(gamma=0.7, max_steps=max_steps)  # with 1 every flip is cut off by the limit
    change_target(learner)
    steps = drawn_steps(learner, list(range(8)))
    wanted = loss_to(
        learner, steps, steps.rewards + 0.7 * values_after(learner, learner.target_network, steps).amax(dim=1)
    )
    assert learner._update(np.random.default_rng(0)) == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("double", [False, True])
def test_a_stop_has_no_future(double: bool) -> None:
    learner = make_learner(gamma=0.7, double_q=double)
    change_target(learner)
    steps = drawn_steps(learner, [8] * 9)
    wanted = loss_to(learner, steps, steps.rewards)
    assert learner._update(np.random.default_rng(0)) == pytest.approx(wanted, rel=1e-5)


def test_double_learning_chooses_with_the_network_and_values_with_the_target() -> None:
    learner = make_learner(gamma=0.7, double_q=True)
    change_target(learner)
    steps = drawn_steps(learner, list(range(8)))
    valued = values_after(learner, learner.target_network, steps)
    choice = values_after(learner, learner.network, steps).argmax(dim=1, keepdim=True)
    assert (choice[:, 0] != valued.argmax(dim=1)).any()
    wanted = loss_to(learner, steps, steps.rewards + 0.7 * valued.gather(1, choice)[:, 0])
    assert learner._update(np.random.default_rng(0)) == pytest.approx(wanted, rel=1e-5)


def test_without_a_target_network_the_network_values_itself() -> None:
    learner = make_learner(gamma=0.7, target_update_interval=0)
    change_target(learner)
    steps = drawn_steps(learner, list(range(8)))
    wanted = loss_to(learner, steps, steps.rewards + 0.7 * values_after(learner, learner.network, steps).amax(dim=1))
    assert learner._update(np.random.default_rng(0)) == pytest.approx(wanted, rel=1e-5)


def test_the_target_network_is_copied_every_so_many_updates() -> None:
    learner = make_learner(target_update_interval=4, batch_size=8)
    learner.memory.add(some_steps(list(range(9))))
    kept = [torch.equal(learner.target_network.code, learner.network.code)]
    for _ in range(9):
        learner._update(np.random.default_rng(0))
        kept.append(torch.equal(learner.target_network.code, learner.network.code))
    assert [number for number, same in enumerate(kept) if same] == [0, 4, 8]


def test_epsilon_falls_from_1_to_a_tenth_over_15_epochs_and_stays() -> None:
    learner = make_learner()
    schedule = [learner.epsilon_of(epoch) for epoch in range(25)]
    assert schedule[0] == 1.0
    np.testing.assert_allclose(np.diff(schedule[:16]), -0.06)
    np.testing.assert_allclose(schedule[15:], 0.1)


def test_exploration_is_the_experts_where_it_is_guided() -> None:
    learner = make_learner(90, epsilon=(1.0, 1.0, 1), max_steps=8, batch_size=30)
    learner.run_epoch(0)
    seen = learner.memory.sample(500, 4, np.random.default_rng(0), CPU)
    table = learner.reward.table(seen.state.signs, learner.labels[seen.row_of_each])
    assert torch.equal(seen.rewards, table.gather(1, seen.actions[:, None])[:, 0])
    assert (seen.rewards > 0).all()  # at every code some flip or the stop earns
    assert 0 < (seen.actions == 8).float().mean() < 0.5


def test_unguided_exploration_takes_every_action_alike() -> None:
    learner = make_learner(900, epsilon=(1.0, 1.0, 1), guided=False, max_steps=8, batch_size=100)
    report = learner.run_epoch(0)
    held = np.arange(learner.memory.capacity) < learner.memory.n_added[:, None]
    shares = np.bincount(learner.memory.actions[held], minlength=9) / held.sum()
    assert (np.abs(shares - 1 / 9) < 0.03).all()
    assert (report.epsilon, len(learner.memory)) == (1.0, round(900 * report.mean_steps))


def test_without_exploration_the_greedy_action_is_taken() -> None:
    learner = make_learner(60, epsilon=(0.0, 0.0, 1), max_steps=1, batch_size=60, learning_rate=1e-9)
    learner.run_epoch(0)
    seen = learner.memory.sample(200, 1, np.random.default_rng(0), CPU)
    with torch.no_grad():
        values = learner.network(learner.network.image(learner.inputs[seen.rows]), seen.state)
    assert torch.equal(seen.actions, values.argmax(dim=1))


def test_an_epoch_walks_every_image_once_and_reports_it() -> None:
    learner = make_learner(50, max_steps=5, batch_size=20)
    report = learner.run_epoch(3)
    memory = learner.memory
    held = np.arange(memory.capacity) < memory.n_added[:, None]
    first = (memory.history < 0).all(axis=2) & held  # a walk begins without a history
    assert (first.sum(axis=1) == 1).all()
    assert report.epoch == 3
    assert report.mean_return == pytest.approx(float(memory.rewards[held].sum()) / 50, rel=1e-5)
    assert report.mean_steps == pytest.approx(len(memory) / 50)
    assert report.stopped == pytest.approx(float((memory.actions[held] == 8).sum()) / 50)
    assert report.mean_steps <= 5


def test_there_is_one_update_for_each_batch_of_steps() -> None:
    learner = make_learner(90, max_steps=8, batch_size=16, epsilon=(1.0, 1.0, 1))
    learner.run_epoch(0)
    assert learner.n_updates == len(learner.memory) // 16


def test_the_learning_rate_falls_to_nothing() -> None:
    learner = make_learner(30, n_epochs=2, learning_rate=0.5)
    rates = []
    for done in (0.0, 0.5, 1.0):
        learner._set_learning_rate(done)
        rates.append(learner.optimizer.param_groups[0]["lr"])
    assert rates == pytest.approx([0.5, 0.25, 0.0])


def test_hindsight_gives_steps_to_another_image_and_pays_for_its_labels() -> None:
    learner = make_learner(30, batch_size=8, replay_ratio=4, hindsight=0.5)
    learner.run_epoch(0)
    drawn = learner.memory.sample(8, 4, np.random.default_rng(0), CPU)
    found, _ = learner._sample(np.random.default_rng(0))
    own, given = found.state.signs.view(8, 4, N_BITS), drawn.state.signs.view(8, 4, N_BITS)
    assert torch.equal(own[:, 2:], given[:, 2:])
    assert torch.equal(own[:, :2], given[:, :2].roll(1, dims=0))
    table = learner.reward.table(found.state.signs, learner.labels[found.row_of_each])
    assert torch.equal(found.rewards, table.gather(1, found.actions[:, None])[:, 0])
    assert torch.equal(found.rows, drawn.rows)


def test_an_epoch_leaves_the_callers_random_numbers_alone() -> None:
    torch.manual_seed(3)
    before = torch.get_rng_state()
    make_learner(batch_size=4).run_epoch(0)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("double", [False, True])
def test_a_resumed_run_is_bit_identical_to_an_uninterrupted_one(double: bool) -> None:
    config = {
        "batch_size": 8,
        "max_steps": 6,
        "replay_capacity": 6,
        "target_update_interval": 7,
        "double_q": double,
    }
    unbroken, broken, resumed = make_learner(**config), make_learner(**config), make_learner(seed=1, **config)
    for epoch in range(4):
        unbroken.run_epoch(epoch)
    for epoch in range(2):
        broken.run_epoch(epoch)
    resumed.load_arrays({name: array.copy() for name, array in broken.arrays().items()})
    for epoch in (2, 3):
        resumed.run_epoch(epoch)
    wanted, found = unbroken.arrays(), resumed.arrays()
    assert wanted.keys() == found.keys()
    for name, array in wanted.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)


def test_the_huber_loss_is_smaller_where_errors_are_large() -> None:
    plain, huber = make_learner(batch_size=64), make_learner(batch_size=64, huber=True)
    for learner in (plain, huber):
        learner.memory.add(replace(some_steps([8] * 9), rewards=torch.full((9,), 100.0)))
    values = 100 - plain._update(np.random.default_rng(0)) ** 0.5  # of the same network before any update
    assert huber._update(np.random.default_rng(0)) == pytest.approx(100 - values - 0.5, rel=0.01)


@torch.no_grad()
def discounted_returns(learner: DQNLearner, label: int) -> torch.Tensor:
    """(256,): what the greedy policy earns from every code."""
    network, gamma = learner.network.eval(), learner.config.gamma
    labels = torch.full((2**N_BITS,), label)
    image = network.image(torch.eye(N_CLASSES)[labels])
    state = start_state(all_signs(N_BITS))
    returns, weight = torch.zeros(2**N_BITS), torch.ones(2**N_BITS)
    for _ in range(40):
        action = network(image, state).argmax(dim=1)
        returns += weight * learner.reward.table(state.signs, labels).gather(1, action[:, None])[:, 0]
        state, terminated, _ = step(state, action, learner.actions, max_steps=99)
        weight *= gamma * ~terminated
    return returns


def test_learned_values_are_those_of_dynamic_programming() -> None:
    learner = make_learner(
        100, hidden=64, gamma=0.9, guided=False, epsilon=(1.0, 1.0, 1), max_steps=12, batch_size=64, replay_ratio=2,
        learning_rate=0.03, target_update_interval=100, replay_capacity=200, n_epochs=150,
    )  # fmt: skip
    for epoch in range(150):
        learner.run_epoch(epoch)
    network = learner.network.eval()
    start = start_state(all_signs(N_BITS))
    learned, exact, earned = [], [], []
    for label in range(N_CLASSES):
        with torch.no_grad():
            learned.append(network(network.image(torch.eye(N_CLASSES)[[label] * 2**N_BITS]), start).numpy())
        exact.append(exact_q(learner.reward, torch.tensor(label), 0.9).numpy())
        earned.append(discounted_returns(learner, label).numpy())
    learned_q, exact_values = np.concatenate(learned), np.concatenate(exact)
    assert np.corrcoef(learned_q.ravel(), exact_values.ravel())[0, 1] > 0.95
    assert np.concatenate(earned).mean() >= 0.95 * exact_values.max(axis=1).mean()
