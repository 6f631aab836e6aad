"""A small NUS-WIDE in the official layout: 12 pictures, 23 concepts, all six kinds of features."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from drlh.core.errors import UserError
from drlh.data import load
from drlh.data.nuswide_features import WIDTHS

N = 12
NAMES = [f"topic{row % 3}\\{row:04d}_{1000 + row}.jpg" for row in range(N)]
TEST = [1, 5, 6, 11]
TRAIN = [row for row in range(N) if row not in TEST]


@pytest.fixture
def labels() -> NDArray[Any]:
    """Concept c is on the first c // 2 + 1 pictures: c0, c1 are the rarest, and pictures 12 and later have none."""
    hot = np.zeros((N, 23), np.uint8)
    for concept in range(23):
        hot[: concept // 2 + 1, concept] = 1
    hot[9:] = 0
    hot[11, 0] = 1  # carries only a concept that is not among the 21
    return hot


@pytest.fixture
def features() -> dict[str, NDArray[Any]]:
    rng = np.random.default_rng(5)
    kinds = {kind: rng.random((N, width)).round(4) for kind, width in WIDTHS.items()}
    kinds["BoW"] = rng.integers(0, 30, (N, 500)).astype(float)
    return kinds


@pytest.fixture
def root(tmp_path: Path, labels: NDArray[Any]) -> Path:
    (tmp_path / "ImageList").mkdir()
    (tmp_path / "Groundtruth" / "AllLabels").mkdir(parents=True)
    lists = {"Imagelist": range(N), "TrainImagelist": TRAIN, "TestImagelist": TEST}
    for name, rows in lists.items():
        (tmp_path / "ImageList" / f"{name}.txt").write_text("".join(f"{NAMES[row]}\r\n" for row in rows))
    for concept in range(23):
        column = "".join(f"{value}\r\n" for value in labels[:, concept])
        (tmp_path / "Groundtruth" / "AllLabels" / f"Labels_c{concept:02d}.txt").write_text(column)
    return tmp_path


def write_matrix(path: Path, values: NDArray[Any]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(" ".join(f"{value:g}" for value in row) + " \r\n" for row in values))


def write_whole(root: Path, features: dict[str, NDArray[Any]]) -> None:
    for kind, values in features.items():
        name = "BoW_int" if kind == "BoW" else f"Normalized_{kind}"
        write_matrix(root / "Low_Level_Features" / f"{name}.dat", values)


def test_rows_carry_one_of_the_21_most_frequent_concepts(
    root: Path, labels: NDArray[Any], features: dict[str, NDArray[Any]]
) -> None:
    write_whole(root, features)
    dataset = load("nuswide21", directory=root)
    # c0 is on pictures 0 and 11, c1 only on picture 0, c2 and c3 on two: c1 goes, and c2 is the last to stay.
    frequent = np.sort(np.argsort(-labels.sum(axis=0, dtype=int), kind="stable")[:21])
    assert dataset.classes == tuple(f"c{concept:02d}" for concept in frequent)
    rows = np.flatnonzero(labels[:, frequent].any(axis=1))
    assert dataset.labels.tolist() == labels[rows][:, frequent].tolist()
    assert dataset.features is not None
    assert dataset.features.shape == (len(rows), 1134)
    joined = np.concatenate([features[kind] for kind in WIDTHS], axis=1)[rows]
    assert np.array_equal(dataset.features, joined.astype(np.float32))
    assert dataset.test is not None
    assert dataset.test.tolist() == [row in TEST for row in rows]
    assert "195,834" in dataset.notes[0]


def test_features_in_train_and_test_parts_equal_whole_ones(root: Path, features: dict[str, NDArray[Any]]) -> None:
    write_whole(root, features)
    whole = load(root)
    for path in (root / "Low_Level_Features").iterdir():
        path.unlink()
    for part, rows in (("Train", TRAIN), ("Test", TEST)):
        for kind, values in features.items():
            name = f"BoW_{part}_int" if kind == "BoW" else f"{part}_Normalized_{kind}"
            write_matrix(root / "Low_Level_Features" / f"{name}.dat", values[rows])
    assert np.array_equal(load(root).features, whole.features)  # type: ignore[arg-type]


def test_pictures_alone_are_enough(root: Path) -> None:
    (root / "Flickr").mkdir()
    dataset = load(root)
    assert dataset.features is None
    assert dataset.images is not None
    assert dataset.images.name(4) == "topic1/0004_1004.jpg"


def test_without_features_and_pictures_it_is_refused(root: Path) -> None:
    with pytest.raises(UserError, match="neither the features"):
        load(root)


def test_a_missing_feature_file_is_named(root: Path, features: dict[str, NDArray[Any]]) -> None:
    write_whole(root, features)
    (root / "Low_Level_Features" / "Normalized_WT.dat").unlink()
    with pytest.raises(UserError, match=r"lacks Normalized_WT\.dat"):
        load(root)


@pytest.mark.parametrize("value", ["nan", "x", ""])
def test_a_broken_feature_line_is_named_or_left_out(root: Path, features: dict[str, NDArray[Any]], value: str) -> None:
    write_whole(root, features)
    path = root / "Low_Level_Features" / "Normalized_EDH.dat"
    lines = path.read_text().splitlines(keepends=True)
    lines[3] = lines[3].replace(lines[3].split()[7], value, 1)
    path.write_text("".join(lines))
    with pytest.raises(UserError, match=r"Normalized_EDH\.dat line 4: wanted 73 finite numbers"):
        load(root)
    dataset = load(root, skip_bad=True)
    assert len(dataset.left_out) == 1
    kept = load(root, skip_bad=True).features
    assert kept is not None
    assert np.array_equal(kept[:3, :64], features["CH"][:3].astype(np.float32))
    assert np.array_equal(kept[3:6, :64], features["CH"][4:7].astype(np.float32))


@pytest.mark.parametrize("n_lines", [N - 1, N + 1])
def test_a_feature_file_of_the_wrong_length_is_named(
    root: Path, features: dict[str, NDArray[Any]], n_lines: int
) -> None:
    write_whole(root, features)
    write_matrix(root / "Low_Level_Features" / "Normalized_CORR.dat", np.zeros((n_lines, 144)))
    with pytest.raises(UserError, match=rf"Normalized_CORR\.dat has {n_lines} lines for {N} pictures"):
        load(root)


def test_a_label_file_of_the_wrong_length_is_named(root: Path) -> None:
    (root / "Groundtruth" / "AllLabels" / "Labels_c05.txt").write_text("0\n1\n")
    with pytest.raises(UserError, match=r"Labels_c05\.txt has 2 labels, and Imagelist.txt 12 pictures"):
        load(root)


def test_a_label_that_is_neither_0_nor_1_is_named_by_its_line(root: Path) -> None:
    (root / "Groundtruth" / "AllLabels" / "Labels_c05.txt").write_text("0\n1\n1\n7\n" + "0\n" * 8)
    with pytest.raises(UserError, match=r"Labels_c05\.txt line 4: wanted 0 or 1, got '7'"):
        load(root)


def test_a_missing_image_list_is_named(root: Path) -> None:
    (root / "ImageList" / "Imagelist.txt").unlink()
    with pytest.raises(UserError, match=r"Imagelist\.txt is missing"):
        load(root)
