import numpy as np
import pytest
import torch

from drlh.core.errors import UserError
from drlh.evaluate.metrics import mean_average_precision
from drlh.hashers.drlh.hasher import DRLH
from drlh.hashers.training.agents import distance_to_own
from drlh.hashers.training.preparation import hold_out, loss_weight_exponent_for, sizes_for


def rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(2.0 * n).reshape(n, 2), np.arange(n) % 3


def test_images_held_out_are_not_learned_from_and_none_is_lost() -> None:
    features, labels = rows(40)
    kept, kept_labels, probe = hold_out(features, labels, 0.25, np.random.default_rng(0))
    assert probe is not None
    assert (len(kept), len(probe.queries)) == (30, 10)
    together = np.concatenate([kept, probe.queries])
    np.testing.assert_array_equal(together[together[:, 0].argsort()], features)
    np.testing.assert_array_equal(kept_labels, (kept[:, 0] / 2).astype(int) % 3)
    np.testing.assert_array_equal(probe.query_labels, (probe.queries[:, 0] / 2).astype(int) % 3)


def test_nothing_held_out_leaves_the_data_and_the_random_numbers_alone() -> None:
    features, labels = rows(10)
    rng = np.random.default_rng(0)
    kept, _, probe = hold_out(features, labels, 0.0, rng)
    assert probe is None
    assert kept is features
    assert rng.random() == np.random.default_rng(0).random()


def test_the_probe_scores_codes_by_the_tie_aware_mean_average_precision() -> None:
    features, labels = rows(40)
    _, _, probe = hold_out(features, labels, 0.5, np.random.default_rng(0))
    assert probe is not None

    def encode(some: np.ndarray) -> np.ndarray:
        return (some % 7 > 3).astype(np.uint8)

    wanted = mean_average_precision(
        encode(probe.queries), probe.query_labels, encode(probe.searched), probe.searched_labels
    )
    assert probe.score(encode) == wanted


@pytest.mark.parametrize("share", [0.001, 0.99])
def test_a_hold_out_that_leaves_nothing_is_one_clear_sentence(share: float) -> None:
    with pytest.raises(UserError, match=r"validation_fraction=.* of 40 images"):
        hold_out(*rows(40), share, np.random.default_rng(0))


@pytest.mark.parametrize("share", [-0.1, 1.0, "half"])
def test_a_wrong_share_is_one_clear_sentence(share: object) -> None:
    with pytest.raises(UserError, match="validation_fraction of DRLH must be at least 0 and below 1"):
        DRLH(16, validation_fraction=share).fit(*rows(40))  # type: ignore[arg-type]


def test_distance_to_the_nearest_own_codeword_worked_by_hand() -> None:
    codewords = torch.tensor([[1, 1, 1, 1], [1, -1, 1, -1]])
    signs = torch.tensor([[1, 1, 1, 1], [1, 1, 1, -1]])
    assert distance_to_own(signs, codewords, torch.tensor([0, 1])).tolist() == [0, 1]
    several = torch.tensor([[1, 1], [0, 0]])
    assert distance_to_own(signs, codewords, several).tolist() == [0, 0]
    assert distance_to_own(signs, codewords, torch.tensor([[0, 1], [1, 0]])).tolist() == [2, 1]


def test_few_features_meet_a_wider_network_of_about_the_same_cost() -> None:
    many, few = sizes_for(5000, 1280), sizes_for(5000, 512)
    assert few["hidden_size"] * 512 == pytest.approx(many["hidden_size"] * 1280, rel=0.01)
    assert few["dropout"] < many["dropout"]
    assert few["feature_dropout"] < many["feature_dropout"]


@pytest.mark.parametrize("n_features", [1, 64, 512, 1280, 4096])
def test_sizes_stay_in_their_range(n_features: int) -> None:
    sizes = sizes_for(5000, n_features)
    assert 256 <= sizes["hidden_size"] <= 1024
    assert 0.3 <= sizes["dropout"] <= 0.5
    assert 0.1 <= sizes["feature_dropout"] <= 0.3


def test_only_many_images_have_hard_ones_that_count_more() -> None:
    assert [loss_weight_exponent_for(n) for n in (100, 19_999, 20_000, 1_000_000)] == [0, 0, 1, 1]
