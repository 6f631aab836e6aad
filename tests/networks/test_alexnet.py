"""torchvision's AlexNet with few filters against torch's functions."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from PIL import Image
from safetensors.numpy import save_file

from drlh.core.errors import UserError
from drlh.features import make_extractor

PLACES = (0, 3, 6, 8, 10)
FILTERS = (6, 8, 10, 7, 5)
KERNELS = (11, 5, 3, 3, 3)


@pytest.fixture
def state():
    rng = np.random.default_rng(5)
    arrays, n_in = {}, 3
    for place, n_out, kernel in zip(PLACES, FILTERS, KERNELS, strict=True):
        shape = (n_out, n_in, kernel, kernel)
        arrays[f"features.{place}.weight"] = rng.normal(0, 1.5 * np.prod(shape[1:]) ** -0.5, shape)
        arrays[f"features.{place}.bias"] = rng.normal(0, 0.2, n_out)
        n_in = n_out
    for place, n_out, n_in in ((1, 12, 5 * 36), (4, 9, 12), (6, 4, 9)):
        arrays[f"classifier.{place}.weight"] = rng.normal(0, 1.5 * n_in**-0.5, (n_out, n_in))
        arrays[f"classifier.{place}.bias"] = rng.normal(0, 0.2, n_out)
    return {name: value.astype(np.float32) for name, value in arrays.items()}


def reference(state, picture, layer):
    """Shorter side to 256, middle 224, ImageNet's mean and deviation, the network."""
    height, width = picture.shape[:2]
    scale = 256 / min(height, width)
    image = Image.fromarray(picture).resize((int(width * scale), int(height * scale)), Image.Resampling.BILINEAR)
    left, top = round((image.width - 224) / 2), round((image.height - 224) / 2)
    image = image.crop((left, top, left + 224, top + 224))
    x = torch.from_numpy(np.array(image)).permute(2, 0, 1)[None] / 255
    mean, deviation = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    x = (x - mean[:, None, None]) / deviation[:, None, None]
    weights = {name: torch.from_numpy(value) for name, value in state.items()}

    def conv(x, place, stride, padding):
        return F.relu(
            F.conv2d(x, weights[f"features.{place}.weight"], weights[f"features.{place}.bias"], stride, padding)
        )

    x = F.max_pool2d(conv(x, 0, 4, 2), 3, 2)
    x = F.max_pool2d(conv(x, 3, 1, 2), 3, 2)
    x = F.max_pool2d(conv(conv(conv(x, 6, 1, 1), 8, 1, 1), 10, 1, 1), 3, 2).flatten(1)
    for place in {"pool5": (), "fc6": (1,), "fc7": (1, 4)}[layer]:
        x = F.relu(F.linear(x, weights[f"classifier.{place}.weight"], weights[f"classifier.{place}.bias"]))
    return x[0].numpy()


def write(path, state):
    if path.suffix == ".pth":
        torch.save({name: torch.from_numpy(value) for name, value in state.items()}, path)
    elif path.suffix == ".npz":
        np.savez(path, **state)
    else:
        save_file(state, path)
    return path


@pytest.mark.parametrize(("layer", "n_features"), [("fc7", 9), ("fc6", 12), ("pool5", 180)])
def test_each_layer_equals_torch(tmp_path, state, pictures, layer, n_features):
    extractor = make_extractor("alexnet", weights=write(tmp_path / "alexnet.pth", state), layer=layer)
    assert extractor.n_features == n_features
    rows = extractor(pictures[4:8])
    wanted = np.stack([reference(state, picture, layer) for picture in pictures[4:8]])
    assert wanted.std(axis=0).max() > 0.01
    np.testing.assert_allclose(rows, wanted, atol=1e-4)


def test_fc7_is_the_layer_where_none_is_named(tmp_path, state):
    path = write(tmp_path / "alexnet.pth", state)
    assert (
        make_extractor("alexnet", weights=path).settings
        == make_extractor("alexnet", weights=path, layer="fc7").settings
    )


def test_all_three_formats_give_the_same_features(tmp_path, state, pictures):
    rows = [
        make_extractor("alexnet", weights=write(tmp_path / f"alexnet{suffix}", state))(pictures[:2])
        for suffix in (".pth", ".npz", ".safetensors")
    ]
    np.testing.assert_array_equal(rows[0], rows[1])
    np.testing.assert_array_equal(rows[0], rows[2])


def test_a_file_of_filters_alone_serves_pool5_and_no_other_layer(tmp_path, state, pictures):
    short = {}
    for number, place in enumerate(PLACES):
        short[f"conv{number}_w"] = state[f"features.{place}.weight"]
        short[f"conv{number}_b"] = state[f"features.{place}.bias"]
    path = write(tmp_path / "filters.npz", short)
    row = make_extractor("alexnet", weights=path, layer="pool5")(pictures[:1])[0]
    np.testing.assert_allclose(row, reference(state, pictures[0], "pool5"), atol=1e-4)
    with pytest.raises(UserError, match=r"filters\.npz has no array 'classifier\.1\.weight'"):
        make_extractor("alexnet", weights=path, layer="fc6")


def test_missing_weights_say_what_to_give(tmp_path):
    with pytest.raises(UserError, match="alexnet needs a weights file"):
        make_extractor("alexnet")
    with pytest.raises(UserError, match=r"nowhere\.pth does not exist"):
        make_extractor("alexnet", weights=tmp_path / "nowhere.pth")


def test_an_unknown_layer_is_refused(tmp_path, state):
    with pytest.raises(UserError, match="choose fc7, fc6, pool5"):
        make_extractor("alexnet", weights=write(tmp_path / "alexnet.npz", state), layer="fc9")


@pytest.mark.parametrize("suffix", [".pth", ".safetensors", ".npz", ".mat", ".txt"])
def test_a_foreign_file_is_refused_in_one_sentence(tmp_path, suffix):
    path = tmp_path / f"letter{suffix}"
    path.write_bytes(b"Dear sir or madam,\nthis is no network.\n" * 30)
    with pytest.raises(UserError, match=f"letter{suffix}") as caught:
        make_extractor("alexnet", weights=path)
    assert "\n" not in str(caught.value)


def test_weights_of_the_wrong_shape_are_refused(tmp_path, state):
    state["classifier.1.weight"] = state["classifier.1.weight"][:, :-1]
    with pytest.raises(UserError, match=r"odd\.npz does not hold the weights of alexnet"):
        make_extractor("alexnet", weights=write(tmp_path / "odd.npz", state))


def test_a_pickle_with_code_in_it_is_not_run(tmp_path):
    class Trap:
        def __reduce__(self):
            return (tmp_path.joinpath("sprung").mkdir, ())

    torch.save({"features.0.weight": Trap()}, tmp_path / "trap.pth")
    with pytest.raises(UserError, match=r"trap\.pth cannot be read"):
        make_extractor("alexnet", weights=tmp_path / "trap.pth")
    assert not (tmp_path / "sprung").exists()
