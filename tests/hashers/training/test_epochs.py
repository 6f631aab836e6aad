"""The network of a fitted hasher is built once, and never outlives the attributes it was built from."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from drlh.hashers.methods import make_hasher
from drlh.hashers.training import checkpoint, epochs

SIZES: dict[str, dict[str, Any]] = {
    "drlh": {"hidden_size": 8, "ensemble_size": 2},
    "drlh-paper": {"hidden_size": 8, "batch_size": 32},
    "greedyhash": {"hidden_size": 8},
}
every_kind = pytest.mark.parametrize("method", SIZES)


def blobs(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    labels = np.arange(60) % 3
    return 3 * np.eye(3)[labels] + np.random.default_rng(seed).normal(size=(60, 3)), labels


def fitted(method: str, seed: int = 0) -> Any:
    return make_hasher(method, 8, n_epochs=1, random_state=seed, **SIZES[method]).fit(*blobs())


@every_kind
def test_repeated_encoding_builds_one_network(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    hasher, built = fitted(method), []
    module = type(hasher).__module__ if method != "greedyhash" else "drlh.hashers.deep.hasher"
    build = checkpoint.build_from_arrays
    monkeypatch.setattr(f"{module}.build_from_arrays", lambda *given: built.append(1) or build(*given))
    before = set(vars(hasher))
    for row in range(5):
        hasher.transform(blobs()[0][row : row + 1])
    if method != "greedyhash":
        hasher.walk(blobs()[0][0])
    assert len(built) == 1
    assert set(vars(hasher)) == before


@every_kind
def test_fitting_again_and_setting_attributes_discard_it(method: str) -> None:
    hasher, other, features = fitted(method), fitted(method, seed=5), blobs()[0]
    first = hasher.transform(features)
    again = hasher.set_params(random_state=5).fit(*blobs()).transform(features)
    np.testing.assert_array_equal(again, other.transform(features))
    for name, value in vars(fitted(method)).items():
        setattr(hasher, name, value)
    np.testing.assert_array_equal(hasher.transform(features), first)


@every_kind
def test_copies_build_their_own(method: str) -> None:
    hasher, features = fitted(method), blobs()[0]
    codes = hasher.transform(features)
    pickled = pickle.loads(pickle.dumps(hasher))  # noqa: S301 (our own bytes)
    for copied in (copy.copy(hasher), copy.deepcopy(hasher), pickled):
        assert copied not in epochs._BUILT
        np.testing.assert_array_equal(copied.transform(features), codes)
    assert clone(hasher) not in epochs._BUILT
    assert hasher in epochs._BUILT
