"""Small networks in MatConvNet's file format against the same layers in torch."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from PIL import Image
from scipy.io import savemat

from drlh.core.errors import UserError
from drlh.features import make_extractor

SIZE = 79


def cell(*items):
    array = np.empty((1, len(items)), object)
    for place, item in enumerate(items):
        array[0, place] = item
    return array


def conv(rng, name, kernel, n_in, n_out, stride=1, pad=0):
    """(height, width, in, out), as MATLAB stores filters."""
    filters = rng.normal(0, 2 * (kernel * kernel * n_in) ** -0.5, (kernel, kernel, n_in, n_out)).astype(np.float32)
    biases = rng.normal(0, 0.2, (1, n_out)).astype(np.float32)
    pads = np.full((1, 4), float(pad))
    facts = {"name": name, "type": "conv", "weights": cell(filters, biases), "pad": pads}
    return facts | {"stride": np.full((1, 2), float(stride))}


def pool(name, pads):
    facts = {"name": name, "type": "pool", "method": "max", "pool": np.array([[3.0, 3.0]])}
    return facts | {"stride": np.array([[2.0, 2.0]]), "pad": np.array([pads], float)}


def plain(name, kind, **facts):
    return {"name": name, "type": kind, **facts}


def lrn(name):
    return plain(name, "lrn", param=np.array([[5, 2, 1e-2, 0.75]]))


def network(first, groups):
    """Laid out as CNN-F (groups = 1) or the original AlexNet (groups = 2), with few filters."""
    rng = np.random.default_rng(2)
    end = (0, 1, 0, 1)
    return [
        conv(rng, "conv1", 11, 3, first, stride=4),
        plain("relu1", "relu"),
        lrn("norm1"),
        pool("pool1", end),
        conv(rng, "conv2", 5, first // groups, 8, pad=2),
        plain("relu2", "relu"),
        lrn("norm2"),
        pool("pool2", (0, 0, 0, 0)),
        conv(rng, "conv5", 3, 8 // groups, 10, pad=1),
        plain("relu5", "relu"),
        pool("pool5", end),
        conv(rng, "fc6", 2, 10, 14),
        plain("relu6", "relu"),
        plain("drop6", "dropout", rate=0.5),
        conv(rng, "fc7", 1, 14, 12),
        plain("relu7", "relu"),
        conv(rng, "fc8", 1, 12, 5),
        plain("prob", "softmax"),
    ]


def average_picture():
    return np.random.default_rng(8).uniform(90, 140, (SIZE, SIZE, 3)).astype(np.float32)


def write(path, layers, *, average=None, **facts):
    average = average_picture() if average is None else average
    normalisation = {"imageSize": np.array([[SIZE, SIZE, 3.0]]), "averageImage": average, **facts}
    savemat(path, {"layers": cell(*layers), "meta": {"normalization": normalisation}})
    return path


def reference(layers, picture, last, average, how=Image.Resampling.BICUBIC):
    image = Image.fromarray(picture).resize((SIZE, SIZE), how)
    x = torch.from_numpy(np.asarray(image) - np.broadcast_to(average, (SIZE, SIZE, 3))).permute(2, 0, 1)[None]
    for layer in layers:
        x = apply(layer, x)
        if layer["name"] == last:
            return x.flatten().numpy()
    raise AssertionError(last)


def apply(layer, x):
    if layer["type"] == "conv":
        weight = torch.from_numpy(layer["weights"][0, 0].transpose(3, 2, 0, 1).copy())
        bias = torch.from_numpy(layer["weights"][0, 1].ravel().copy())
        groups = x.shape[1] // weight.shape[1]
        return F.conv2d(x, weight, bias, int(layer["stride"][0, 0]), int(layer["pad"][0, 0]), groups=groups)
    if layer["type"] == "relu":
        return F.relu(x)
    if layer["type"] == "pool":
        top, bottom, left, right = (int(pad) for pad in layer["pad"][0])
        return F.max_pool2d(F.pad(x, (left, right, top, bottom), value=-torch.inf), 3, 2)
    if layer["type"] == "lrn":
        size, kappa, alpha, beta = layer["param"][0]
        out = torch.empty_like(x)
        for channel in range(x.shape[1]):
            near = x[:, max(0, channel - int(size) // 2) : channel + int(size) // 2 + 1]
            out[:, channel] = x[:, channel] / (kappa + alpha * near.square().sum(1)) ** beta
        return out
    return x


@pytest.mark.parametrize(("name", "first", "groups"), [("cnn-f", 64, 1), ("alexnet", 96, 2)])
@pytest.mark.parametrize(("layer", "last"), [("fc7", "relu7"), ("fc6", "relu6"), ("pool5", "pool5")])
def test_each_layer_equals_torch(tmp_path, pictures, name, first, groups, layer, last):
    layers = network(first, groups)
    extractor = make_extractor(name, weights=write(tmp_path / "net.mat", layers), layer=layer)
    wanted = np.stack([reference(layers, picture, last, average_picture()) for picture in pictures[3:8]])
    assert wanted.std(axis=0).max() > 0.01
    np.testing.assert_allclose(extractor(pictures[3:8]), wanted, rtol=1e-3, atol=1e-3)


def test_the_older_file_layout_is_read_too(tmp_path, pictures):
    layers = network(64, 1)
    old = []
    for layer in layers:
        facts = dict(layer)
        if "weights" in facts:
            pair = facts.pop("weights")
            facts |= {"filters": pair[0, 0], "biases": pair[0, 1]}
        facts["type"] = {"lrn": "normalize"}.get(facts["type"], facts["type"])
        old.append(facts)
    normalisation = {"imageSize": np.array([[SIZE, SIZE, 3.0]]), "averageImage": average_picture()}
    savemat(tmp_path / "old.mat", {"layers": cell(*old), "normalization": normalisation})
    new = make_extractor("cnn-f", weights=write(tmp_path / "new.mat", layers))
    np.testing.assert_array_equal(make_extractor("cnn-f", weights=tmp_path / "old.mat")(pictures), new(pictures))


def test_an_average_of_one_value_a_channel_and_the_interpolation_are_followed(tmp_path, pictures):
    layers, average = network(64, 1), np.array([120.0, 110.0, 100.0], np.float32).reshape(1, 1, 3)
    path = write(tmp_path / "net.mat", layers, average=average, interpolation="bilinear")
    wanted = reference(layers, pictures[9], "relu7", average, Image.Resampling.BILINEAR)
    row = make_extractor("cnn-f", weights=path)([pictures[9]])[0]
    np.testing.assert_allclose(row, wanted, rtol=1e-3, atol=1e-3)


def test_the_one_network_is_not_taken_for_the_other(tmp_path):
    path = write(tmp_path / "net.mat", network(96, 2))
    with pytest.raises(UserError, match=r"net\.mat is not cnn-f: its first layer has 96 filters"):
        make_extractor("cnn-f", weights=path)


def test_a_file_without_the_layer_lists_those_it_has(tmp_path):
    path = write(tmp_path / "net.mat", network(64, 1)[:11])
    with pytest.raises(UserError, match=r"net\.mat has no layer fc7: it has conv1, relu1"):
        make_extractor("cnn-f", weights=path)


def test_a_matlab_file_without_a_network_is_refused(tmp_path):
    savemat(tmp_path / "table.mat", {"numbers": np.arange(5)})
    with pytest.raises(UserError, match=r"table\.mat holds no MatConvNet network"):
        make_extractor("cnn-f", weights=tmp_path / "table.mat")


def test_an_unknown_kind_of_layer_is_refused(tmp_path):
    layers = network(64, 1)
    layers[2] = plain("norm1", "bnorm")
    with pytest.raises(UserError, match="layer norm1 is of kind bnorm"):
        make_extractor("cnn-f", weights=write(tmp_path / "net.mat", layers))
