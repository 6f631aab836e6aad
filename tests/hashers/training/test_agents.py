from collections.abc import Callable

import numpy as np
import pytest
import torch

from drlh.core.codes import Codes
from drlh.hashers.drlh.network import ValueHead, WalkNetwork, flip_values
from drlh.hashers.drlh.reward import LogScore
from drlh.hashers.drlh.walk import WalkPolicy, walk
from drlh.hashers.drlh_paper.environment import (
    ActionSet,
    history_onehot,
    one_bit_actions,
    start_state,
    step,
    two_bit_actions,
)
from drlh.hashers.drlh_paper.network import GreedyPolicy, QNetwork
from drlh.hashers.training.agents import Trace, start_signs

N_FEATURES, N_CLASSES, N_BITS = 6, 4, 12
Policy = WalkPolicy | GreedyPolicy


def make_projection() -> torch.Tensor:
    return torch.randn(N_FEATURES, N_BITS, generator=torch.Generator().manual_seed(3))


def default_policy(max_steps: int = N_BITS, gamma: float = 0.5) -> WalkPolicy:
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        network = (
            WalkNetwork(N_FEATURES, N_CLASSES, N_BITS, ensemble_size=2, hidden_size=8).eval().requires_grad_(False)
        )
        network.second.mul_(8)  # an agent that is sure of what it sees
        codewords = torch.randint(0, 2, (N_CLASSES, N_BITS)).double() * 2 - 1
    head = ValueHead(N_CLASSES, N_BITS).double().requires_grad_(False)
    head.load_state_dict(network.value_head.state_dict())
    return WalkPolicy(network, head, LogScore(codewords, 0.2), make_projection(), gamma, max_steps)


def paper_policy(max_steps: int = N_BITS, make: Callable[[int], ActionSet] = one_bit_actions) -> GreedyPolicy:
    actions = make(N_BITS)
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        network = QNetwork(N_FEATURES, actions, hidden_size=32, dropout=0.5).requires_grad_(False)
        for part in (*network.parameters(), network.code, network.history):  # values that change along the walk
            part.mul_(2)
    network.layers[-1].bias[-1] += 1  # of the stop: walks of all lengths
    return GreedyPolicy(network, make_projection(), max_steps)


def images(n: int = 40) -> torch.Tensor:
    return torch.randn(n, N_FEATURES, generator=torch.Generator().manual_seed(7))


def codebook_signs() -> np.ndarray:
    return np.random.default_rng(0).choice(np.array([-1, 1], np.int8), (N_CLASSES, N_BITS))


POLICIES: dict[str, Callable[..., Policy]] = {
    "default": default_policy,
    "paper": paper_policy,
    "pairs": lambda max_steps=N_BITS: paper_policy(max_steps, two_bit_actions),
}
every_policy = pytest.mark.parametrize("make", POLICIES.values(), ids=POLICIES)


def bits_of(policy: Policy, action: int) -> list[int]:
    """The bits an action flips; none for the stop."""
    actions = policy.network.actions if isinstance(policy, GreedyPolicy) else one_bit_actions(N_BITS)
    return [bit for bit in actions.bits[action].tolist() if bit < N_BITS]


def all_traces(policy: Policy) -> list[Trace]:
    return [policy.trace(row[None], codebook_signs()) for row in images()]


def test_the_start_code_is_the_sign_of_the_projected_image() -> None:
    signs = start_signs(images(), make_projection())
    assert signs.dtype == torch.int8
    wanted = [[1 if value >= 0 else -1 for value in row] for row in (images() @ make_projection()).tolist()]
    assert signs.tolist() == wanted
    assert start_signs(torch.zeros(1, N_FEATURES), make_projection()).tolist() == [[1] * N_BITS]


@every_policy
@pytest.mark.parametrize("max_steps", [1, 3, N_BITS])
def test_a_trace_ends_at_the_code_that_encoding_gives(make: Callable[..., Policy], max_steps: int) -> None:
    policy = make(max_steps)
    codes: Codes = policy.encode(images())
    for row, trace in enumerate(all_traces(policy)):
        np.testing.assert_array_equal(trace.codes[-1], codes[row])


@every_policy
def test_the_actions_of_a_trace_lead_from_each_code_to_the_next(make: Callable[..., Policy]) -> None:
    policy = make()
    start = start_signs(images(), make_projection())
    for row, trace in enumerate(all_traces(policy)):
        np.testing.assert_array_equal(trace.codes[0], (start[row] > 0).numpy())
        for number, code in enumerate(trace.codes[1:]):
            replayed = trace.codes[number].copy()
            for bit in bits_of(policy, trace.actions[number]):
                replayed[bit] ^= 1
            np.testing.assert_array_equal(code, replayed)


