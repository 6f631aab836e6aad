"""What the paper's agent alone promises; see `drlh/test_hasher.py` for both agents."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from drlh.core.codes import pack
from drlh.core.errors import UserError
from drlh.core.files import digest
from drlh.evaluate.metrics import mean_average_precision
from drlh.hashers.drlh_paper.hasher import DRLHPaper
from drlh.hashers.drlh_paper.reward import class_likeness
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


# What the paper leaves to later work.
OPTIONS: dict[str, dict[str, Any]] = {
    "pairs later": {"max_flips": 2, "n_bits": 8, "pairs_from": 2},
    "composed pairs": {"max_flips": 2, "n_bits": 8, "composed_pairs": True},
    "relative": {"relative_actions": True},
    "correlated": {"label_correlation": 1.0},
    "fastfood": {"layer": "fastfood"},
    "tensor-train": {"layer": "tensor-train"},
}


@pytest.mark.parametrize(
    "parameters",
    [{}, {"max_flips": 2, "n_bits": 8}, {"double_q": True, "huber": True, "guided": False}, *OPTIONS.values()],
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


def test_the_papers_later_work_is_off_unless_asked_for() -> None:
    parameters = DRLHPaper().get_params()
    off = {
        "pairs_from": 0, "composed_pairs": False, "relative_actions": False, "label_correlation": 0.0, "layer": "dense",
    }  # fmt: skip
    assert {name: parameters[name] for name in off} == off


def learned(shuffled: bool = False, **parameters: Any) -> float:
    """mAP of new images by true labels; more than a quarter even with shuffled ones, as codes follow the image."""
    features, labels = blobs()
    given = np.random.default_rng(0).permutation(labels) if shuffled else labels
    sizes = {"n_epochs": 12, "hidden_size": 64, "batch_size": 20, "dropout": 0.0, "feature_dropout": 0.0}
    hasher = small(**(sizes | {"learning_rate": 0.1, "gamma": 0.5, "guided": False, "start": "fixed"} | parameters))
    codes = hasher.set_params(n_bits=6).fit(features[:100], given[:100]).transform(features)
    return mean_average_precision(codes[100:], labels[100:], codes[:100], labels[:100])


@pytest.mark.parametrize("parameters", OPTIONS.values(), ids=OPTIONS)
def test_with_each_option_it_learns_from_labels_what_shuffled_ones_do_not_teach(parameters: dict[str, Any]) -> None:
    assert learned(**parameters) > learned(shuffled=True, **parameters) + 0.1


def test_relative_actions_are_refused_with_pairs() -> None:
    with pytest.raises(UserError, match="relative_actions of DRLHPaper must be False unless max_flips is 1: got True"):
        small(max_flips=2, relative_actions=True).fit(*blobs(40))


def test_label_correlations_are_measured_on_the_images_and_change_the_reward_by_their_share() -> None:
    features, labels = blobs()
    margins = []
    for share in (0.0, 0.5, 1.0):
        hasher = small(label_correlation=share, n_epochs=1).fit(features, labels)
        inputs = hasher._inputs(features)
        learner, _ = hasher._learner(inputs, torch.from_numpy(labels), 0)
        likeness = learner.reward.likeness
        if share:
            assert likeness is not None
            torch.testing.assert_close(likeness, (share * class_likeness(inputs, torch.from_numpy(labels), 4)).float())
        else:
            assert likeness is None
        margins.append(learner.reward.margins)
    assert not torch.allclose(margins[0], margins[1])
    assert (margins[2] - margins[0]).abs().sum() > (margins[1] - margins[0]).abs().sum()
