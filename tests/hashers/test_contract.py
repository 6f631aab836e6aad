"""What every hasher promises, checked for every method in the list."""

import json
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from drlh.core.codes import pack
from drlh.core.errors import UserError
from drlh.core.files import digest
from drlh.hashers.base import Hasher
from drlh.hashers.deep.hasher import DeepHasher
from drlh.hashers.methods import METHODS, Method, hasher_class, make_hasher
from drlh.hashers.model_file import read_model_file, save_hasher

# The contract is not about quality, but for one test of it.
DEEP = {"hidden_size": 16, "n_epochs": 3}
QUICK = {
    "drlh": {"hidden_size": 32, "n_epochs": 4},
    "drlh-paper": {"hidden_size": 16, "batch_size": 64, "n_epochs": 2},
}
LEARNED_DEEP = {"hidden_size": 64, "n_epochs": 12}
LEARNED = {"drlh-paper": {"hidden_size": 64, "batch_size": 64, "n_epochs": 25, "target_update_interval": 100}}
every_method = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)


def blobs(n: int = 300, n_classes: int = 4, n_features: int = 20, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, n)
    centres = np.random.default_rng(99).normal(0, 2, (n_classes, n_features))
    return (centres[labels] + rng.normal(0, 1, (n, n_features))).astype(np.float32), labels


def quick(method: Method, n_bits: int) -> Hasher:
    sizes = DEEP if issubclass(hasher_class(method.name), DeepHasher) else QUICK.get(method.name, {})
    return make_hasher(method.name, n_bits, random_state=0, **sizes)


def fit(method: Method, n_bits: int = 16) -> Hasher:
    return quick(method, n_bits).fit(*blobs())


fitted = lru_cache(fit)  # for tests that only look at it


@every_method
def test_scikit_learn_accepts_the_estimator(method: Method) -> None:
    hasher = quick(method, 8)
    if "n_epochs" in hasher.get_params():
        hasher.set_params(n_epochs=1)  # fitted some fifty times
    results = check_estimator(hasher, on_skip=None)
    assert len(results) > 30


@every_method
@pytest.mark.parametrize("n_bits", [8, 13, 48])
def test_codes_are_0_and_1_of_the_asked_length(method: Method, n_bits: int) -> None:
    codes = fitted(method, n_bits).transform(blobs(50, seed=1)[0])
    assert codes.shape == (50, n_bits)
    assert codes.dtype == np.uint8
    assert set(np.unique(codes)) == {0, 1}


@every_method
def test_transform_of_one_row_equals_its_row_in_the_batch(method: Method) -> None:
    hasher, features = fitted(method), blobs(40, seed=1)[0]
    alone = np.concatenate([hasher.transform(features[row : row + 1]) for row in range(40)])
    np.testing.assert_array_equal(hasher.transform(features), alone)


@every_method
def test_a_model_file_gives_the_same_codes(method: Method, tmp_path: Path) -> None:
    hasher, features = fitted(method), blobs(60, seed=1)[0]
    save_hasher(tmp_path / "model", hasher, {"made": "here"})
    file = read_model_file(tmp_path / "model")
    assert (file.method, file.notes) == (method.name, {"made": "here"})
    loaded = file.hasher
    save_hasher(tmp_path / "again", fit(method), {"made": "here"})
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    assert loaded.get_params() == hasher.get_params()
    np.testing.assert_array_equal(loaded.transform(features), hasher.transform(features))


def codes_digest(method: Method) -> str:
    return digest(pack(fitted(method).transform(blobs(60, seed=1)[0])))


@pytest.fixture(scope="module")
def digests_of_a_fresh_process() -> dict[str, str]:
    """Of all methods at once: a process spends most of its time on imports."""
    script = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); from test_contract import METHODS, codes_digest; "
        "print(json.dumps({method.name: codes_digest(method) for method in METHODS}))"
    )
    fresh = subprocess.run(
        [sys.executable, "-c", script, str(Path(__file__).parent)], capture_output=True, text=True, check=True
    )
    digests: dict[str, str] = json.loads(fresh.stdout)
    return digests


@every_method
def test_the_same_seed_gives_the_same_bytes_in_a_fresh_process(
    method: Method, digests_of_a_fresh_process: dict[str, str]
) -> None:
    assert digests_of_a_fresh_process[method.name] == codes_digest(method)


@every_method
def test_similar_images_get_nearer_codes_than_others(method: Method) -> None:
    features, labels = blobs(200, seed=1)
    deep = LEARNED_DEEP if isinstance(quick(method, 16), DeepHasher) else {}
    hasher = quick(method, 16).set_params(**LEARNED.get(method.name, deep))
    codes = hasher.fit(*blobs()).transform(features).astype(int)
    distances = (codes[:, None] != codes[None]).sum(axis=2)
    same = labels[:, None] == labels[None]
    assert distances[same].mean() < 0.8 * distances[~same].mean()


@every_method
def test_codes_have_the_names_scikit_learn_gives_features(method: Method) -> None:
    hasher = fit(method, 8).set_output(transform="pandas")
    table = hasher.transform(blobs(5, seed=1)[0])
    assert list(table.columns) == [f"{type(hasher).__name__.lower()}{bit}" for bit in range(8)]


@every_method
@pytest.mark.parametrize("n_bits", [0, -1, 1.5, "many"])
def test_a_wrong_n_bits_is_one_clear_sentence(method: Method, n_bits: object) -> None:
    hasher = clone(make_hasher(method.name)).set_params(n_bits=n_bits)
    with pytest.raises(UserError, match=r"n_bits .* must be"):
        hasher.fit(*blobs())
