"""The public surface: complete, typed, and quick to import."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import drlh
from drlh.hashers.methods import METHODS

ROOT = Path(__file__).parents[1]
GOOD = """
import numpy as np
from drlh import DRLH, Index, Model, mean_average_precision, open_index, unpack

hasher = DRLH(n_bits=32, n_epochs=2).fit(np.zeros((4, 3)), np.array(["a", "b", "a", "b"]))
codes = hasher.transform(np.zeros((4, 3)))
value: float = mean_average_precision(codes, np.arange(4), codes, np.arange(4))
model: Model = Model.load("photos.model")
index: Index = open_index("photos-index")
distances, ids = index.search(model.encode(["a.jpg"]), k=10)
bits = unpack(model.encode(np.zeros((1, 3))), model.n_bits)
"""
BAD = {
    "from drlh import DRLH\nDRLH(n_bitz=32)": "n_bitz",
    "from drlh import DRLH\nDRLH(n_bits=32).fitt(1)": "fitt",
    "from drlh import DRLHH": "DRLHH",
    "from drlh import Model\nModel.load(3)": "incompatible type",
    "from drlh import open_index\nopen_index('i').search(1, 2, 3)": "search",
    "from drlh import DTSH\nDTSH(margn=1)": "margn",
}


def test_a_type_checker_accepts_a_good_program_and_finds_the_mistakes_of_bad_ones(tmp_path: Path) -> None:
    cases = ["\n    ".join(text.splitlines()) for text in BAD]
    (tmp_path / "good.py").write_text(GOOD)
    for number, text in enumerate(cases):
        (tmp_path / f"bad{number}.py").write_text(f"def case() -> None:\n    {text}\n")
    # With the project's own settings, so that what `scripts/check` has analysed need not be analysed again.
    command = [sys.executable, "-m", "mypy", "--strict", *sorted(map(str, tmp_path.glob("*.py")))]
    found = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT).stdout
    assert "good.py" not in found, found
    for number, words in enumerate(BAD.values()):
        assert any(f"bad{number}.py" in line and words in line for line in found.splitlines()), found


def test_every_export_is_there() -> None:
    for name in drlh.__all__:
        assert getattr(drlh, name) is not None
    assert {method.class_name for method in METHODS} <= set(drlh.__all__)
    with pytest.raises(AttributeError, match="DRLHH"):
        _ = drlh.DRLHH  # type: ignore[attr-defined]


def test_the_type_checker_sees_the_names_that_are_there() -> None:
    tree = ast.parse(Path(drlh.__file__).read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If) and isinstance(node.test, ast.Name)]
    seen = {alias.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert seen == drlh._HOMES
    assert {*seen, "__version__"} == set(drlh.__all__)


def test_importing_the_package_loads_nothing_heavy() -> None:
    script = "import sys, drlh; print(sorted({'numpy', 'torch', 'sklearn', 'faiss', 'PIL'} & sys.modules.keys()))"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
