"""A small model, and pictures enough for a few blocks."""

from pathlib import Path

import numpy as np
import pytest

from drlh.data.base import ArrayImages, DataSet, FileImages
from drlh.features import make_extractor, with_features
from drlh.model import Model

N = 1300  # three blocks


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("DRLH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def pixels() -> DataSet:
    images = ArrayImages(np.random.default_rng(0).integers(0, 256, (N, 8, 8), dtype=np.uint8), "noise")
    return DataSet("noise", np.arange(N) % 3, ("a", "b", "c"), images)


@pytest.fixture
def model(pixels: DataSet, tmp_path: Path) -> Path:
    few = DataSet("few", pixels.labels[:50], pixels.classes, ArrayImages(pixels.images.pixels[:50], "few"))
    Model.fit(with_features(few, make_extractor("gray4")), "lsh", 20).save(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def files(tmp_path: Path) -> DataSet:
    """1,300 rows, every one of which is one of four small files; the second is broken."""
    from PIL import Image

    (tmp_path / "files").mkdir()
    for number in range(4):
        picture = np.random.default_rng(number).integers(0, 256, (8, 8, 3), dtype=np.uint8)
        Image.fromarray(picture).save(tmp_path / "files" / f"{number}.png")
    (tmp_path / "files" / "1.png").write_bytes(b"not a picture")
    names = [f"{0 if row != 600 else 1}.png" for row in range(N)]
    return DataSet("files", np.arange(N) % 3, ("a", "b", "c"), FileImages(tmp_path / "files", names))
