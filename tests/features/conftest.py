"""Every test has a cache of its own; pictures are drawn, not stored."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "cache"
    monkeypatch.setenv("DRLH_CACHE", str(place))
    return place


@pytest.fixture
def pictures() -> list[NDArray[np.uint8]]:
    """Twelve smooth and noisy pictures of different sizes."""
    rng = np.random.default_rng(7)
    drawn = []
    for number in range(12):
        height, width = (32, 32) if number < 6 else (20 + 5 * number, 90 - 4 * number)
        y, x = np.mgrid[:height, :width] / 9.0
        waves = [np.sin(a * x + b * y + c) for a, b, c in rng.uniform(-2, 2, (3, 3))]
        noise = rng.normal(0, 12, (height, width, 3))
        drawn.append(np.clip(128 + 90 * np.stack(waves, axis=2) + noise, 0, 255).astype(np.uint8))
    return drawn
