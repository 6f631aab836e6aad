"""CNN and Q-network that learn together."""

from pathlib import Path

import numpy as np
import pytest

from drlh.cnn.backbones import Body, save_cnn
from drlh.core.errors import UserError
from drlh.evaluate.metrics import mean_average_precision
from drlh.hashers.drlh.hasher import DRLH
from drlh.hashers.methods import make_hasher
from drlh.hashers.model_file import load_hasher, save_hasher


def colours(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Noise, in which one of three channels is darker."""
    rng = np.random.default_rng(seed)
    pictures, labels = rng.integers(0, 256, (n, 32, 32, 3), dtype=np.uint8), np.arange(n) % 3
    pictures[np.arange(n), :, :, labels] //= 2
    return pictures, labels


def make(**parameters: object) -> DRLH:
    return DRLH(12, **({"backbone": "cnn-small", "n_epochs": 3, "batch_size": 16, "random_state": 0} | parameters))


def test_pictures_it_has_not_seen_find_their_class() -> None:
    train, query = colours(60, 0), colours(30, 1)
    fitted = make().fit(*train)
    found = mean_average_precision(fitted.transform(query[0]), query[1], fitted.transform(train[0]), train[1])
    assert found > 0.8


def test_the_cnn_itself_learns_and_its_rate_is_heeded() -> None:
    train = colours(36, 0)
    moved = make().fit(*train).weights_["body.net.blocks.0.first.weight"]
    held = make(backbone_lr_scale=0.0, weight_decay=0.0).fit(*train).weights_["body.net.blocks.0.first.weight"]
    again = (
        make(backbone_lr_scale=0.0, weight_decay=0.0, n_epochs=1).fit(*train).weights_["body.net.blocks.0.first.weight"]
    )
    assert np.allclose(held, again, atol=1e-6)
    assert not np.allclose(moved, held, atol=1e-3)


def test_a_resumed_run_ends_with_the_same_codes(tmp_path: Path) -> None:
    train = colours(36, 0)
    unbroken = make().fit(*train).transform(train[0])

    def stop(done: int, total: int, what: str) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make().fit(*train, resume_from=tmp_path, progress=stop)
    assert np.array_equal(make().fit(*train, resume_from=tmp_path).transform(train[0]), unbroken)


def test_a_saved_model_needs_no_weights_file(tmp_path: Path) -> None:
    train = colours(36, 0)
    save_cnn(tmp_path / "start.safetensors", Body("cnn-small", 3072), {})
    fitted = make(backbone_weights=str(tmp_path / "start.safetensors")).fit(*train)
    save_hasher(tmp_path / "model", fitted)
    (tmp_path / "start.safetensors").unlink()
    loaded = load_hasher(tmp_path / "model")
    assert np.array_equal(loaded.transform(train[0]), fitted.transform(train[0]))


def test_the_walk_of_one_picture_ends_at_its_code() -> None:
    train = colours(36, 0)
    fitted = make().fit(*train)
    row = train[0][5].reshape(-1) / np.float32(255)
    assert np.array_equal(fitted.walk(row).codes[-1], fitted.transform(row[None])[0])


def test_what_does_not_go_together_is_said() -> None:
    train = colours(12, 0)
    with pytest.raises(UserError, match=r"no parameter 'backbone' .the method drlh has."):
        make_hasher("drlh-paper", backbone="cnn-small")
    with pytest.raises(UserError, match="belong to a backbone"):
        DRLH(12, backbone_weights="some.safetensors").fit(train[0].reshape(12, -1), train[1])
    with pytest.raises(UserError, match="got 64 columns"):
        make().fit(np.zeros((12, 64)), train[1])
    with pytest.raises(UserError, match="backbone_lr_scale of DRLH must be at least 0"):
        make(backbone_lr_scale=-1.0).fit(*train)
