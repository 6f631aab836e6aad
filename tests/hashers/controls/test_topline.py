"""The reference line: posteriors as vectors, and the classifier's accuracy."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from drlh.core.errors import UserError
from drlh.evaluate.metrics import mean_average_precision, score_average_precisions
from drlh.hashers.controls.onehot import OneHot
from drlh.hashers.controls.score_lsh import ScoreLSH
from drlh.hashers.controls.topline import Topline


def blobs(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 5, n)
    centres = np.random.default_rng(99).normal(0, 1.5, (5, 10))
    return centres[labels] + 2.5 * rng.normal(size=(n, 10)), labels + 10


def test_vectors_are_posteriors_and_accuracy_is_that_of_the_largest() -> None:
    (features, labels), (query, query_labels) = blobs(500, 0), blobs(300, 1)
    line = Topline(random_state=0).fit(features, labels)
    vectors = line.query_vectors(query)
    np.testing.assert_array_equal(vectors, line.database_vectors(query))
    np.testing.assert_allclose(vectors.sum(axis=1), 1)
    right = (vectors.argmax(axis=1) + 10 == query_labels).mean()
    assert line.accuracy(query, query_labels) == {"accuracy": right}
    assert right > 0.6


def test_classes_that_were_never_seen_are_never_right() -> None:
    features, labels = blobs(300, 0)
    line = Topline(random_state=0).fit(features, labels)
    assert line.accuracy(features, labels + 100) == {"accuracy": 0}


def test_the_ranking_passes_the_codes_of_the_same_classifier_and_falls_with_shuffled_labels() -> None:
    (features, labels), (query, query_labels) = blobs(600, 0), blobs(300, 1)

    def ranked(y: np.ndarray) -> float:
        line = Topline(random_state=0).fit(features, y)
        vectors = line.query_vectors(query), line.database_vectors(features)
        return float(score_average_precisions(vectors[0], query_labels, vectors[1], labels).mean())

    coded = []
    for hasher in (OneHot(32, random_state=0), ScoreLSH(32, random_state=0)):
        hasher.fit(features, labels)
        codes = hasher.transform(query), hasher.transform(features)
        coded.append(mean_average_precision(codes[0], query_labels, codes[1], labels))
    assert ranked(labels) > max(coded) + 0.01
    assert ranked(np.random.default_rng(0).permutation(labels)) < min(coded) - 0.1


def test_several_labels_give_the_share_of_right_labels_under_a_name_of_its_own() -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(400, 6))
    labels = (features[:, :3] > 0.5).astype(np.uint8)
    line = Topline(random_state=0).fit(features[:300], labels[:300])
    share = ((line.query_vectors(features[300:]) > 0.5) == labels[300:]).mean()
    assert line.accuracy(features[300:], labels[300:]) == {"mean_label_accuracy": share}
    assert share > 0.85


def test_it_refuses_what_is_no_table_of_numbers_and_ranks_nothing_before_it_is_fitted() -> None:
    with pytest.raises(UserError, match="NaN"):
        Topline().fit([[np.nan], [1.0]], [0, 1])
    with pytest.raises(UserError, match="inconsistent"):
        Topline().fit([[0.0], [1.0]], [0, 1, 1])
    with pytest.raises(NotFittedError):
        Topline().query_vectors([[0.0]])
