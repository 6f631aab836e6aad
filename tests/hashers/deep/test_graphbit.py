import math

import numpy as np
import pytest
import torch

from drlh.core.errors import UserError
from drlh.hashers.deep.graphbit import (
    BitGraph,
    GraphBit,
    GraphSearch,
    PairPolicy,
    best_edges,
    can_add,
    graph_loss,
    pairwise_estimates,
    probabilities,
    sample_entry,
    update_policy,
)
from drlh.hashers.deep.objective import Batch, Task

# What bits tell each other about two images: estimates[image, from, to].
ESTIMATES = torch.tensor([[[0.9, 0.2], [0.7, 0.4]], [[0.1, 0.8], [0.5, 0.6]]])
ONE_EDGE = torch.tensor([[0.0, 1.0], [0.0, 0.0]])  # from the first bit to the second


def test_a_bit_hears_itself_and_those_along_its_edges() -> None:
    torch.testing.assert_close(probabilities(ESTIMATES, torch.zeros(2, 2)), torch.tensor([[0.9, 0.4], [0.1, 0.6]]))
    torch.testing.assert_close(probabilities(ESTIMATES, ONE_EDGE), torch.tensor([[0.9, 0.3], [0.1, 0.7]]))


def test_loss_of_two_images_worked_by_hand() -> None:
    estimates = ESTIMATES.clone()
    estimates[1, 0, 0] = 0.3  # the first bit is 0.9 and 0.3 now, 0.6 on average
    imbalance = (0.1**2 + 0.0**2) / 2
    certainty = (math.log(0.9) + math.log(0.7) + math.log(0.7) + math.log(0.7)) / 4
    changed = (0 + 0 + 0.1**2 + 0.1**2) / 4
    wanted = imbalance - 0.2 * certainty + 0.4 * changed
    assert graph_loss(estimates, ONE_EDGE, (0.2, 0.4)).item() == pytest.approx(wanted, rel=1e-5)


def test_the_loss_has_the_right_gradient() -> None:
    outputs = torch.randn(5, 9, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    edges = torch.tensor([[0.0, 1, 1], [0, 0, 1], [0, 0, 0]], dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda values: graph_loss(pairwise_estimates(values), edges, (0.2, 0.4)), outputs)


def random_estimates(n_bits: int, seed: int) -> torch.Tensor:
    return pairwise_estimates(3 * torch.randn(50, n_bits**2, generator=torch.Generator().manual_seed(seed)))


@pytest.mark.parametrize("seed", range(3))
def test_the_graph_chosen_is_never_worse_than_none(seed: int) -> None:
    estimates = random_estimates(6, seed)
    torch.manual_seed(seed)
    edges = best_edges(estimates, (0.2, 0.4), 40)
    assert graph_loss(estimates, edges, (0.2, 0.4)) <= graph_loss(estimates, torch.zeros(6, 6), (0.2, 0.4))
    assert set(edges.unique().tolist()) <= {0, 1}
    assert (edges * edges.T).sum() == 0  # no bit speaks to itself, and no two to each other


def test_a_bit_in_doubt_is_given_one_that_is_sure() -> None:
    sure = (torch.arange(40) % 2).float()
    estimates = torch.full((40, 3, 3), 0.5)
    estimates[:, 0, 0] = estimates[:, 0, 2] = sure  # the first bit knows itself and the third; the third knows nothing
    estimates[:, 1, 1] = sure
    torch.manual_seed(0)
    edges = best_edges(estimates, (0.2, 0.4), 60)
    assert edges[0, 2] == 1
    assert edges[:, :2].sum() == 0  # those who know have nobody to ask


def test_the_policy_learns_to_add_the_edge_that_pays() -> None:
    estimates = torch.full((40, 3, 3), 0.5)
    estimates[:, 0, 2] = (torch.arange(40) % 2).float()
    torch.manual_seed(0)
    policy = PairPolicy()
    optimizer = torch.optim.RMSprop(policy.parameters(), lr=1e-3)
    before = policy(torch.zeros(3, 3)).detach()
    for _ in range(150):
        update_policy(GraphSearch(estimates, (0.2, 0.0)).step(policy), optimizer)
    after = policy(torch.zeros(3, 3)).detach()
    assert after.sum().item() == pytest.approx(1)
    assert after[0, 2] > 1.5 * before[0, 2]
    assert after.argmax().item() == 2


def test_a_single_bit_has_no_edges() -> None:
    assert best_edges(random_estimates(1, 0), (0.2, 0.4), 3).tolist() == [[0]]


def test_only_bits_without_an_edge_between_them_get_one() -> None:
    edges = torch.tensor([[0.0, 1, 0], [0, 0, 0], [0, 0, 0]])
    assert can_add(edges).tolist() == [[False, False, True], [False, False, True], [True, True, False]]
    assert sample_entry(torch.ones(1, 1), can_add(torch.zeros(1, 1)))[0] is None


def test_chances_follow_the_liking_but_for_a_small_share() -> None:
    preference, allowed = torch.tensor([[8.0, 3.0], [1.0, 5.0]]), torch.tensor([[False, True], [True, False]])
    torch.manual_seed(0)
    drawn = {sample_entry(preference, allowed)[0]: float(sample_entry(preference, allowed)[1].exp()) for _ in range(50)}
    assert set(drawn) == {1, 2}
    chances = [float(sample_entry(preference, allowed)[1].exp()) for _ in range(50)]
    assert sorted({round(chance, 4) for chance in chances}) == [0.2625, 0.7375]  # 0.95 of 1/4 and 3/4, and 0.025


def test_the_graph_is_chosen_half_way_and_drawn_before() -> None:
    task = Task(torch.zeros(30, 0), 3, False, np.random.default_rng(0))
    objective = BitGraph(task, 0.2, 0.4, 20)
    outputs = 3 * torch.randn(30, 9, generator=torch.Generator().manual_seed(0))
    batch = Batch(torch.arange(30), torch.zeros(30, 0))
    objective.start_epoch(0, 4, lambda: outputs)
    assert len({objective.loss(outputs, batch).item() for _ in range(10)}) > 1
    objective.start_epoch(2, 4, lambda: outputs)
    assert len({objective.loss(outputs, batch).item() for _ in range(10)}) == 1


def test_a_bit_is_whether_its_probability_is_above_the_mean_of_the_training_images() -> None:
    features = np.random.default_rng(0).normal(1, 2, (80, 6))
    hasher = GraphBit(5, n_epochs=3, n_steps=10, random_state=0).fit(features)
    estimates = pairwise_estimates(hasher._outputs(features))
    found = probabilities(estimates, torch.from_numpy(hasher.objective_state_["edges"]).float())
    np.testing.assert_allclose(hasher.objective_state_["thresholds"], found.mean(dim=0), rtol=1e-5)
    np.testing.assert_array_equal(hasher.transform(features), found > found.mean(dim=0))


def test_labels_are_never_seen() -> None:
    features, labels = np.random.default_rng(0).normal(size=(60, 6)), np.arange(60) % 3
    with_labels, without = (GraphBit(4, n_epochs=2, n_steps=5, random_state=0).fit(features, y) for y in (labels, None))
    np.testing.assert_array_equal(with_labels.transform(features), without.transform(features))


@pytest.mark.parametrize(("name", "value"), [("alpha", -1), ("beta", -0.1), ("n_steps", -1), ("n_steps", 0.5)])
def test_a_wrong_parameter_is_one_clear_sentence(name: str, value: float) -> None:
    with pytest.raises(UserError, match=f"{name} of GraphBit must be"):
        GraphBit(8, **{name: value}).fit(np.eye(4))
