import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drlh.core.errors import UserError
from drlh.core.files import write_npz
from drlh.data import load
from drlh.data.base import DataSet

X = np.arange(12, dtype=np.float32).reshape(4, 3)
Y = np.array([0, 1, 1, 2])


def load_arrays(tmp_path: Path, *, skip_bad: bool = False, **arrays: Any) -> DataSet:
    write_npz(tmp_path / "set.npz", {name: np.asarray(array) for name, array in arrays.items()})
    return load(tmp_path / "set.npz", skip_bad=skip_bad)


def features_of(dataset: DataSet) -> Any:
    assert dataset.features is not None
    assert dataset.features.dtype == np.float32
    return dataset.features.tolist()


@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.int64, np.uint64])
def test_x_and_y_become_features_and_class_ids(tmp_path: Path, kind: type) -> None:
    dataset = load_arrays(tmp_path, x=X, y=Y.astype(kind))
    assert dataset.name == "set"
    assert features_of(dataset) == X.tolist()
    assert dataset.labels.dtype == np.int64
    assert dataset.labels.tolist() == Y.tolist()
    assert dataset.classes == ("0", "1", "2")
    assert dataset.test is None


def test_train_and_test_parts_are_joined_and_scaled(tmp_path: Path) -> None:
    raw = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 255]], np.uint8)
    scale = np.array([0.5, 1, 2], np.float32)
    dataset = load_arrays(tmp_path, x_train=raw[:2], y_train=[0, 1], x_test=raw[2:], y_test=[1], scale=scale)
    assert features_of(dataset) == [[0.5, 2, 6], [2, 5, 12], [3.5, 8, 510]]
    assert dataset.test is not None
    assert dataset.test.tolist() == [False, False, True]


def test_big_features_are_mapped_and_not_copied(tmp_path: Path) -> None:
    dataset = load_arrays(tmp_path, x=np.ones((1 << 12, 1 << 7), np.float32), y=np.zeros(1 << 12, np.uint8))
    assert isinstance(dataset.features, np.memmap)


def test_classes_images_and_extractor_are_taken_over(tmp_path: Path) -> None:
    dataset = load_arrays(
        tmp_path,
        x=X,
        y=Y,
        classes=["ant", "bee", "cat", "dog"],
        images=np.full((4, 2, 5, 3), 9, np.uint8),
        extractor=json.dumps({"name": "pixels", "size": 2}),
    )
    assert dataset.classes == ("ant", "bee", "cat", "dog")
    assert dataset.images is not None
    assert dataset.images.read(3).shape == (2, 5, 3)
    assert dataset.extractor == {"name": "pixels", "size": 2}


def test_images_alone_are_a_data_set(tmp_path: Path) -> None:
    dataset = load_arrays(tmp_path, y=Y, images=np.zeros((4, 3, 3), np.uint8))
    assert dataset.features is None
    assert dataset.images is not None


@pytest.mark.parametrize("kind", [np.bool_, np.uint8, np.float32])
def test_multi_hot_labels_stay_multi_hot(tmp_path: Path, kind: type) -> None:
    hot = np.array([[1, 0], [1, 1], [0, 0], [0, 1]])
    dataset = load_arrays(tmp_path, x=X, y=hot.astype(kind), classes=["sea", "sky"])
    assert dataset.is_multilabel
    assert dataset.labels.dtype == np.uint8
    assert dataset.labels.tolist() == hot.tolist()
    assert "no other row is relevant: 1" in dataset.notes[0]


