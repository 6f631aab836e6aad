"""What all methods that learn by gradients have in common, checked for each of them."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drlh.core.errors import UserError
from drlh.evaluate.metrics import mean_average_precision
from drlh.hashers.classic.lsh import LSH
from drlh.hashers.deep.hasher import DeepHasher
from drlh.hashers.methods import METHODS, Method, hasher_class, make_hasher

DEEP = [method for method in METHODS if issubclass(hasher_class(method.name), DeepHasher)]
SUPERVISED = [method for method in DEEP if method.supervised]
every_method = pytest.mark.parametrize("method", DEEP, ids=lambda method: method.name)
every_supervised_method = pytest.mark.parametrize("method", SUPERVISED, ids=lambda method: method.name)


def blobs(n: int, seed: int, n_classes: int = 6, noise: float = 2.5) -> tuple[np.ndarray, np.ndarray]:
    """Classes that overlap in every direction but can be told apart."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % n_classes
    centres = np.random.default_rng(7).normal(0, 1.5, (n_classes, 16))
    return np.hstack([centres[labels], np.zeros((n, 8))]) + rng.normal(0, noise, (n, 24)), labels


def several_labels(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = (rng.random((n, 6)) < 0.3).astype(np.uint8)
    centres = np.random.default_rng(7).normal(0, 1.5, (6, 24))
    return labels @ centres + rng.normal(0, 1.5, (n, 24)), labels


def make(method: Method, n_bits: int = 16, **parameters: Any) -> DeepHasher:
    hasher = make_hasher(method.name, n_bits, random_state=0, **({"hidden_size": 64, "n_epochs": 10} | parameters))
    assert isinstance(hasher, DeepHasher)
    return hasher


def score(hasher: Any, data: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]) -> float:
    return mean_average_precision(hasher.transform(data[0]), data[1], hasher.transform(other[0]), other[1])


@every_supervised_method
def test_it_learns_more_than_random_projections_know(method: Method) -> None:
    train, query = blobs(600, 0), blobs(200, 1)
    learned = score(make(method, n_epochs=20).fit(*train), query, train)
    assert learned > score(LSH(16, random_state=0).fit(train[0]), query, train) + 0.15


@every_supervised_method
def test_shuffled_labels_teach_nothing(method: Method) -> None:
    train, query = blobs(600, 0), blobs(200, 1)
    shuffled = np.random.default_rng(0).permutation(train[1])
    fitted = make(method).fit(train[0], shuffled)
    database = blobs(600, 2)
    assert score(fitted, query, database) < score(LSH(16, random_state=0).fit(train[0]), query, database) + 0.03


@every_supervised_method
def test_several_labels_are_learned_as_several(method: Method) -> None:
    if not hasher_class(method.name).multilabel:
        pytest.skip("takes one label for each image")
    train, query = several_labels(600, 0), several_labels(200, 1)
    learned = score(make(method, 24).fit(*train), query, train)
    assert learned > score(LSH(24, random_state=0).fit(train[0]), query, train) + 0.02


@every_method
def test_a_run_taken_up_again_ends_with_the_same_codes(method: Method, tmp_path: Path) -> None:
    train = blobs(200, 0)
    unbroken = make(method, n_epochs=4).fit(*train)

    class Stop(Exception):
        pass

    def stop_in_the_third_epoch(done: int, total: int, what: str) -> None:
        if what.endswith("epochs") and done == 2:
            raise Stop

    with pytest.raises(Stop):
        make(method, n_epochs=4).fit(*train, progress=stop_in_the_third_epoch, resume_from=tmp_path)
    resumed = make(method, n_epochs=4).fit(*train, resume_from=tmp_path)
    for name, weights in unbroken.weights_.items():
        np.testing.assert_array_equal(resumed.weights_[name], weights)
    np.testing.assert_array_equal(resumed.transform(train[0]), unbroken.transform(train[0]))


def test_a_killed_run_goes_on(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys; sys.path.insert(0, sys.argv[1]); from test_hasher import DEEP, blobs, make\n"
        "def kill(done, total, what):\n"
        "    if done == 3: os.kill(os.getpid(), signal.SIGKILL)\n"
        "make(DEEP[0], n_epochs=5).fit(*blobs(200, 0), progress=kill, resume_from=sys.argv[2])"
    )
    ended = subprocess.run([sys.executable, "-c", script, os.path.dirname(__file__), str(tmp_path)], check=False)
    assert ended.returncode == -signal.SIGKILL
    seen = []
    train = blobs(200, 0)
    resumed = make(DEEP[0], n_epochs=5).fit(
        *train, resume_from=tmp_path, progress=lambda done, total, what: seen.append(done)
    )
    assert seen[0] == 3
    unbroken = make(DEEP[0], n_epochs=5).fit(*train)
    np.testing.assert_array_equal(resumed.transform(train[0]), unbroken.transform(train[0]))


def test_learning_stops_when_images_held_out_gain_no_more() -> None:
    epochs: list[int] = []
    hasher = make(DEEP[0], n_epochs=200, validation_fraction=0.3, patience=2)
    hasher.fit(*blobs(200, 0), progress=lambda done, total, what: epochs.append(done))
    assert max(epochs) < 199


def test_own_and_shared_parameters_stand_side_by_side() -> None:
    assert {"alpha", "n_bits", "hidden_size", "n_epochs", "random_state"} <= set(make_hasher("greedyhash").get_params())
    with pytest.raises(UserError, match="GreedyHash has no parameter 'alpah'"):
        make_hasher("greedyhash", alpah=1)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hidden_size", -1), ("dropout", 1.0), ("feature_dropout", -0.1), ("n_epochs", 0), ("batch_size", 1),
        ("feature_power", 0), ("learning_rate", 0), ("weight_decay", -1), ("validation_fraction", 1), ("patience", 0),
        ("n_epochs", "many"),
    ],
)  # fmt: skip
def test_a_wrong_shared_parameter_is_one_clear_sentence(name: str, value: object) -> None:
    with pytest.raises(UserError, match=f"{name} of GreedyHash must be"):
        make_hasher("greedyhash", **{name: value}).fit(*blobs(60, 0))


def test_a_device_that_is_not_here_is_one_clear_sentence() -> None:
    with pytest.raises(UserError, match="device of GreedyHash must be"):
        make_hasher("greedyhash", device="abacus").fit(*blobs(60, 0))


@every_method
def test_it_learns_end_to_end_from_pictures(method: Method) -> None:
    rng = np.random.default_rng(0)
    pictures, labels = rng.integers(0, 256, (48, 32, 32, 3), dtype=np.uint8), np.arange(48) % 3
    pictures[np.arange(48), :, :, labels] //= 4
    fitted = make(method, 8, n_epochs=2, batch_size=16, backbone="cnn-small").fit(pictures, labels)
    codes = fitted.transform(pictures)
    rows = pictures.reshape(48, -1) / np.float32(255)
    assert np.array_equal(fitted.transform(rows), codes)
    if method.supervised:
        assert mean_average_precision(codes, labels, codes, labels) > 0.6
