"""Single flips first, pairs later: the curriculum of the larger action set."""

from typing import Any

import numpy as np
import pytest
import torch

from drlh.hashers.codebook.codebook import make_codebook
from drlh.hashers.drlh_paper.environment import start_state, step, two_bit_actions
from drlh.hashers.drlh_paper.learner import DQNConfig, DQNLearner
from drlh.hashers.drlh_paper.network import QNetwork
from drlh.hashers.drlh_paper.replay import Transitions
from drlh.hashers.drlh_paper.reward import Reward
from drlh.hashers.training.agents import random_signs

N_BITS, N_CLASSES = 8, 3


def make_learner(seed: int = 0, **config: Any) -> DQNLearner:
    actions = two_bit_actions(N_BITS)
    labels = torch.arange(60) % N_CLASSES
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        network = QNetwork(N_CLASSES, actions, hidden_size=16)
    settings = DQNConfig(**({"batch_size": 20, "max_steps": 8} | config))
    reward = Reward(make_codebook(N_CLASSES, N_BITS), actions)
    return DQNLearner(network, reward, torch.eye(N_CLASSES)[labels], labels, settings, seed=0)


def taken(learner: DQNLearner) -> np.ndarray:
    """The actions that the memory holds."""
    held = np.arange(learner.memory.capacity) < learner.memory.n_added[:, None]
    return learner.memory.actions[held]


WAYS: dict[str, dict[str, Any]] = {
    "guided": {"epsilon": (1.0, 1.0, 1)},
    "random": {"epsilon": (1.0, 1.0, 1), "guided": False},
    "greedy": {"epsilon": (0.0, 0.0, 1)},
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_no_pair_is_taken_before_its_epoch_and_pairs_are_from_then_on(way: dict[str, Any]) -> None:
    learner = make_learner(pairs_from=2, **way)
    pairs = learner.actions.pairs.numpy()
    with torch.no_grad():
        learner.network.layers[-1].bias[learner.actions.pairs] += 3.0  # the greedy agent would take them
    for epoch in range(2):
        learner.run_epoch(epoch)
    assert len(taken(learner)) > 60
    assert not pairs[taken(learner)].any()
    learner.run_epoch(2)
    assert pairs[taken(learner)].any()


def test_random_exploration_takes_all_that_is_left_alike() -> None:
    learner = make_learner(pairs_from=40, epsilon=(1.0, 1.0, 1), guided=False, replay_capacity=500, learning_rate=1e-9)
    for epoch in range(30):
        learner.run_epoch(epoch)
    actions = taken(learner)
    shares = np.bincount(actions, minlength=learner.actions.n_actions) / len(actions)
    left = ~learner.actions.pairs.numpy()
    assert left.sum() == N_BITS + 1
    assert np.abs(shares[left] - 1 / 9).max() < 0.02


@pytest.mark.parametrize("double", [False, True])
def test_targets_leave_pairs_out_until_their_epoch(double: bool) -> None:
    learner = make_learner(pairs_from=1, gamma=0.7, double_q=double, learning_rate=1e-9)
    with torch.no_grad():
        for network in (learner.network, learner.target_network):
            network.layers[-1].bias[learner.actions.pairs] += 100.0
    chosen = torch.arange(N_BITS)
    state = start_state(random_signs(N_BITS, N_BITS, torch.Generator().manual_seed(0)))
    batch = Transitions(chosen, state, chosen, torch.arange(N_BITS).float())
    features = learner.inputs[batch.rows]
    following, _, _ = step(state, chosen, learner.actions, max_steps=99)
    with torch.no_grad():
        values = learner.target_network(learner.target_network.image(features), following)
    singles = values[:, ~learner.actions.pairs].amax(dim=1)
    torch.testing.assert_close(learner._td_targets(batch, features), batch.rewards + 0.7 * singles)
    learner.run_epoch(1)
    torch.testing.assert_close(
        learner._td_targets(batch, features), batch.rewards + 0.7 * values.amax(dim=1), atol=1e-3, rtol=1e-3
    )


def test_a_run_resumed_within_the_curriculum_is_bit_identical_to_an_uninterrupted_one() -> None:
    unbroken, broken, resumed = make_learner(pairs_from=2), make_learner(pairs_from=2), make_learner(1, pairs_from=2)
    for epoch in range(4):
        unbroken.run_epoch(epoch)
    for epoch in range(3):
        broken.run_epoch(epoch)
    resumed.load_arrays({name: array.copy() for name, array in broken.arrays().items()})
    resumed.run_epoch(3)
    wanted = unbroken.arrays()
    for name, array in resumed.arrays().items():
        np.testing.assert_array_equal(array, wanted[name], err_msg=name)
