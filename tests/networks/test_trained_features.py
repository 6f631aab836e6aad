"""Features of a backbone trained here are those of the network itself."""

from pathlib import Path

import numpy as np
import pytest
import torch

from drlh.core.errors import UserError
from drlh.features import make_extractor
from drlh.networks.backbone import Body, begin_body, save_cnn


@pytest.fixture
def pictures() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (6, 32, 32, 3), dtype=np.uint8)


def trained(name: str, pictures: np.ndarray, path: Path) -> Body:
    """A body whose norms' statistics have moved, saved in `path`."""
    torch.manual_seed(0)
    rows = torch.from_numpy(pictures.reshape(len(pictures), -1) / np.float32(255))
    body = begin_body(name, None, rows)
    body.train()(rows)
    save_cnn(path, body, {})
    return body.eval()


def test_cnn_small_gives_what_the_net_gives(tmp_path: Path, pictures: np.ndarray) -> None:
    body = trained("cnn-small", pictures, tmp_path / "small.safetensors")
    rows = torch.from_numpy(pictures.reshape(len(pictures), -1) / np.float32(255))
    with torch.no_grad():
        wanted = body.net(body.pictures(rows)).numpy()
    found = make_extractor("cnn-small", weights=tmp_path / "small.safetensors")(list(pictures))
    assert found.shape == (6, 256)
    assert np.allclose(found, wanted, atol=1e-3 * wanted.max())


def test_it_stands_beside_other_features(tmp_path: Path, pictures: np.ndarray) -> None:
    trained("cnn-small", pictures, tmp_path / "small.safetensors")
    alone = make_extractor("cnn-small", weights=tmp_path / "small.safetensors")(list(pictures))
    joined = make_extractor("gray4+cnn-small", weights=tmp_path / "small.safetensors")(list(pictures))
    assert np.array_equal(joined[:, 16:], alone)


def test_without_a_file_it_is_looked_for_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRLH_CACHE", str(tmp_path))
    with pytest.raises(UserError, match="a file that `drlh pretrain` wrote for cnn-small"):
        make_extractor("cnn-small")


def test_a_file_of_another_network_is_refused(tmp_path: Path, pictures: np.ndarray) -> None:
    trained("nin", pictures, tmp_path / "nin.safetensors")
    with pytest.raises(UserError, match=r"nin\.safetensors"):
        make_extractor("cnn-small", weights=tmp_path / "nin.safetensors")


def test_cnn_f_after_learning_here_gives_what_the_net_gives(tmp_path: Path) -> None:
    picture = np.random.default_rng(1).integers(0, 256, (1, 224, 224, 3), dtype=np.uint8)
    torch.manual_seed(0)
    body = Body("cnn-f", 3 * 224**2).eval()
    save_cnn(tmp_path / "f.safetensors", body, {})
    with torch.no_grad():
        wanted = body.net(body.pictures(torch.from_numpy(picture.reshape(1, -1) / np.float32(255)))).numpy()
    found = make_extractor("cnn-f", weights=tmp_path / "f.safetensors")(list(picture))
    assert np.allclose(found, wanted, atol=1e-3 * np.abs(wanted).max())
