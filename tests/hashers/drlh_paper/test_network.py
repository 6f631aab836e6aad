from collections.abc import Callable

import pytest
import torch
from torch import nn

from drlh.hashers.drlh_paper.environment import (
    HISTORY,
    ActionSet,
    State,
    one_bit_actions,
    start_state,
    step,
    two_bit_actions,
)
from drlh.hashers.drlh_paper.layers import Fastfood, TensorTrain
from drlh.hashers.drlh_paper.network import PooledDropout, QNetwork
from drlh.hashers.training.agents import random_signs

N_FEATURES, N_BITS = 6, 7
both_action_sets = pytest.mark.parametrize("make", [one_bit_actions, two_bit_actions])


def walked(actions: ActionSet, n_steps: int) -> State:
    """Twelve walks of random flips; some rows take stops in between."""
    generator = torch.Generator().manual_seed(n_steps)
    state = start_state(random_signs(12, N_BITS, generator))
    for _ in range(n_steps):
        action = torch.randint(0, actions.n_actions, (12,), generator=generator)
        state, _, _ = step(state, action, actions, max_steps=99)
    return state


def literal_input(features: torch.Tensor, state: State, actions: ActionSet, lowest: float = -1.0) -> torch.Tensor:
    """[feature, code of -1/+1, one row over the bits for each of the last ten flips], image by image."""
    rows = []
    for feature, signs, history in zip(features, state.signs.tolist(), state.history.tolist(), strict=True):
        flips = [[0.0] * N_BITS for _ in range(HISTORY)]
        for place, action in enumerate(history):
            for bit in actions.bits[action].tolist() if action >= 0 else []:
                if bit < N_BITS:
                    flips[place][bit] = 1.0
        code = [1.0 if sign > 0 else lowest for sign in signs]
        rows.append(torch.cat([feature, torch.tensor(code), torch.tensor(flips).flatten()]))
    return torch.stack(rows)


def one_linear(network: QNetwork) -> nn.Linear:
    """The first layer as a single layer on the concatenation."""
    parts = [network.features.weight, network.code.T, network.history.flatten(0, 1).T]
    weight = torch.cat(parts, dim=1)
    linear = nn.Linear(weight.shape[1], weight.shape[0])
    with torch.no_grad():
        linear.weight.copy_(weight)
        linear.bias.copy_(network.features.bias)
    return linear


@both_action_sets
@pytest.mark.parametrize("n_steps", [0, 4, 25])
def test_the_first_layer_is_one_linear_layer_on_the_concatenation(
    make: Callable[[int], ActionSet], n_steps: int
) -> None:
    actions = make(N_BITS)
    torch.manual_seed(0)
    network = QNetwork(N_FEATURES, actions, hidden_size=9, dropout=0.5).eval()
    features, state = torch.randn(12, N_FEATURES), walked(actions, n_steps)
    literal = nn.Sequential(one_linear(network), nn.ReLU(), network.layers[0], nn.ReLU(), network.layers[1])
    wanted = literal(literal_input(features, state, actions))
    assert wanted.shape == (12, actions.n_actions)
    torch.testing.assert_close(network(network.image(features), state), wanted)


@both_action_sets
def test_gradients_are_those_of_the_one_linear_layer(make: Callable[[int], ActionSet]) -> None:
    actions = make(N_BITS)
    torch.manual_seed(0)
    network = QNetwork(N_FEATURES, actions, hidden_size=9, dropout=0.0)
    features, state = torch.randn(12, N_FEATURES), walked(actions, 15)
    network(network.image(features), state).square().sum().backward()
    linear = one_linear(network)
    literal = nn.Sequential(linear, nn.ReLU(), network.layers[0], nn.ReLU(), network.layers[1])
    literal(literal_input(features, state, actions)).square().sum().backward()
    whole = linear.weight.grad
    assert whole is not None
    torch.testing.assert_close(network.features.weight.grad, whole[:, :N_FEATURES])
    torch.testing.assert_close(network.code.grad, whole[:, N_FEATURES : N_FEATURES + N_BITS].T)
    torch.testing.assert_close(network.history.grad, whole[:, N_FEATURES + N_BITS :].T.reshape(HISTORY, N_BITS, 9))
    torch.testing.assert_close(network.features.bias.grad, linear.bias.grad)