@every_policy
@pytest.mark.parametrize("max_steps", [2, N_BITS])
def test_a_trace_ends_with_the_stop_or_at_the_limit(make: Callable[..., Policy], max_steps: int) -> None:
    policy, ends = make(max_steps), set()
    stop = policy.network.actions.stop if isinstance(policy, GreedyPolicy) else N_BITS
    for trace in all_traces(policy):
        n_flips = len(trace.codes) - 1
        stopped = trace.actions[-1] == stop
        ends.add(stopped)
        assert stop not in trace.actions[:-1]
        assert len(trace.actions) == (n_flips + 1 if stopped else n_flips)
        assert n_flips <= max_steps if stopped else n_flips == max_steps
        assert trace.values.shape == (n_flips + 1, stop + 1)
        assert trace.distances.shape == (n_flips + 1, N_CLASSES)
        assert np.isnan(trace.values[-1]).all() != stopped  # past the limit nothing was asked
        assert not np.isnan(trace.values[: len(trace.actions)]).any()
    assert True in ends
    assert False in ends or max_steps == N_BITS


@every_policy
def test_every_action_of_a_trace_is_the_best_valued_one(make: Callable[..., Policy]) -> None:
    for trace in all_traces(make()):
        for action, values in zip(trace.actions, trace.values, strict=False):
            assert values[action] >= values.max() - 1e-8


@every_policy
def test_the_distances_of_a_trace_are_counted_bits(make: Callable[..., Policy]) -> None:
    for trace in all_traces(make())[:5]:
        for code, distances in zip(trace.codes, trace.distances, strict=True):
            wanted = [sum(int(a) != int(b > 0) for a, b in zip(code, word, strict=True)) for word in codebook_signs()]
            assert distances.tolist() == wanted


@every_policy
def test_codes_do_not_depend_on_how_many_images_walk_side_by_side(
    make: Callable[..., Policy], monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = make()
    together = policy.encode(images())
    monkeypatch.setattr(f"{type(policy).__module__}._ROWS", 7)
    np.testing.assert_array_equal(policy.encode(images()), together)
    alone = np.concatenate([policy.encode(row[None]) for row in images()])
    np.testing.assert_array_equal(alone, together)
    assert len(np.unique(together, axis=0)) > 10


def test_the_default_agent_walks_by_its_networks_labels() -> None:
    policy = default_policy()
    labels = policy.network.member_probs(images()).mean(dim=0).double()
    start = start_signs(images(), policy.projection).double()
    found = walk(policy.head, policy.score, labels, start, policy.gamma, policy.max_steps)
    np.testing.assert_array_equal(policy.encode(images()), (found.signs > 0).numpy())


def test_the_default_trace_shows_flip_values_and_a_stop_of_zero() -> None:
    policy = default_policy()
    trace = policy.trace(images()[:1], codebook_signs())
    signs = torch.from_numpy(trace.codes[:1]).double() * 2 - 1
    labels = policy.network.class_probs(images()[:1]).double()
    wanted = flip_values(policy.head, policy.score, signs, policy.score.posterior(signs), labels, policy.gamma)
    np.testing.assert_allclose(trace.values[0, :-1], wanted[0])
    assert (trace.values[:, -1] == 0).all()


@pytest.mark.parametrize("make", [one_bit_actions, two_bit_actions])
def test_the_papers_agent_takes_the_greedy_action_of_its_network_on_the_literal_state(
    make: Callable[[int], ActionSet],
) -> None:
    policy = paper_policy(make=make)
    network, actions = policy.network.eval(), policy.network.actions
    first = torch.cat([network.features.weight, network.code.T, network.history.flatten(0, 1).T], dim=1)
    codes = policy.encode(images())
    for row, feature in enumerate(images()):
        state = start_state(start_signs(feature[None], policy.projection))
        for _ in range(policy.max_steps):
            code = state.signs.float()
            seen = torch.cat([feature[None], code, history_onehot(state.history, actions)], dim=1)
            hidden = torch.relu(seen @ first.T + network.features.bias)
            values = network.layers[1](torch.relu(network.layers[0](hidden)))
            state, terminated, _ = step(state, values.argmax(dim=1), actions, max_steps=99)
            if terminated.item():
                break
        np.testing.assert_array_equal(codes[row], (state.signs[0] > 0).numpy())


@pytest.mark.parametrize("make", [one_bit_actions, two_bit_actions])
def test_a_trace_of_the_papers_agent_holds_the_flips_it_saw(make: Callable[[int], ActionSet]) -> None:
    policy = paper_policy(make=make)
    for trace in all_traces(policy):
        assert trace.history is not None
        assert trace.history.shape == (len(trace.codes), 10)
        for number, seen in enumerate(trace.history):
            past = trace.actions[:number][::-1][:10]
            assert seen.tolist() == past + [-1] * (10 - len(past))
        assert trace.max_steps == N_BITS


def test_a_trace_has_no_history_where_the_agent_sees_none() -> None:
    blind = paper_policy()
    blind.network.use_history = False
    for policy in (default_policy(), blind):
        assert {trace.history is None for trace in all_traces(policy)} == {True}
