"""What the base class gives every hasher beyond its contract: a score, names of the codes, refused parameters."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV

from drlh.core.errors import UserError
from drlh.evaluate.metrics import average_precisions, mean_average_precision
from drlh.hashers.classic.itq import ITQ
from drlh.hashers.drlh.hasher import DRLH


def rows(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    features, labels = load_digits(return_X_y=True)
    return features[:n], labels[:n]


def test_the_score_is_the_map_of_each_row_among_the_others() -> None:
    features, labels = rows()
    hasher = ITQ(12, random_state=0).fit(features)
    codes = hasher.transform(features)
    each = []
    for row in range(len(codes)):
        others = np.arange(len(codes)) != row
        each.append(average_precisions(codes[[row]], labels[[row]], codes[others], labels[others])[0])
    assert hasher.score(features, labels) == pytest.approx(np.mean(each))
    assert hasher.score(features, np.array([f"digit {label}" for label in labels])) == pytest.approx(np.mean(each))


def test_the_score_of_several_labels_leaves_the_row_itself_out() -> None:
    features, _ = rows(40)
    hot = (np.random.default_rng(0).random((40, 4)) < 0.4).astype(np.uint8)  # some rows have no label at all
    hasher = ITQ(12, random_state=0).fit(features)
    codes, each = hasher.transform(features), []
    for row in range(40):
        others = np.arange(40) != row
        each.append(average_precisions(codes[[row]], hot[[row]], codes[others], hot[others])[0])
    assert hasher.score(features, hot) == pytest.approx(np.mean(each))


def test_a_score_without_matching_labels_is_refused() -> None:
    features, labels = rows()
    hasher = ITQ(12, random_state=0).fit(features)
    with pytest.raises(UserError, match="at least 2 rows, each with its labels: got 60 and 59"):
        hasher.score(features, labels[:-1])


def test_a_grid_search_chooses_the_epochs() -> None:
    features, labels = rows(300)
    grid = {"n_epochs": [2, 4]}
    search = GridSearchCV(DRLH(n_bits=16, hidden_size=64, random_state=0), grid, cv=2).fit(features, labels)
    scores = search.cv_results_["mean_test_score"]
    assert ((scores > 0.2) & (scores <= 1)).all()
    assert search.best_params_["n_epochs"] == grid["n_epochs"][int(scores.argmax())]


def test_metrics_take_the_class_names_that_fit_takes() -> None:
    features, labels = rows()
    codes, names = ITQ(12, random_state=0).fit(features).transform(features), np.array(list("abcdefghij"))[labels]
    by_name = mean_average_precision(codes[:20], names[:20], codes[20:], names[20:])
    assert by_name == mean_average_precision(codes[:20], labels[:20], codes[20:], labels[20:])
    objects = names.astype(object)
    assert by_name == mean_average_precision(codes[:20], objects[:20], codes[20:], names[20:])
