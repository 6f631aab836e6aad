"""Q-learning of the default agent, against exact rewards and Q* by dynamic programming."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from drlh.hashers.codebook.codebook import make_codebook
from drlh.hashers.drlh.learner import WalkConfig, WalkLearner, loss_weights
from drlh.hashers.drlh.network import WalkNetwork, flip_values
from drlh.hashers.drlh.reward import LogScore, inverse_temperature
from drlh.hashers.drlh.walk import walk
from drlh.hashers.drlh_paper.environment import one_bit_actions
from drlh.hashers.drlh_paper.exact_q import all_signs, value_iteration

N_BITS, N_KINDS = 8, 3  # three kinds of images, all images of a kind alike
KINDS = 3 * torch.eye(N_KINDS)
CONFIG = WalkConfig(
    n_epochs=30, gamma=0.0, learning_rate=0.01, weight_decay=0.0, batch_size=32, n_lookahead=8, ema_decay=0.99,
    codebook_adaptation=0.0, separation=0.9, max_steps=N_BITS,
)  # fmt: skip
SURE = torch.eye(N_KINDS)
DOUBTFUL = torch.tensor([[1.0, 0, 0], [0, 0.75, 0.25], [0.5, 0, 0.5]])  # how often each kind has each class
SEVERAL = torch.tensor([[1.0, 1, 0], [0, 1, 0.5], [0.25, 0, 1]])


def make_learner(likely: torch.Tensor = SURE, *, multilabel: bool = False, n: int = 240, **config: Any) -> WalkLearner:
    """`likely` (kinds, classes): how often an image of a kind has a class, met exactly by the training labels."""
    kind, turn = torch.arange(n) % N_KINDS, torch.arange(n) // N_KINDS
    share = ((turn % 4) + 0.5)[:, None] / 4
    if multilabel:
        weights = (share < likely[kind]).float()
    else:
        weights = torch.eye(likely.shape[1])[(share > likely.cumsum(dim=1)[kind]).sum(dim=1)]
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        network = WalkNetwork(N_KINDS, likely.shape[1], N_BITS, ensemble_size=2, hidden_size=16, multilabel=multilabel)
        start = torch.randint(0, 2, (n, N_BITS)) * 2.0 - 1
    codewords = torch.from_numpy(make_codebook(likely.shape[1], N_BITS).signs).float()
    score = LogScore(codewords, inverse_temperature(N_BITS, likely.shape[1], 0.9))
    return WalkLearner(network, score, KINDS[kind], weights, start, replace(CONFIG, **config), seed=0)


def learned(learner: WalkLearner) -> WalkLearner:
    for epoch in range(learner.config.n_epochs):
        learner.run_epoch(epoch)
    return learner


@torch.no_grad()
def all_values(learner: WalkLearner, kind: int) -> torch.Tensor:
    """(256, b): the learned value of every flip of every code for an image of a kind."""
    signs, network, score = all_signs(N_BITS).float(), learner.policy_network, learner.score
    labels = network.class_probs(KINDS[[kind] * len(signs)])
    return flip_values(network.value_head, score, signs, score.posterior(signs), labels, learner.config.gamma)


def exact_rewards(score: LogScore, weights: torch.Tensor) -> torch.Tensor:
    """(256, b) for targets (C,), from the potential of every code."""
    signs = all_signs(N_BITS).double()
    potential = (torch.log_softmax(score.beta * signs @ score.codewords.double().T, dim=1) * weights).sum(dim=1)
    return potential[neighbours()] - potential[:, None]


def exact_values(score: LogScore, weights: torch.Tensor, gamma: float) -> torch.Tensor:
    """(256, b): Q* of every flip, where a stop earns nothing."""
    rewards = torch.nn.functional.pad(exact_rewards(score, weights), (0, 1))
    return value_iteration(rewards, one_bit_actions(N_BITS), gamma)[:, :N_BITS]


def neighbours() -> torch.Tensor:
    """(256, b): the number of the code that each flip leads to."""
    return torch.arange(2**N_BITS)[:, None] ^ (1 << torch.arange(N_BITS))


@pytest.mark.parametrize(
    ("likely", "multilabel"), [(SURE, False), (DOUBTFUL, False), (SEVERAL, True)], ids=["sure", "doubtful", "several"]
)
def test_without_a_future_learned_values_are_the_exact_expected_rewards(likely: torch.Tensor, multilabel: bool) -> None:
    learner = learned(make_learner(likely, multilabel=multilabel))
    for kind in range(N_KINDS):
        exact = exact_rewards(learner.score, likely[kind])
        error = (all_values(learner, kind) - exact).abs().max()
        assert error < 0.08 * exact.abs().max()


def test_with_a_future_learned_values_come_near_those_of_dynamic_programming() -> None:
    learner = make_learner(gamma=0.5)
    exact = torch.cat([exact_values(learner.score, SURE[kind], 0.5) for kind in range(N_KINDS)])
    before = torch.cat([all_values(learner, kind) for kind in range(N_KINDS)])
    learned(learner)
    after = torch.cat([all_values(learner, kind) for kind in range(N_KINDS)])
    assert np.corrcoef(after.flatten(), exact.flatten())[0, 1] > 0.95
    assert (after - exact).square().mean() < 0.1 * (before - exact).square().mean()


def test_the_score_leads_the_best_policy_to_the_code_of_highest_potential() -> None:
    score = make_learner().score
    best = exact_values(score, SURE[1], 0.999)
    potential = score.posterior(all_signs(N_BITS).float()).log()[:, 1]
    number = torch.arange(2**N_BITS)
    for _ in range(3 * N_BITS):
        value, bit = best[number].max(dim=1)
        number = torch.where(value > 0, number ^ (1 << bit), number)
    torch.testing.assert_close(potential[number], potential.max().expand(2**N_BITS))


@torch.no_grad()
def look_ahead_error(learner: WalkLearner) -> float:
    """Root mean square of V_k minus the best value after flip k, over all codes, for images of known class."""
    signs, score, head = all_signs(N_BITS).float(), learner.score, learner.policy_network.value_head
    posterior, errors = score.posterior(signs), []
    for kind in range(N_KINDS):
        labels = SURE[[kind] * len(signs)]
        rewards = score.flip_rewards(signs, posterior, score.class_field(labels))
        after = head(rewards, posterior, labels)
        best = (rewards + learner.config.gamma * after).amax(dim=1).clamp(min=0)
        errors.append(after - best[neighbours()])
    return float(torch.cat(errors).square().mean().sqrt())


def test_the_look_ahead_agrees_better_with_what_follows_after_learning() -> None:
    learner = make_learner(gamma=0.5)
    before = look_ahead_error(learner)
    assert look_ahead_error(learned(learner)) < 0.8 * before


@pytest.mark.parametrize("gamma", [0.0, 0.5])
def test_the_greedy_walk_earns_nearly_all_there_is_to_earn(gamma: float) -> None:
    learner = learned(make_learner(gamma=gamma))
    start = all_signs(N_BITS).float()
    log_posterior = learner.score.posterior(start).log()
    earned, best = [], []
    for kind in range(N_KINDS):
        labels = learner.policy_network.class_probs(KINDS[[kind] * len(start)])
        ended = walk(learner.policy_network.value_head, learner.score, labels, start, gamma, N_BITS).signs
        earned.append(learner.score.posterior(ended).log()[:, kind] - log_posterior[:, kind])
        best.append(log_posterior[:, kind].max() - log_posterior[:, kind])
    assert torch.cat(earned).mean() >= 0.95 * torch.cat(best).mean()


def test_weights_grow_with_errors_and_are_one_on_average() -> None:
    errors = torch.tensor([1.0, 4.0, 4.0, 7.0])
    assert torch.equal(loss_weights(errors, 1.0), torch.tensor([0.25, 1.0, 1.0, 1.75]))
    assert torch.equal(loss_weights(errors, 0.0), torch.ones(4))
    assert torch.allclose(loss_weights(torch.tensor([1.0, 4.0]), 0.5), torch.tensor([2.0, 4.0]) / 3)
    assert torch.equal(loss_weights(torch.zeros(3), 1.0), torch.zeros(3))  # nothing is wrong, nothing counts
    one_of_many = torch.cat([torch.zeros(999), torch.ones(1)])
    assert loss_weights(one_of_many, 1.0).max() == 20  # one image does not decide alone


def test_what_is_rare_and_wrong_is_learned_sooner_where_it_counts_more() -> None:
    def worst_error(exponent: float) -> float:
        learner = make_learner(n_epochs=20, loss_weight_exponent=exponent)
        rare = torch.arange(240) % 60 == 0  # images of the first kind that say they belong to another class
        learner.inputs[rare] += 0.5
        learner.targets[rare] = SURE[1]
        seen = learned(learner).policy_network.class_probs(learner.inputs[rare])
        return float((seen - SURE[1]).square().sum(dim=1).mean())

    assert worst_error(1.0) < 0.5 * worst_error(0.0)


def test_the_learning_rate_rises_over_a_tenth_and_falls_to_nothing() -> None:
    learner = make_learner(n=320, n_epochs=10, batch_size=32)  # 100 updates
    rates = []
    for learner.n_updates in range(100):
        rates.append(learner._learning_rate() / 0.01)
    assert rates[0] == pytest.approx(0.04)
    assert max(rates) == pytest.approx(1, abs=0.01)
    assert 8 <= int(np.argmax(rates)) <= 11
    assert rates[-1] == pytest.approx(0, abs=1e-9)
    assert (np.diff(rates[11:]) < 0).all()


def test_epsilon_falls_to_a_tenth_over_six_tenths_of_the_epochs() -> None:
    learner = make_learner(n_epochs=20)
    schedule = [learner.epsilon_of(epoch) for epoch in range(20)]
    assert schedule[0] == 1
    np.testing.assert_allclose(np.diff(schedule[:13]), -0.075)
    np.testing.assert_allclose(schedule[12:], 0.1)


def test_some_states_are_drawn_anywhere_on_the_cube() -> None:
    learner = make_learner(n=6000)
    drawn = learner._sample_states(torch.arange(6000), torch.Generator().manual_seed(0))
    changed = (drawn != learner.states).any(dim=1).double().mean()
    assert float(changed) == pytest.approx(0.2, abs=0.03)


def test_every_epoch_brings_new_states_from_the_start_codes() -> None:
    learner = make_learner()
    assert torch.equal(learner.states, learner.start)
    learner.run_epoch(0)
    first = learner.states
    learner.run_epoch(1)
    assert not torch.equal(first, learner.states)
    assert set(learner.states.unique().tolist()) == {-1.0, 1.0}
    assert learner.states.shape == learner.start.shape


def test_the_report_tells_of_the_greedy_walks() -> None:
    learner = make_learner(max_steps=2)
    report = learner.run_epoch(0)
    assert (report.epoch, report.epsilon) == (0, 1.0)
    assert 0 < report.mean_steps <= 2
    late = [learner.run_epoch(epoch) for epoch in range(1, 12)][-1]
    assert late.loss < report.loss
    assert late.mean_return > report.mean_return


def test_codewords_of_confused_classes_move_nearer_at_half_time_and_not_before() -> None:
    halves = torch.tensor([[0.5, 0.5, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])  # classes 0 and 1 look alike
    learner = make_learner(halves, codebook_adaptation=0.4, n_epochs=30)
    begin = learner.score.codewords.clone()
    for epoch in range(15):
        learner.run_epoch(epoch)
    assert torch.equal(learner.score.codewords, begin)
    learner.run_epoch(15)
    assert not torch.equal(learner.score.codewords, begin)
    agreements = (learner.score.codewords @ learner.score.codewords.T / N_BITS).numpy()
    others = [agreements[a, b] for a in range(4) for b in range(a) if (a, b) != (1, 0)]
    assert agreements[0, 1] > max(others)


def test_without_adaptation_the_codebook_stays() -> None:
    learner = make_learner(n_epochs=4)
    begin = learner.score.codewords.clone()
    assert torch.equal(learned(learner).score.codewords, begin)


def stated(learner: WalkLearner) -> float:
    """The probability that equidistant codewords would state for their class."""
    n_classes = learner.targets.shape[1]
    odds = np.exp(learner.score.beta * N_BITS * (1 + 1 / (n_classes - 1)))
    return float(odds / (odds + n_classes - 1))


def test_the_score_is_as_sharp_as_the_agent_is_sure_from_half_time_on() -> None:
    learner = make_learner(DOUBTFUL, target_confidence=0.955, n_epochs=30)
    for epoch in range(15):
        learner.run_epoch(epoch)
    assert stated(learner) == pytest.approx(0.9)
    for epoch in range(15, 30):
        learner.run_epoch(epoch)
    wanted = float(DOUBTFUL.square().sum(dim=1).mean().sqrt())  # 0.84
    assert stated(learner) == pytest.approx(wanted, abs=0.03)


def test_a_sure_agent_states_no_more_than_top() -> None:
    assert stated(learned(make_learner(SURE, target_confidence=0.8))) == pytest.approx(0.8)


def test_several_labels_share_what_a_code_states() -> None:
    both = torch.tensor([[1.0, 1, 0], [0, 1, 1], [1, 0, 1]])
    assert stated(learned(make_learner(both, multilabel=True, target_confidence=0.9))) == pytest.approx(0.9 / 2)


def test_the_score_stays_as_it_is_unless_it_is_to_follow() -> None:
    assert stated(learned(make_learner(DOUBTFUL, n_epochs=4))) == pytest.approx(0.9)


def test_an_epoch_leaves_the_callers_random_numbers_alone() -> None:
    torch.manual_seed(3)
    before = torch.get_rng_state()
    make_learner(gamma=0.5).run_epoch(0)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("epochs_done", [1, 3])  # before and after the codewords move
def test_a_resumed_run_is_bit_identical_to_an_uninterrupted_one(epochs_done: int) -> None:
    config = {"gamma": 0.5, "codebook_adaptation": 0.4, "n_epochs": 4, "weight_decay": 0.1, "target_confidence": 0.955}
    unbroken, broken, resumed = (make_learner(DOUBTFUL, **config) for _ in range(3))
    learned(unbroken)
    for epoch in range(epochs_done):
        broken.run_epoch(epoch)
    resumed.load_arrays({name: array.copy() for name, array in broken.arrays().items()})
    for epoch in range(epochs_done, 4):
        resumed.run_epoch(epoch)
    wanted, found = unbroken.arrays(), resumed.arrays()
    assert wanted.keys() == found.keys()
    for name, array in wanted.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)