@pytest.mark.parametrize("n_layers", [1, 2, 3])
def test_features_are_scaled_and_the_code_may_be_0_and_1(n_layers: int) -> None:
    actions = one_bit_actions(N_BITS)
    torch.manual_seed(0)
    network = QNetwork(
        N_FEATURES, actions, hidden_size=9, n_layers=n_layers, feature_scale=0.25, code_input="bits"
    ).eval()
    features, state = torch.randn(12, N_FEATURES), walked(actions, 9)
    hidden = [part for layer in network.layers for part in (nn.ReLU(), layer)]
    assert len(network.layers) == n_layers
    literal = nn.Sequential(one_linear(network), *hidden)
    wanted = literal(literal_input(0.25 * features, state, actions, lowest=0.0))
    torch.testing.assert_close(network(network.image(features), state), wanted)


def test_several_states_share_the_image() -> None:
    actions = one_bit_actions(N_BITS)
    torch.manual_seed(0)
    network = QNetwork(N_FEATURES, actions, hidden_size=9).eval()
    features, state = torch.randn(4, N_FEATURES), walked(actions, 5)
    each = network.image(features.repeat_interleave(3, dim=0))
    torch.testing.assert_close(network(network.image(features), state), network(each, state))


def test_without_history_the_same_code_has_the_same_values() -> None:
    actions = one_bit_actions(N_BITS)
    torch.manual_seed(0)
    network = QNetwork(N_FEATURES, actions, hidden_size=9, use_history=False).eval()
    image, state = network.image(torch.randn(12, N_FEATURES)), walked(actions, 9)
    torch.testing.assert_close(network(image, state), network(image, start_state(state.signs)))


def test_the_state_reaches_every_value() -> None:
    actions = one_bit_actions(N_BITS)
    torch.manual_seed(0)
    network = QNetwork(N_FEATURES, actions, hidden_size=64).eval()
    image = network.image(torch.randn(1, N_FEATURES))
    state = start_state(torch.ones(1, N_BITS))
    there, _, _ = step(state, torch.tensor([3]), actions, max_steps=9)
    back, _, _ = step(there, torch.tensor([3]), actions, max_steps=9)
    values = [network(image, each) for each in (state, there, back)]
    assert (values[0] != values[1]).all()
    assert torch.equal(back.signs, state.signs)  # the same code, but the history differs
    assert (values[0] != values[2]).all()


def test_composed_pairs_are_made_from_their_flips_by_a_scale_and_an_offset() -> None:
    actions = two_bit_actions(N_BITS)
    torch.manual_seed(0)
    network = QNetwork(N_FEATURES, actions, hidden_size=9, composed_pairs=True).eval()
    plain = QNetwork(N_FEATURES, one_bit_actions(N_BITS), hidden_size=9).eval()
    plain.load_state_dict({name: part for name, part in network.state_dict().items() if "pair" not in name})
    image, state = network.image(torch.randn(12, N_FEATURES)), start_state(walked(actions, 9).signs)
    with torch.no_grad():
        network.pair_scale.fill_(0.7)
        network.pair_offset.fill_(-0.3)
        found, singles = network(image, state), plain(image, state)
    assert found.shape == (12, actions.n_actions)
    torch.testing.assert_close(found[:, :N_BITS], singles[:, :N_BITS])
    torch.testing.assert_close(found[:, -1], singles[:, -1])
    for action in range(N_BITS, actions.stop):
        first, second = actions.bits[action].tolist()
        torch.testing.assert_close(found[:, action], 0.7 * (singles[:, first] + singles[:, second]) - 0.3)


