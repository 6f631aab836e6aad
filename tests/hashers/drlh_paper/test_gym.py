from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch
from gymnasium.utils.env_checker import check_env

from drlh.core.errors import UserError
from drlh.hashers.codebook.codebook import make_codebook
from drlh.hashers.drlh_paper.environment import one_bit_actions, two_bit_actions
from drlh.hashers.drlh_paper.gym import HashingEnv, Observation
from drlh.hashers.drlh_paper.reward import Reward

Policy = Callable[[Observation], int]


def make_env(*, shuffled: bool = False, max_steps: int | None = None) -> HashingEnv:
    """Three classes of twenty images whose features all but name the class."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(3), 20)
    features = np.eye(3)[labels] + rng.normal(0, 0.1, (60, 3))
    if shuffled:
        labels = rng.permutation(labels)
    return HashingEnv(features, labels, Reward(make_codebook(3, 8), one_bit_actions(8)), max_steps=max_steps)


def mean_return(env: HashingEnv, policy: Policy) -> float:
    returns = []
    for seed in range(60):
        observation, _ = env.reset(seed=seed)
        total, over = 0.0, False
        while not over:
            observation, earned, terminated, truncated, _ = env.step(np.int64(policy(observation)))
            total += earned
            over = terminated or truncated
        returns.append(total)
    return float(np.mean(returns))


@pytest.mark.parametrize("make_actions", [one_bit_actions, two_bit_actions])
@pytest.mark.parametrize("multilabel", [False, True])
def test_the_environment_passes_gymnasiums_own_checks(make_actions: type, multilabel: bool) -> None:
    labels = np.eye(3, dtype=np.uint8)[[0, 1, 2, 1]] if multilabel else np.array([0, 1, 2, 1])
    features = np.random.default_rng(0).normal(size=(4, 5))
    env = HashingEnv(features, labels, Reward(make_codebook(3, 8), make_actions(8)))
    check_env(env, skip_render_check=True)  # it draws nothing


def test_a_seed_decides_the_image_and_the_start() -> None:
    env, other = make_env(), make_env()
    for seed in range(5):
        (first, first_info), (again, again_info) = env.reset(seed=seed), other.reset(seed=seed)
        assert first_info == again_info
        assert all(np.array_equal(first[key], again[key]) for key in first)
    rows = {env.reset()[1]["row"] for _ in range(300)}
    assert len(rows) > 50  # without a seed the images go on changing
    assert env.reset(options={"row": 17})[1] == {"row": 17}


def test_stopping_terminates_and_running_out_of_steps_truncates() -> None:
    env = make_env(max_steps=3)
    env.reset(seed=0)
    assert env.step(np.int64(8))[2:4] == (True, False)
    env.reset(seed=0)
    assert [env.step(np.int64(action))[2:4] for action in (0, 1, 0)] == [(False, False), (False, False), (False, True)]
    assert make_env().max_steps == 8  # M = b unless told otherwise


def test_rewards_are_those_of_the_images_label() -> None:
    env = make_env()
    observation, info = env.reset(seed=3)
    for action in (2, 5, 2, 8):
        signs = torch.from_numpy(2 * observation["code"][None] - 1)
        expected = env.reward.table(signs, env.labels[info["row"]][None])[0, action].item()
        observation, earned, _, _, _ = env.step(np.int64(action))
        assert earned == pytest.approx(expected)
    assert observation["history"].reshape(10, 8)[:3].argmax(axis=1).tolist() == [2, 5, 2]


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Networks this small only wait for their threads, above all on a busy machine."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(n_threads)


@pytest.mark.usefixtures("one_thread")
def test_a_foreign_agent_learns_from_features_and_not_from_shuffled_labels() -> None:
    stable_baselines3 = pytest.importorskip("stable_baselines3")

    def train(env: HashingEnv, n_steps: int) -> Policy:
        model = stable_baselines3.DQN(
            "MultiInputPolicy",
            env,
            learning_rate=3e-3,
            learning_starts=200,
            batch_size=64,
            gamma=0.9,
            train_freq=4,
            gradient_steps=2,
            target_update_interval=200,
            exploration_fraction=0.5,
            policy_kwargs={"net_arch": [64, 64]},
            seed=0,
            device="cpu",
        )
        model.learn(n_steps)
        return lambda observation: int(model.predict(observation, deterministic=True)[0])

    env = make_env()
    rng = np.random.default_rng(0)
    by_chance = mean_return(env, lambda _: int(rng.integers(9)))
    untrained = mean_return(env, train(env, 1))
    trained = mean_return(env, train(env, 2000))
    misled = mean_return(env, train(make_env(shuffled=True), 2000))
    assert trained > max(by_chance, untrained, misled) + 1.5, (by_chance, untrained, misled, trained)


def test_mistakes_are_told_in_one_sentence() -> None:
    reward = Reward(make_codebook(3, 8), one_bit_actions(8))
    with pytest.raises(UserError, match=r"one label for each row: got shape \(2, 4\) and 3 labels"):
        HashingEnv(np.zeros((2, 4)), [0, 1, 2], reward)
    with pytest.raises(UserError, match=r"ids 0\.\.2"):
        HashingEnv(np.zeros((2, 4)), [0, 7], reward)
