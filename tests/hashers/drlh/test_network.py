import pytest
import torch

from drlh.hashers.drlh.network import ValueHead, WalkNetwork, flip_values
from drlh.hashers.drlh.reward import LogScore

N_FEATURES, N_CLASSES, N_BITS = 7, 5, 12


def make_network(*, multilabel: bool = False, dropout: tuple[float, float] = (0.0, 0.0)) -> WalkNetwork:
    torch.manual_seed(0)
    network = WalkNetwork(
        N_FEATURES, N_CLASSES, N_BITS, ensemble_size=3, hidden_size=8, dropout=dropout, multilabel=multilabel
    )
    with torch.no_grad():  # biases of zero would hide a bias that is added in the wrong place
        network.first_bias.normal_()
        network.second_bias.normal_()
    return network


def random_step(n: int = 50) -> tuple[LogScore, torch.Tensor, torch.Tensor, torch.Tensor]:
    """(score, signs, posterior, class probabilities)."""
    generator = torch.Generator().manual_seed(1)
    codewords = torch.randint(0, 2, (N_CLASSES, N_BITS), generator=generator) * 2.0 - 1
    score = LogScore(codewords, 0.2)
    signs = torch.randint(0, 2, (n, N_BITS), generator=generator) * 2.0 - 1
    probs = torch.softmax(2 * torch.randn(n, N_CLASSES, generator=generator), dim=1)
    return score, signs, score.posterior(signs), probs


@pytest.mark.parametrize("multilabel", [False, True])
def test_class_probs_are_the_mean_of_the_ensemble(multilabel: bool) -> None:
    network = make_network(multilabel=multilabel, dropout=(0.5, 0.5)).eval()
    features = torch.randn(20, N_FEATURES)
    by_member = network.member_probs(features)
    assert by_member.shape == (3, 20, N_CLASSES)
    assert (by_member[0] - by_member[1]).abs().max() > 0.01  # the members differ, or their mean would show nothing
    torch.testing.assert_close(network.class_probs(features), by_member.mean(dim=0))


@pytest.mark.parametrize("multilabel", [False, True])
def test_a_member_is_a_perceptron_of_one_hidden_layer(multilabel: bool) -> None:
    network, features = make_network(multilabel=multilabel).eval(), torch.randn(6, N_FEATURES)
    found = network.member_probs(features)
    for member in range(3):
        hidden = torch.relu(features @ network.first[member] + network.first_bias[member])
        logits = hidden @ network.second[member] + network.second_bias[member]
        wanted = torch.sigmoid(logits) if multilabel else torch.softmax(logits, dim=1)
        torch.testing.assert_close(found[member], wanted)


def test_single_labels_sum_to_one_and_several_do_not() -> None:
    features = torch.randn(20, N_FEATURES)
    torch.testing.assert_close(make_network().class_probs(features).sum(dim=1), torch.ones(20))
    several = make_network(multilabel=True).class_probs(features)
    assert ((several > 0) & (several < 1)).all()
    assert several.sum(dim=1).std() > 0.01


def test_dropout_acts_while_learning_alone_and_on_each_member_by_itself() -> None:
    network, features = make_network(dropout=(0.5, 0.0)), torch.randn(20, N_FEATURES)
    with torch.no_grad():
        network.first.copy_(network.first[:1].expand_as(network.first))
        network.second.copy_(network.second[:1].expand_as(network.second))
        network.first_bias.zero_(), network.second_bias.zero_()
    dropped = network.train().member_probs(features)
    assert not torch.equal(dropped[0], dropped[1])
    kept = network.eval().member_probs(features)
    torch.testing.assert_close(kept[0], kept[1])


def test_what_comes_after_a_flip_is_worth_at_least_flipping_back_or_stopping() -> None:
    score, signs, posterior, probs = random_step()
    torch.manual_seed(0)
    head = ValueHead(N_CLASSES, N_BITS)
    rewards = score.flip_rewards(signs, posterior, score.class_field(probs))
    values = head(rewards, posterior, probs)
    assert values.shape == rewards.shape
    assert (values >= -rewards).all()
    assert (values >= 0).all()
    assert (values > -rewards + 1e-4).any()  # the learned part has its say


def test_where_no_flip_gains_only_the_way_back_has_a_value() -> None:
    rewards = -torch.rand(4, N_BITS) - 0.1
    posterior = probs = torch.full((4, N_CLASSES), 1 / N_CLASSES)
    torch.testing.assert_close(ValueHead(N_CLASSES, N_BITS)(rewards, posterior, probs), -rewards)


def test_without_a_future_the_value_of_a_flip_is_its_gain() -> None:
    score, signs, posterior, probs = random_step()
    head, field = ValueHead(N_CLASSES, N_BITS), score.class_field(probs)
    rewards = score.flip_rewards(signs, posterior, field, probs.sum(dim=1, keepdim=True))
    assert torch.equal(flip_values(head, score, signs, posterior, probs, 0), rewards)
    wanted = rewards + 0.7 * head(rewards, posterior, probs)
    torch.testing.assert_close(flip_values(head, score, signs, posterior, probs, 0.7), wanted)


def test_values_of_a_block_of_states_are_those_of_its_rows() -> None:
    score, signs, _, probs = random_step(6)
    head = ValueHead(N_CLASSES, N_BITS)
    block = signs.reshape(2, 3, N_BITS)
    grouped = probs.reshape(2, 3, N_CLASSES)
    values = flip_values(head, score, block, score.posterior(block), grouped, 0.5)
    flat = flip_values(head, score, signs, score.posterior(signs), probs, 0.5)
    torch.testing.assert_close(values.reshape(6, N_BITS), flat)