def test_composed_pairs_do_not_widen_the_output_and_learn_both_scalars() -> None:
    network = QNetwork(N_FEATURES, two_bit_actions(40), hidden_size=9, composed_pairs=True)
    assert network.layers[-1].weight.shape == (41, 9)
    state = start_state(random_signs(5, 40, torch.Generator().manual_seed(0)))
    values = network(network.image(torch.randn(5, N_FEATURES)), state)
    values.square().sum().backward()
    assert network.pair_scale.grad != 0
    assert network.pair_offset.grad != 0


def test_relative_actions_turn_with_the_sign_of_their_bit() -> None:
    actions = one_bit_actions(N_BITS)
    torch.manual_seed(0)
    network = QNetwork(N_FEATURES, actions, hidden_size=9, relative_actions=True).eval()
    image, state = network.image(torch.randn(12, N_FEATURES)), walked(actions, 9)
    outputs: list[torch.Tensor] = []
    network.layers[-1].register_forward_hook(lambda module, inputs, output: outputs.append(output))
    found = network(image, state)
    assert outputs[0].shape == (12, 2 * N_BITS + 1)
    assert found.shape == (12, N_BITS + 1)
    for bit in range(N_BITS):
        u, g = outputs[0][:, bit], outputs[0][:, N_BITS + bit]
        torch.testing.assert_close(found[:, bit], torch.where(state.signs[:, bit] > 0, u - g, u + g))
    assert torch.equal(found[:, -1], outputs[0][:, -1])


@pytest.mark.parametrize("kind", ["fastfood", "tensor-train"])
def test_a_structured_layer_stands_in_place_of_the_wide_ones_only(kind: str) -> None:
    actions = one_bit_actions(N_BITS)
    network = QNetwork(N_FEATURES, actions, hidden_size=9, n_layers=3, layer=kind).eval()
    wanted = {"fastfood": Fastfood, "tensor-train": TensorTrain}[kind]
    assert [type(part) for part in (network.features, *network.layers)] == [wanted] * 3 + [nn.Linear]
    assert network(network.image(torch.randn(12, N_FEATURES)), walked(actions, 3)).shape == (12, N_BITS + 1)


def test_dropout_follows_every_hidden_layer() -> None:
    actions = one_bit_actions(N_BITS)
    network = QNetwork(N_FEATURES, actions, hidden_size=50, dropout=0.5).train()
    zeros = []
    network.dropout.register_forward_hook(lambda module, inputs, output: zeros.append((inputs[0] > 0) & (output == 0)))
    network(network.image(torch.randn(12, N_FEATURES)), walked(actions, 5))
    assert len(zeros) == 2
    assert all(dropped.any() for dropped in zeros)


def test_pooled_dropout_keeps_the_mean_and_draws_another_mask_each_time() -> None:
    dropout, ones = PooledDropout(0.3).train(), torch.ones(400, 500)
    first, second = dropout(ones), dropout(ones)
    assert first.unique().tolist() == pytest.approx([0.0, 1 / 0.7])
    assert float(first.mean()) == pytest.approx(1.0, abs=0.01)
    assert float(((first > 0) == (second > 0)).float().mean()) == pytest.approx(0.7**2 + 0.3**2, abs=0.01)
    assert torch.equal(dropout.eval()(ones), ones)


def test_pooled_dropout_follows_torchs_seed_and_takes_large_tensors() -> None:
    masks = []
    for _ in range(2):
        with torch.random.fork_rng([]):
            torch.manual_seed(4)
            masks.append(PooledDropout(0.5)(torch.ones(100, 10)))
    assert torch.equal(*masks)
    large = PooledDropout(0.5, size=100)(torch.ones(1000))
    assert set(large.tolist()) == {0.0, 2.0}
