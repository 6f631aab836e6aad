"""From a name or a path to a data set with features."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from drlh.core.errors import UserError
from drlh.features import load_features


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    for number, kind in enumerate(("ant", "bee")):
        (tmp_path / "photos" / kind).mkdir(parents=True)
        Image.new("RGB", (12, 10), (number * 200, 9, 9)).save(tmp_path / "photos" / kind / "1.png")
    return tmp_path / "photos"


def test_digits_get_gray8_by_default() -> None:
    dataset = load_features("digits")
    assert dataset.features is not None
    assert dataset.features.shape == (1797, 64)
    assert dataset.extractor is not None
    assert dataset.extractor["name"] == "gray8"


def test_other_images_get_lite0_by_default(photos: Path) -> None:
    dataset = load_features(photos)
    assert dataset.features is not None
    assert dataset.features.shape == (2, 1280)
    assert dataset.extractor is not None
    assert dataset.extractor["name"] == "lite0"


def test_named_features_are_taken(photos: Path) -> None:
    dataset = load_features(photos, "gray2", flip=True)
    assert dataset.extractor == {"name": "gray2", "version": 1, "flip": True}


@pytest.mark.parametrize(("backbone", "n_features"), [("cnn-small", 3 * 32**2), ("alexnet", 3 * 224**2)])
def test_a_backbone_gets_the_pixels_it_takes(photos: Path, backbone: str, n_features: int) -> None:
    dataset = load_features(photos, backbone=backbone)
    assert dataset.features is not None
    assert dataset.features.shape == (2, n_features)


def test_features_that_are_there_stay(tmp_path: Path) -> None:
    rows = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.savez(tmp_path / "mine.npz", x=rows, y=[0, 1, 1])
    dataset = load_features(tmp_path / "mine.npz", backbone="cnn-small")
    assert np.array_equal(np.asarray(dataset.features), rows)


def test_a_broken_picture_is_an_error_or_left_out(photos: Path) -> None:
    (photos / "ant" / "2.png").write_bytes(b"no picture")
    with pytest.raises(UserError, match=r"2\.png \(row 1\) is not a readable picture.*skip_bad"):
        load_features(photos, "gray2")
    dataset = load_features(photos, "gray2", skip_bad=True)
    assert len(dataset) == 2
    assert len(dataset.left_out) == 1
