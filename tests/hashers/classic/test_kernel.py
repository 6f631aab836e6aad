"""The kernel features against slow versions, and what happens at their edges."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from drlh.core.errors import UserError
from drlh.hashers.classic.kernel import KernelHasher, similarities, squared_distances
from drlh.hashers.classic.ksh import KSH
from drlh.hashers.classic.sdh import SDH

both_methods = pytest.mark.parametrize("cls", [KSH, SDH])


def two_classes(n: int = 60, n_features: int = 5) -> tuple[np.ndarray, np.ndarray]:
    labels = np.arange(n) % 2
    return np.random.default_rng(0).normal(labels[:, None], 0.3, (n, n_features)), labels


def test_distances_equal_those_of_scipy_even_far_from_zero_and_over_several_blocks() -> None:
    rng = np.random.default_rng(0)
    features = 1e6 + rng.normal(size=(9000, 4))
    anchors = features[:7]
    np.testing.assert_allclose(squared_distances(features, anchors), cdist(features, anchors, "sqeuclidean"), atol=1e-7)


def test_the_kernel_is_one_at_no_distance_and_falls_with_it() -> None:
    values = similarities(np.array([0.0, 1.0, 4.0, 1e9]), variance=2.0)
    np.testing.assert_allclose(values, [1, np.exp(-0.25), np.exp(-1), 0])


@both_methods
def test_the_scale_of_the_features_does_not_change_the_codes(cls: type[KernelHasher]) -> None:
    features, labels = two_classes()
    small = cls(8, random_state=0).fit(features, labels)
    large = cls(8, random_state=0).fit(1024 * features, labels)
    assert large.variance_ == pytest.approx(1024**2 * small.variance_)
    np.testing.assert_array_equal(large.transform(1024 * features), small.transform(features))


@both_methods
def test_fewer_images_than_anchors_make_every_image_an_anchor(cls: type[KernelHasher]) -> None:
    features, labels = two_classes(12)
    hasher = cls(8, n_anchors=50, random_state=0).fit(features, labels)
    np.testing.assert_array_equal(np.unique(hasher.anchors_, axis=0), np.unique(features, axis=0))
    codes = hasher.transform(features)
    assert (codes[labels == 0] != codes[1]).sum() > (codes[labels == 1] != codes[1]).sum()


@both_methods
@pytest.mark.parametrize("value", [0.0, 0.1, -1e6])
def test_constant_features_give_finite_models_and_one_code(cls: type[KernelHasher], value: float) -> None:
    features = np.full((40, 6), value)
    hasher = cls(4, random_state=0).fit(features, np.arange(40) % 2)
    assert np.isfinite(hasher.projection_).all()
    assert len(np.unique(hasher.transform(features), axis=0)) == 1
    assert hasher.transform(features + 1).shape == (40, 4)


@both_methods
def test_images_that_differ_by_rounding_alone_are_equal_to_the_kernel(cls: type[KernelHasher]) -> None:
    features = np.nextafter(1 / 3, np.random.default_rng(0).choice([0.0, 1.0], (40, 6)))
    hasher = cls(4, random_state=0).fit(features, np.arange(40) % 2)
    np.testing.assert_allclose(hasher.kernel_mean_, 1)


@both_methods
def test_a_constant_feature_beside_others_changes_nothing(cls: type[KernelHasher]) -> None:
    features, labels = two_classes()
    wider = np.column_stack([features, np.full(len(features), 8.0)])
    plain = cls(8, random_state=0).fit(features, labels).transform(features)
    np.testing.assert_array_equal(cls(8, random_state=0).fit(wider, labels).transform(wider), plain)


@both_methods
@pytest.mark.parametrize("value", [0, 1.5, "many", None])
@pytest.mark.parametrize("name", ["n_anchors", "n_iterations"])
def test_a_wrong_count_is_one_clear_sentence(cls: type[KernelHasher], name: str, value: object) -> None:
    with pytest.raises(UserError, match=rf"{name} of {cls.__name__} must be a whole number of at least 1: got"):
        cls(8).set_params(**{name: value}).fit(*two_classes())


@both_methods
@pytest.mark.parametrize("value", [0, -0.3, np.inf, np.nan, "wide"])
def test_a_wrong_width_is_one_clear_sentence(cls: type[KernelHasher], value: object) -> None:
    with pytest.raises(UserError, match=rf"width of {cls.__name__} must be a number above 0: got"):
        cls(8, bandwidth=value).fit(*two_classes())  # type: ignore[call-arg]
