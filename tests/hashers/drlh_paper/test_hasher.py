"""What the paper's agent alone promises; see `drlh/test_hasher.py` for both agents."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drlh.core.codes import pack
from drlh.core.files import digest
from drlh.hashers.drlh_paper.hasher import DRLHPaper
from drlh.hashers.model_file import load_hasher, save_hasher


def blobs(n: int = 160, n_classes: int = 4, n_features: int = 12) -> tuple[np.ndarray, np.ndarray]:
    labels = np.arange(n) % n_classes
    centres = np.random.default_rng(99).normal(0, 2, (n_classes, n_features))
    return centres[labels] + np.random.default_rng(0).normal(0, 1, (n, n_features)), labels


def small(n_bits: int = 16, **parameters: Any) -> DRLHPaper:
    sizes: dict[str, Any] = {"n_epochs": 4, "hidden_size": 16, "batch_size": 64, "target_update_interval": 20}
    return DRLHPaper(n_bits, random_state=0, **(sizes | parameters))


def codes_digest() -> str:
    features, labels = blobs()
    return digest(pack(small().fit(features, labels).transform(features)))


def test_it_gives_the_same_bytes_in_a_fresh_process() -> None:
    script = "import sys; sys.path.insert(0, sys.argv[1]); from test_hasher import codes_digest; print(codes_digest())"
    fresh = subprocess.run(
        [sys.executable, "-c", script, str(Path(__file__).parent)], capture_output=True, text=True, check=True
    )
    assert fresh.stdout.strip() == codes_digest()


@pytest.mark.parametrize(
    "parameters", [{}, {"max_flips": 2, "n_bits": 8}, {"double_q": True, "huber": True, "guided": False}]
)
def test_a_model_file_gives_the_same_codes_and_walks(parameters: dict[str, Any], tmp_path: Path) -> None:
    features, labels = blobs()
    hasher = small(**parameters).fit(features, labels)
    save_hasher(tmp_path / "model", hasher)
    loaded = load_hasher(tmp_path / "model")
    assert isinstance(loaded, DRLHPaper)
    assert loaded.get_params() == hasher.get_params()
    np.testing.assert_array_equal(loaded.transform(features), hasher.transform(features))
    np.testing.assert_array_equal(loaded.walk(features[0]).codes, hasher.walk(features[0]).codes)


def test_its_defaults_are_the_papers_where_the_paper_gives_them() -> None:
    parameters = DRLHPaper().get_params()
    given = {"codebook": "bch-paper", "n_epochs": 25, "sigma": 5.0, "max_flips": 1, "guided": True, "max_steps": None}
    assert {name: parameters[name] for name in given} == given
