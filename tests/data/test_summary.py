import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from drlh.data import ArrayImages, DataSet, check_images, describe, load, subset

Write = Callable[[Path, int], Path]


def test_describe_tells_rows_classes_and_what_there_is_to_work_with() -> None:
    pixels = np.zeros((4, 8, 6), np.uint8)
    dataset = DataSet(
        name="four",
        labels=np.array([0, 2, 2, 0]),
        classes=("a", "b", "c"),
        images=ArrayImages(pixels, "four"),
        features=np.zeros((4, 7), np.float32),
        test=np.array([True, False, False, False]),
        notes=("odd",),
    )
    told = describe(dataset)
    assert told == json.loads(json.dumps(told))
    assert told["classes"] == [{"name": "a", "rows": 2}, {"name": "b", "rows": 0}, {"name": "c", "rows": 2}]
    assert (told["rows"], told["test_rows"], told["n_features"], told["notes"]) == (4, 1, 7, ["odd"])
    assert told["picture_shape"] == describe(subset(dataset, [0]))["picture_shape"] == [8, 6]
    assert told["multilabel"] is False


def test_describe_tells_how_many_labels_a_row_carries() -> None:
    hot = np.array([[1, 1, 0], [1, 0, 0]], np.uint8)
    told = describe(DataSet("two", hot, ("a", "b", "c"), features=np.zeros((2, 1), np.float32)))
    assert told["multilabel"] is True
    assert told["labels_per_row"] == 1.5
    assert [entry["rows"] for entry in told["classes"]] == [2, 1, 0]
    assert told["images"] is False


def test_check_images_names_each_broken_picture(tmp_path: Path, write_picture: Write) -> None:
    write_picture(tmp_path / "a" / "0.png", 1)
    whole = write_picture(tmp_path / "a" / "1.png", 1).read_bytes()
    (tmp_path / "a" / "1.png").write_bytes(whole[:40])
    (tmp_path / "a" / "2.jpg").write_text("no picture")
    seen: list[tuple[int, int]] = []
    sentences = check_images(load(tmp_path), lambda done, total, what: seen.append((done, total)))
    assert len(sentences) == 2
    assert "1.png (row 1)" in sentences[0]
    assert "2.jpg (row 2)" in sentences[1]
    assert seen == [(1, 3), (2, 3), (3, 3)]
