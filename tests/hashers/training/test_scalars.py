import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drlh.core.errors import UserError
from drlh.hashers.methods import make_hasher

pytest.importorskip("tensorboard")

EVERY_EPOCH = {"epsilon", "loss", "mean_return", "mean_steps", "stopped", "end_distance"}
both_agents = pytest.mark.parametrize("method", ["drlh", "drlh-paper"])


def blobs(n: int = 160, n_classes: int = 4, n_features: int = 12) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    labels = np.arange(n) % n_classes
    return rng.normal(0, 2, (n_classes, n_features))[labels] + rng.normal(0, 1, (n, n_features)), labels


def logged(directory: Path, method: str = "drlh", **parameters: Any) -> dict[str, list[Any]]:
    """Scalar events by name of a short run."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    sizes = {"hidden_size": 32, "batch_size": 40, "n_epochs": 4}
    make_hasher(method, 16, log_dir=str(directory), random_state=0, **sizes, **parameters).fit(*blobs())
    log = EventAccumulator(str(directory)).Reload()
    return {name: log.Scalars(name) for name in log.Tags()["scalars"]}


@both_agents
def test_scalars_of_every_epoch_go_to_the_log_directory(method: str, tmp_path: Path) -> None:
    threads = threading.active_count()
    scalars = logged(tmp_path / "log", method)
    assert threading.active_count() == threads
    assert set(scalars) == EVERY_EPOCH
    for events in scalars.values():
        assert [event.step for event in events] == [0, 1, 2, 3]
        assert np.isfinite([event.value for event in events]).all()
    assert scalars["epsilon"][0].value == 1


@both_agents
def test_images_held_out_are_probed_after_every_epoch(method: str, tmp_path: Path) -> None:
    scalars = logged(tmp_path / "log", method, validation_fraction=0.25)
    assert set(scalars) == EVERY_EPOCH | {"probe_map"}
    assert all(0 < event.value <= 1 for event in scalars["probe_map"])


def test_the_agent_ends_nearer_to_its_codeword_as_it_learns(tmp_path: Path) -> None:
    distances = [event.value for event in logged(tmp_path / "log", learning_rate=5e-3)["end_distance"]]
    assert distances[-1] < distances[0]
    assert 0 <= distances[-1] < 8  # half of the bits are wrong by chance


def test_a_log_directory_that_cannot_be_written_is_one_clear_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="cannot write to log_dir"):
        logged(tmp_path / "file" / "log")