def test_ids_that_start_at_1_leave_no_empty_class(tmp_path: Path) -> None:
    dataset = load_arrays(tmp_path, x=X, y=[[1], [5], [5], [2]])
    assert dataset.classes == ("1", "2", "5")
    assert dataset.labels.tolist() == [0, 2, 2, 1]


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_a_number_that_is_not_finite_is_named_or_left_out(tmp_path: Path, value: float) -> None:
    x = X.astype(np.float64)
    x[2, 1] = value
    with pytest.raises(UserError, match=r"set\.npz: x row 2 holds (nan|inf) at feature 1; .*skip_bad"):
        load_arrays(tmp_path, x=x, y=Y)
    dataset = load_arrays(tmp_path, x=x, y=Y, images=np.zeros((4, 2, 2), np.uint8), skip_bad=True)
    assert features_of(dataset) == X[[0, 1, 3]].tolist()
    assert dataset.labels.tolist() == [0, 1, 2]
    assert dataset.images is not None
    assert dataset.images.name(2) == "set/3"
    assert len(dataset.left_out) == 1


@pytest.mark.parametrize(("classes", "label"), [(["a", "b", "c"], 3), (["a", "b", "c"], -1), (None, -1)])
def test_an_unknown_class_id_is_named_or_left_out(tmp_path: Path, classes: list[str] | None, label: int) -> None:
    arrays: dict[str, Any] = {"x": X, "y": [0, 1, label, 2]} | ({"classes": classes} if classes else {})
    with pytest.raises(UserError, match=f"y row 2 is class id {label}"):
        load_arrays(tmp_path, **arrays)
    dataset = load_arrays(tmp_path, **arrays, skip_bad=True)
    assert dataset.labels.tolist() == [0, 1, 2]
    assert len(dataset.classes) == 3


def test_multi_hot_rows_of_other_numbers_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="y row 1 holds numbers other than 0 and 1"):
        load_arrays(tmp_path, x=X, y=[[0, 1], [0, 2], [1, 0], [1, 1]])


@pytest.mark.parametrize(
    ("arrays", "told"),
    [
        ({"x": X}, "must hold the arrays x and y.*it holds x"),
        ({"x": X, "y": Y[:3]}, "x has 4 rows and y has 3"),
        ({"x": X, "y": Y, "images": np.zeros((3, 2, 2), np.uint8)}, "images has 3 rows and y has 4"),
        ({"x": X[0], "y": Y}, "x must be a matrix of numbers"),
        ({"x": X.astype(str), "y": Y}, "x must be a matrix of numbers"),
        ({"x": X, "y": Y.astype(float)}, "y must be whole class ids"),
        ({"x": X, "y": Y, "scale": [1.0, 2.0]}, "scale must be one number or 3 numbers"),
        ({"x": X, "y": np.eye(4, dtype=int), "classes": ["a"]}, "4 columns and classes 1 names"),
        ({"x": X, "y": Y, "classes": ["a", "a", "b"]}, "a list of different names"),
        ({"x": X, "y": Y, "extractor": "{no json"}, "extractor must be JSON text"),
        ({"x": X, "y": Y, "extractor": "[1]"}, "extractor must be a JSON object"),
        ({"x": X, "y": Y, "images": np.zeros((4, 2, 2, 4), np.uint8)}, "images must be uint8"),
        ({"x": X[:0], "y": Y[:0]}, "no usable row"),
        ({"x_train": X, "y_train": Y[:2], "x_test": X, "y_test": Y}, "rows must agree"),
        ({"x_train": X, "y_train": Y, "x_test": X[:, :2], "y_test": Y}, "3 features and x_test 2"),
        ({"x_train": X, "y_train": Y, "x_test": X, "y_test": np.eye(4, dtype=int)}, "must be of one kind"),
    ],
)
def test_arrays_that_do_not_fit_are_refused_in_a_sentence(tmp_path: Path, arrays: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError, match=told):
        load_arrays(tmp_path, **arrays)


def test_pickled_arrays_and_other_files_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "objects.npz", x=np.array([{}], object), y=[0])
    (tmp_path / "text.npz").write_text("no archive")
    for name in ("objects.npz", "text.npz"):
        with pytest.raises(UserError, match="cannot be read as an NPZ file of plain arrays"):
            load(tmp_path / name)
