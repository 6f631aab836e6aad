"""Codes are codewords of what the classifier predicts."""

import numpy as np
import pytest

from drlh.core.errors import UserError
from drlh.evaluate.metrics import mean_average_precision
from drlh.hashers.controls.onehot import OneHot


def blobs(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 5, n)
    centres = np.random.default_rng(99).normal(0, 1.5, (5, 10))
    return centres[labels] + rng.normal(size=(n, 10)), labels + 10


def with_posteriors_as_features(codewords: list[list[int]], one_label: bool) -> OneHot:
    """A hasher whose features are the logits of the classes."""
    hasher = OneHot(len(codewords[0]))
    hasher.codewords_ = np.array(codewords, np.int8)
    hasher.weights_, hasher.bias_, hasher.one_label_ = np.eye(len(codewords)), np.zeros(len(codewords)), one_label
    return hasher


def test_each_image_gets_the_codeword_of_the_class_that_is_predicted() -> None:
    features, labels = blobs(300, 0)
    hasher = OneHot(16, random_state=0).fit(features, labels)
    codes = hasher.transform(features)
    predicted = hasher.predict_posterior(features).argmax(axis=1)
    np.testing.assert_array_equal(codes, (hasher.codewords_ > 0)[predicted])
    assert len(np.unique(codes, axis=0)) == 5
    assert (hasher.classes_[predicted] == labels).mean() > 0.9


WORDS = [[1, 1, 1, -1], [1, -1, -1, 1], [-1, -1, 1, 1]]


@pytest.mark.parametrize(
    ("logits", "code"),
    [
        ([2, -1, -1], [1, 1, 1, 0]),  # one label
        ([-1, -2, -3], [1, 1, 1, 0]),  # none above one half: the most probable
        ([2, 1, 3], [1, 0, 1, 1]),  # all three: the majority, the third counting once and a half
        ([3, 1, 2], [1, 0, 1, 1]),
        ([3, 1, -1], [1, 1, 1, 0]),  # two that differ in three bits: the more probable decides
        ([1, 3, -1], [1, 0, 0, 1]),
    ],
)
def test_several_labels_vote_and_the_most_probable_breaks_ties(logits: list[int], code: list[int]) -> None:
    hasher = with_posteriors_as_features(WORDS, one_label=False)
    np.testing.assert_array_equal(hasher._encode(np.array([logits], float)), [code])


@pytest.mark.parametrize("logits", [[0.1, 0.0, 0.05], [9.0, 0.0, 0.0]])
def test_one_label_is_the_codeword_alone_whether_above_one_half_or_not(logits: list[float]) -> None:
    hasher = with_posteriors_as_features(WORDS, one_label=True)
    np.testing.assert_array_equal(hasher._encode(np.array([logits])), [[1, 1, 1, 0]])


def test_it_learns_and_with_shuffled_labels_it_does_not() -> None:
    (features, labels), (query, query_labels) = blobs(500, 0), blobs(200, 1)
    shuffled = np.random.default_rng(0).permutation(labels)
    found = []
    for y in (labels, shuffled):
        hasher = OneHot(12, random_state=0).fit(features, y)
        codes = hasher.transform(query), hasher.transform(features)
        found.append(mean_average_precision(codes[0], query_labels, codes[1], labels))
    assert found[0] > 0.85
    assert found[1] < 0.5


def test_several_labels_are_learned() -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(500, 8))
    labels = (features[:, :4] > 0.7).astype(np.uint8)
    labels[np.arange(500), features[:, :4].argmax(axis=1)] = 1
    hasher = OneHot(24, random_state=0).fit(features[:400], labels[:400])
    codes = hasher.transform(features)
    value = mean_average_precision(codes[400:], labels[400:], codes[:400], labels[:400])
    mixed = mean_average_precision(codes[400:], rng.permutation(labels[400:]), codes[:400], labels[:400])
    assert value > mixed + 0.2


def test_as_few_bits_as_tell_the_classes_apart_will_do_and_fewer_are_refused() -> None:
    features, labels = blobs(200, 0)
    assert len(np.unique(OneHot(3, random_state=0).fit(features, labels).transform(features), axis=0)) == 5
    with pytest.raises(UserError, match="5 classes need at least 3 bits to differ: got n_bits=2"):
        OneHot(2).fit(features, labels)
    two = labels % 2
    assert set(OneHot(1, random_state=0).fit(features, two).transform(features).ravel()) == {0, 1}
