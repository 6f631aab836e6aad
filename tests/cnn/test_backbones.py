"""Backbones by name, and their weight files."""

from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.io import savemat

from drlh.cnn.backbones import NAMES, Body, begin_body, load_weights, module_of, save_cnn
from drlh.core.errors import UserError


@pytest.mark.parametrize("name", NAMES)
def test_every_backbone_makes_features_of_pixels(name: str) -> None:
    torch.manual_seed(0)
    body = Body(name, 3 * 32**2).eval()
    with torch.no_grad():
        seen = body(torch.rand(2, 3 * 32**2))
    assert seen.shape == (2, body.n_features)
    assert seen.isfinite().all()
    assert module_of(name).RECIPE.keys() == {"n_epochs", "batch_size", "learning_rate", "weight_decay", "momentum"}


def test_pictures_a_few_at_a_time_give_the_same_features(monkeypatch: pytest.MonkeyPatch) -> None:
    body, rows = Body("cnn-small", 3 * 32**2).eval(), torch.rand(7, 3 * 32**2)
    with torch.no_grad():
        whole = body(rows)
        monkeypatch.setattr("drlh.cnn.backbones._AT_ONCE", 3)
        assert torch.allclose(body(rows), whole, atol=1e-5)


def test_a_wrong_name_gets_the_nearest_right_one() -> None:
    with pytest.raises(UserError, match="did you mean cnn-small"):
        Body("cnn-smal", 3072)


def test_saved_weights_begin_another_body(tmp_path: Path) -> None:
    rows = torch.rand(40, 3 * 32**2)
    body = begin_body("cnn-small", None, rows)
    body.train()(rows)  # the norms' statistics move
    save_cnn(tmp_path / "one.safetensors", body, {"data": "made up"})
    other = begin_body("cnn-small", tmp_path / "one.safetensors", rows)
    for name, value in body.net.state_dict().items():
        if value.ndim:
            assert torch.equal(value, other.net.state_dict()[name]), name


def test_weights_of_another_backbone_are_refused(tmp_path: Path) -> None:
    save_cnn(tmp_path / "nin.safetensors", Body("nin", 3072), {})
    with pytest.raises(UserError, match="does not hold the weights of cnn-small"):
        load_weights(Body("cnn-small", 3072), tmp_path / "nin.safetensors")


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(UserError, match=r"nowhere\.safetensors does not exist"):
        load_weights(Body("nin", 3072), "nowhere.safetensors")


def test_matconvnets_file_of_cnn_f_fills_every_layer(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    body = Body("cnn-f", 3 * 8**2)
    layers = np.empty((1, 7), object)
    modules = [layer for layer in body.net.modules() if isinstance(layer, torch.nn.Conv2d | torch.nn.Linear)]
    shapes = [(11, 11, 3, 64), (5, 5, 64, 256), *[(3, 3, 256, 256)] * 3, (6, 6, 256, 4096), (1, 1, 4096, 4096)]
    for place, shape in enumerate(shapes):
        pair = np.empty((1, 2), object)
        pair[0, 0] = rng.random(shape, np.float32)
        pair[0, 1] = rng.random((1, shape[3]), np.float32)
        layers[0, place] = {"name": f"layer{place}", "type": "conv", "weights": pair}
    average = np.broadcast_to(np.array([51.0, 102.0, 153.0]), (224, 224, 3))
    path = tmp_path / "imagenet-vgg-f.mat"
    savemat(path, {"layers": layers, "meta": {"normalization": {"averageImage": average}}})
    load_weights(body, path)
    assert torch.allclose(body.pictures.mean.ravel(), torch.tensor([0.2, 0.4, 0.6]))
    for place, module in enumerate(modules):
        filters = layers[0, place]["weights"][0, 0].transpose(3, 2, 0, 1)
        assert np.array_equal(module.weight.detach().numpy().ravel(), filters.ravel()), place
        assert np.array_equal(module.bias.detach().numpy(), layers[0, place]["weights"][0, 1].ravel())
