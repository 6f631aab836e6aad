"""What follows from the size of the data."""

import pytest

from drlh.hashers.training.sizes import loss_weight_exponent_for, sizes_for


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
