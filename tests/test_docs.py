"""The Python of README and docs runs as it is printed."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def names_the_pages_use() -> dict[str, Any]:
    """What a reader is taken to have: features and labels, new images, pictures."""
    rng = np.random.default_rng(0)
    labels = np.arange(40) % 4
    pictures = rng.integers(0, 256, (24, 32, 32, 3), dtype=np.uint8)
    several = (rng.random((40, 10)) < 0.3).astype(np.uint8)
    return {
        "X": rng.normal(size=(4, 12))[labels] * 3 + rng.normal(size=(40, 12)),
        "y": labels,
        "X_new": rng.normal(size=(3, 12)),
        "pictures": pictures,
        "labels": np.arange(24) % 3,
        "multi_hot": several,
        "confusions": np.eye(10) * 50 + rng.integers(0, 9, (10, 10)),
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_its_python_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names = names_the_pages_use()
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)
