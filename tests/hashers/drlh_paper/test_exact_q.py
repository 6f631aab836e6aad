import pytest
import torch

from drlh.hashers.codebook.codebook import Codebook, make_codebook
from drlh.hashers.drlh_paper.environment import one_bit_actions, start_state, step, two_bit_actions
from drlh.hashers.drlh_paper.exact_q import all_signs, exact_q
from drlh.hashers.drlh_paper.reward import Reward

GAMMA = 0.9


@pytest.fixture
def codebook() -> Codebook:
    return make_codebook(3, 8)  # D = 5, R = 2


def distance_to(codebook: Codebook, label: int) -> torch.Tensor:
    """(256,) Hamming distance of every code."""
    return (all_signs(8) != torch.from_numpy(codebook.signs[label])).sum(dim=1)


def greedy_walks(reward: Reward, q: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """From every code: (flips made, number of the last code, whether the walk stopped by itself)."""
    state = start_state(all_signs(reward.actions.n_bits))
    weights = 1 << torch.arange(reward.actions.n_bits)
    stopped = torch.zeros(len(state), dtype=torch.bool)
    for _ in range(3 * reward.actions.n_bits):
        number = (state.signs > 0).long() @ weights
        state, terminated, _ = step(state, q[number].argmax(dim=1), reward.actions, max_steps=99)
        stopped |= terminated
    return state.steps, (state.signs > 0).long() @ weights, stopped


@pytest.mark.parametrize("make_actions", [one_bit_actions, two_bit_actions])
def test_exact_q_satisfies_the_bellman_equation_on_the_environments_own_steps(
    codebook: Codebook, make_actions: type
) -> None:
    actions = make_actions(8)
    reward = Reward(codebook, actions, eta=1)
    q = exact_q(reward, torch.tensor(1), GAMMA)
    signs = all_signs(8)
    table = reward.table(signs, torch.full((256,), 1))
    for action in range(actions.n_actions):
        following, terminated, _ = step(start_state(signs), torch.full((256,), action), actions, max_steps=99)
        number = (following.signs > 0).long() @ (1 << torch.arange(8))
        target = table[:, action] + GAMMA * torch.where(terminated, 0.0, q[number].amax(dim=1))
        torch.testing.assert_close(q[:, action], target.double(), atol=1e-5, rtol=0)


@pytest.mark.parametrize("label", [0, 1, 2])
@pytest.mark.parametrize("eta", [0, 1, 2])
def test_the_best_policy_of_the_paper_reward_walks_straight_and_stops_inside_the_ball(
    codebook: Codebook, label: int, eta: int
) -> None:
    reward = Reward(codebook, one_bit_actions(8), eta=eta)
    steps, last, stopped = greedy_walks(reward, exact_q(reward, torch.tensor(label), GAMMA))
    distance = distance_to(codebook, label)
    assert stopped.all()
    assert (distance[last] <= eta).all()
    assert torch.equal(steps, (distance - distance[last]).int())  # each flip brought the code one bit nearer


def test_stopping_is_best_at_the_codeword_and_worst_outside_the_ball(codebook: Codebook) -> None:
    reward = Reward(codebook, one_bit_actions(8), eta=1)
    q = exact_q(reward, torch.tensor(0), GAMMA)
    distance = distance_to(codebook, 0)
    assert q[distance == 0].argmax(dim=1).tolist() == [8]
    assert q[distance == 0, 8].tolist() == [5.0]
    assert (q[distance > 1].argmin(dim=1) == 8).all()
    assert (q[distance > 1, 8] == -5).all()


def test_pairs_of_flips_halve_the_walk(codebook: Codebook) -> None:
    reward = Reward(codebook, two_bit_actions(8), eta=0)
    steps, last, stopped = greedy_walks(reward, exact_q(reward, torch.tensor(2), GAMMA))
    distance = distance_to(codebook, 2)
    assert stopped.all()
    assert (distance[last] == 0).all()
    assert torch.equal(steps, ((distance + 1) // 2).int())


def test_an_image_with_two_labels_stops_near_either(codebook: Codebook) -> None:
    reward = Reward(codebook, one_bit_actions(8), eta=1)
    _, last, stopped = greedy_walks(reward, exact_q(reward, torch.tensor([1, 0, 1]), GAMMA))
    first, second = distance_to(codebook, 0)[last], distance_to(codebook, 2)[last]
    assert stopped.all()
    assert (torch.minimum(first, second) <= 1).all()
    assert (first <= 1).any()
    assert (second <= 1).any()
