"""ITQ against scipy, against faiss, and against its own objective."""

from itertools import pairwise

import faiss
import numpy as np
import pytest
from scipy.linalg import expm, orthogonal_procrustes
from sklearn.datasets import load_digits

from drlh.core.errors import UserError
from drlh.hashers.classic.itq import ITQ, improve_rotation, principal_directions, procrustes, quantization_error


def correlated(n: int = 2000, n_features: int = 32, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    scales = np.geomspace(3, 0.1, n_features)
    features = rng.normal(size=(n, n_features)) * scales @ rng.normal(size=(n_features, n_features))
    return features / features.std()


def digits() -> np.ndarray:
    pixels = load_digits().data
    return pixels / pixels.std()


def points_of(features: np.ndarray, n_bits: int = 16) -> np.ndarray:
    """Principal components, rounded to float32: what faiss is given is then exactly what we take."""
    centred = features - features.mean(axis=0)
    return (centred @ principal_directions(centred, n_bits)).astype(np.float32).astype(np.float64)


def first_rotation(seed: int, n_bits: int = 16) -> np.ndarray:
    return procrustes(np.random.default_rng(seed).standard_normal((n_bits, n_bits)))


def corners_of(points: np.ndarray) -> np.ndarray:
    return np.where(points > 0, 1.0, -1.0)


def rotated_by_faiss(points: np.ndarray, rotation: np.ndarray, n_iterations: int) -> np.ndarray:
    theirs = faiss.ITQMatrix(points.shape[1])
    theirs.max_iter = n_iterations
    faiss.copy_array_to_vector(rotation.ravel(), theirs.init_rotation)
    theirs.train(points.astype(np.float32))
    return theirs.apply(points.astype(np.float32)).astype(np.float64)


every_data = pytest.mark.parametrize("features", [correlated(), digits()], ids=["correlated", "digits"])


@every_data
@pytest.mark.parametrize("seed", [0, 1])
def test_from_the_same_rotation_fifty_rounds_end_where_scipys_procrustes_ends(features: np.ndarray, seed: int) -> None:
    points, rotation = points_of(features), first_rotation(seed)
    ours = improve_rotation(points, rotation, 50)
    for _ in range(50):
        rotation, _ = orthogonal_procrustes(points, corners_of(points @ rotation))
    assert quantization_error(points @ ours) == pytest.approx(quantization_error(points @ rotation), rel=1e-6)
    np.testing.assert_allclose(ours, rotation, atol=1e-6)


@every_data
def test_faiss_and_we_measure_the_same_error_of_the_same_rotation(features: np.ndarray) -> None:
    points, rotation = points_of(features), first_rotation(0)
    theirs = quantization_error(rotated_by_faiss(points, rotation, 0))
    assert theirs == pytest.approx(quantization_error(points @ rotation), rel=1e-5)


@every_data
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_from_the_same_rotation_the_error_ends_no_higher_than_that_of_faiss(features: np.ndarray, seed: int) -> None:
    # Not "the same as": with the SVD U S V^T, faiss 1.15.1 takes U V for its next rotation where the Procrustes
    # problem asks for U V^T, so its error does not even fall from round to round.
    points, rotation = points_of(features), first_rotation(seed)
    ours = quantization_error(points @ improve_rotation(points, rotation, 50))
    assert ours < 1.0001 * quantization_error(rotated_by_faiss(points, rotation, 50))


@every_data
def test_no_other_rotation_is_nearer_to_fixed_corners(features: np.ndarray) -> None:
    points, start, rng = points_of(features), first_rotation(0), np.random.default_rng(0)
    corners = corners_of(points @ start)
    best = procrustes(points.T @ corners)

    def distance(rotated: np.ndarray) -> float:
        return float(np.square(corners - rotated).sum())

    assert distance(points @ best) < distance(points @ start)
    assert distance(points @ best) < 1.0001 * distance(rotated_by_faiss(points, start, 1))
    for size in np.geomspace(1e-3, 3, 30):
        skew = rng.standard_normal((16, 16)) * size
        assert distance(points @ best) < distance(points @ best @ expm(skew - skew.T))


def test_fit_runs_these_rounds_on_the_centred_principal_components() -> None:
    features = correlated()
    hasher = ITQ(16, random_state=3).fit(features)
    centred = features - features.mean(axis=0)
    components = principal_directions(centred, 16)
    rotation = improve_rotation(centred @ components, first_rotation(3), 50)
    np.testing.assert_allclose(hasher.projection_, components @ rotation, atol=1e-9)
    np.testing.assert_array_equal(hasher.transform(features), centred @ components @ rotation > 0)


def test_more_rounds_never_raise_the_quantization_error() -> None:
    features = correlated()
    errors = [
        ITQ(12, n_iterations=rounds, random_state=1).fit(features).quantization_error_ for rounds in range(0, 30, 3)
    ]
    assert all(later <= earlier + 1e-9 for earlier, later in pairwise(errors))
    assert errors[-1] < 0.97 * errors[0]


def test_more_bits_than_features_still_give_balanced_bits_beyond_the_features() -> None:
    codes = ITQ(20, random_state=0).fit_transform(correlated(n_features=6))
    assert (abs(codes.mean(axis=0) - 0.5) < 0.2).all()
    assert len(np.unique(codes, axis=1).T) > 12


def test_constant_columns_change_no_code() -> None:
    features = correlated(n_features=8)
    with_constants = np.column_stack([features, np.full(len(features), 1e6), np.zeros(len(features))])
    codes = ITQ(6, random_state=0).fit_transform(features)
    np.testing.assert_array_equal(ITQ(6, random_state=0).fit_transform(with_constants), codes)


@pytest.mark.parametrize("n_iterations", [-1, 2.5, "many", None])
def test_a_wrong_number_of_rounds_is_one_clear_sentence(n_iterations: object) -> None:
    with pytest.raises(UserError, match=r"^n_iterations of ITQ must be a whole number of at least 0: got "):
        ITQ(4, n_iterations=n_iterations).fit(correlated(50))
