"""Codes are sides of random hyperplanes among the posteriors."""

import numpy as np
import pytest

from drlh.evaluate.metrics import mean_average_precision
from drlh.hashers.controls.score_lsh import ScoreLSH


def blobs(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 5, n)
    centres = np.random.default_rng(99).normal(0, 1.5, (5, 10))
    return centres[labels] + 1.5 * rng.normal(size=(n, 10)), labels


def test_a_bit_is_the_side_of_a_hyperplane_through_the_mean_posterior() -> None:
    hasher = ScoreLSH(3)
    hasher.weights_, hasher.bias_, hasher.one_label_ = np.eye(2), np.zeros(2), True
    hasher.mean_ = np.array([0.25, 0.75])
    hasher.directions_ = np.array([[1.0, -1.0, 0.0], [0.0, 0.0, 1.0]])
    logits = np.log([[0.3, 0.7], [0.2, 0.8], [0.25, 0.75]])
    codes = hasher._encode(logits)
    np.testing.assert_array_equal(codes[:2], [[1, 0, 0], [0, 1, 1]])


@pytest.mark.parametrize("n_bits", [1, 3, 5, 32])
def test_directions_are_a_rotation_or_a_tight_frame(n_bits: int) -> None:
    directions = ScoreLSH(n_bits, random_state=0).fit(*blobs(200, 0)).directions_
    assert directions.shape == (5, n_bits)
    product = directions.T @ directions if n_bits <= 5 else directions @ directions.T
    np.testing.assert_allclose(product, np.eye(min(n_bits, 5)), atol=1e-12)


def test_an_image_between_two_classes_lies_between_them() -> None:
    hasher = ScoreLSH(64, random_state=0).fit(*blobs(400, 0))
    hasher.weights_, hasher.bias_ = np.eye(5), np.zeros(5)  # features are now the logits
    posteriors = [[0.96, 0.01, 0.01, 0.01, 0.01], [0.485, 0.485, 0.01, 0.01, 0.01], [0.01, 0.96, 0.01, 0.01, 0.01]]
    one, between, other = hasher._encode(np.log(posteriors)).astype(int)
    distances = [(a != b).sum() for a, b in ((one, between), (between, other), (one, other))]
    assert 0 < distances[0] < distances[2]
    assert 0 < distances[1] < distances[2]


def test_it_learns_and_with_shuffled_labels_it_does_not() -> None:
    (features, labels), (query, query_labels) = blobs(500, 0), blobs(200, 1)
    shuffled = np.random.default_rng(0).permutation(labels)
    found = []
    for y in (labels, shuffled):
        hasher = ScoreLSH(24, random_state=0).fit(features, y)
        codes = hasher.transform(query), hasher.transform(features)
        found.append(mean_average_precision(codes[0], query_labels, codes[1], labels))
    assert found[0] > 0.75
    assert found[1] < 0.5


def test_several_labels_are_learned() -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(500, 8))
    labels = (features[:, :4] > 0.7).astype(np.uint8)
    labels[np.arange(500), features[:, :4].argmax(axis=1)] = 1
    codes = ScoreLSH(24, random_state=0).fit(features[:400], labels[:400]).transform(features)
    value = mean_average_precision(codes[400:], labels[400:], codes[:400], labels[:400])
    mixed = mean_average_precision(codes[400:], rng.permutation(labels[400:]), codes[:400], labels[:400])
    assert value > mixed + 0.2
