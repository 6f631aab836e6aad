import pytest
import torch

from drlh.hashers.drlh.network import LookAhead, WalkNetwork, flip_values
from drlh.hashers.drlh.reward import Score

N_FEATURES, N_CLASSES, N_BITS = 7, 5, 12


def make_network(*, multilabel: bool = False, dropout: tuple[float, float] = (0.0, 0.0)) -> WalkNetwork:
    torch.manual_seed(0)
    network = WalkNetwork(N_FEATURES, N_CLASSES, N_BITS, n_branches=3, hidden=8, dropout=dropout, multilabel=multilabel)
    with torch.no_grad():  # biases of zero would hide a bias that is added in the wrong place
        network.first_bias.normal_()
        network.second_bias.normal_()
    return network


def random_step(n: int = 50) -> tuple[Score, torch.Tensor, torch.Tensor, torch.Tensor]:
    """(score, signs, shares, label weights)."""
    generator = torch.Generator().manual_seed(1)
    embedding = torch.randint(0, 2, (N_CLASSES, N_BITS), generator=generator) * 2.0 - 1
    score = Score(embedding, 0.2)
    signs = torch.randint(0, 2, (n, N_BITS), generator=generator) * 2.0 - 1
    labels = torch.softmax(2 * torch.randn(n, N_CLASSES, generator=generator), dim=1)
    return score, signs, score.shares(signs), labels


@pytest.mark.parametrize("multilabel", [False, True])
def test_labels_are_the_mean_of_the_branches(multilabel: bool) -> None:
    network = make_network(multilabel=multilabel, dropout=(0.5, 0.5)).eval()
    features = torch.randn(20, N_FEATURES)
    by_branch = network.branch_labels(features)
    assert by_branch.shape == (3, 20, N_CLASSES)
    assert (by_branch[0] - by_branch[1]).abs().max() > 0.01  # the branches differ, or their mean would show nothing
    torch.testing.assert_close(network.labels(features), by_branch.mean(dim=0))


@pytest.mark.parametrize("multilabel", [False, True])
def test_a_branch_is_a_perceptron_of_one_hidden_layer(multilabel: bool) -> None:
    network, features = make_network(multilabel=multilabel).eval(), torch.randn(6, N_FEATURES)
    found = network.branch_labels(features)
    for branch in range(3):
        hidden = torch.relu(features @ network.first[branch] + network.first_bias[branch])
        logits = hidden @ network.second[branch] + network.second_bias[branch]
        wanted = torch.sigmoid(logits) if multilabel else torch.softmax(logits, dim=1)
        torch.testing.assert_close(found[branch], wanted)


def test_single_labels_sum_to_one_and_several_do_not() -> None:
    features = torch.randn(20, N_FEATURES)
    torch.testing.assert_close(make_network().labels(features).sum(dim=1), torch.ones(20))
    several = make_network(multilabel=True).labels(features)
    assert ((several > 0) & (several < 1)).all()
    assert several.sum(dim=1).std() > 0.01


def test_dropout_acts_while_learning_alone_and_on_each_branch_by_itself() -> None:
    network, features = make_network(dropout=(0.5, 0.0)), torch.randn(20, N_FEATURES)
    with torch.no_grad():
        network.first.copy_(network.first[:1].expand_as(network.first))
        network.second.copy_(network.second[:1].expand_as(network.second))
        network.first_bias.zero_(), network.second_bias.zero_()
    dropped = network.train().branch_labels(features)
    assert not torch.equal(dropped[0], dropped[1])
    kept = network.eval().branch_labels(features)
    torch.testing.assert_close(kept[0], kept[1])


def test_what_comes_after_a_flip_is_worth_at_least_flipping_back_or_stopping() -> None:
    score, signs, shares, labels = random_step()
    torch.manual_seed(0)
    ahead = LookAhead(N_CLASSES, N_BITS)
    gains = score.gains(signs, shares, score.pull(labels))
    values = ahead(gains, shares, labels)
    assert values.shape == gains.shape
    assert (values >= -gains).all()
    assert (values >= 0).all()
    assert (values > -gains + 1e-4).any()  # the learned part has its say


def test_where_no_flip_gains_only_the_way_back_has_a_value() -> None:
    gains = -torch.rand(4, N_BITS) - 0.1
    shares = labels = torch.full((4, N_CLASSES), 1 / N_CLASSES)
    torch.testing.assert_close(LookAhead(N_CLASSES, N_BITS)(gains, shares, labels), -gains)


def test_without_a_future_the_value_of_a_flip_is_its_gain() -> None:
    score, signs, shares, labels = random_step()
    ahead, pull = LookAhead(N_CLASSES, N_BITS), score.pull(labels)
    gains = score.gains(signs, shares, pull, labels.sum(dim=1, keepdim=True))
    assert torch.equal(flip_values(ahead, score, signs, shares, pull, labels, 0), gains)
    wanted = gains + 0.7 * ahead(gains, shares, labels)
    torch.testing.assert_close(flip_values(ahead, score, signs, shares, pull, labels, 0.7), wanted)


def test_values_of_a_block_of_states_are_those_of_its_rows() -> None:
    score, signs, _, labels = random_step(6)
    ahead = LookAhead(N_CLASSES, N_BITS)
    block = signs.reshape(2, 3, N_BITS)
    weights = labels.reshape(2, 3, N_CLASSES)
    values = flip_values(ahead, score, block, score.shares(block), score.pull(weights), weights, 0.5)
    flat = flip_values(ahead, score, signs, score.shares(signs), score.pull(labels), labels, 0.5)
    torch.testing.assert_close(values.reshape(6, N_BITS), flat)
