import subprocess
import sys

import numpy as np
import pytest

from drlh.core.errors import UserError
from drlh.features import extractor_from, make_extractor


@pytest.fixture
def filters(tmp_path):
    """Writes a small AlexNet; the seed decides its weights."""

    def write(path, seed=0):
        rng = np.random.default_rng(seed)
        state, n_in = {}, 3
        for number, kernel in enumerate((11, 5, 3, 3, 3)):
            state[f"conv{number}_w"] = rng.normal(0, 0.3, (2, n_in, kernel, kernel)).astype(np.float32)
            state[f"conv{number}_b"] = rng.normal(0, 0.3, 2).astype(np.float32)
            n_in = 2
        np.savez(path, **state)
        return path

    return write


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(UserError, match=r"no features are called 'vgg': the names are pixelsN, grayN, gist, lite0"):
        make_extractor("vgg")
    with pytest.raises(UserError, match="no features are called ''"):
        make_extractor("gist+")


@pytest.mark.parametrize("given", [{"weights": "some.pth"}, {"layer": "fc7"}])
def test_weights_and_layer_need_a_network_they_belong_to(given):
    with pytest.raises(UserError, match="belongs to one network: gist has 0"):
        make_extractor("gist", **given)
    with pytest.raises(UserError, match="belongs to one network: alexnet\\+cnn-f has 2"):
        make_extractor("alexnet+cnn-f", **given)


def test_weights_are_converted_once_and_found_again_without_their_file(tmp_path, cache, filters, pictures):
    extractor = make_extractor("alexnet", weights=filters(tmp_path / "a.npz"), layer="pool5")
    [converted] = (cache / "backbones").iterdir()
    before = converted.stat().st_mtime_ns
    (tmp_path / "a.npz").unlink()
    again = extractor_from(extractor.settings)
    assert converted.stat().st_mtime_ns == before
    np.testing.assert_array_equal(again(pictures), extractor(pictures))


def test_moved_weights_can_be_pointed_to(tmp_path, cache, filters, pictures):
    extractor = make_extractor("gist+alexnet", weights=filters(tmp_path / "a.npz"), layer="pool5", flip=True)
    [converted] = (cache / "backbones").iterdir()
    converted.unlink()
    (tmp_path / "a.npz").rename(tmp_path / "b.npz")
    with pytest.raises(UserError, match=r"a\.npz does not exist"):
        extractor_from(extractor.settings)
    again = extractor_from(extractor.settings, weights=tmp_path / "b.npz")
    np.testing.assert_array_equal(again(pictures), extractor(pictures))


def test_other_weights_are_not_taken_for_the_ones_in_the_settings(tmp_path, cache, filters):
    extractor = make_extractor("alexnet", weights=filters(tmp_path / "a.npz"), layer="pool5")
    [converted] = (cache / "backbones").iterdir()
    converted.unlink()
    filters(tmp_path / "a.npz", seed=1)
    with pytest.raises(UserError, match=r"a\.npz is not the file these features were made with"):
        extractor_from(extractor.settings)


def test_different_weights_and_layers_have_different_settings(tmp_path, filters):
    one, two = filters(tmp_path / "a.npz"), filters(tmp_path / "b.npz", seed=1)
    digests = {make_extractor("alexnet", weights=path, layer="pool5").settings["weights"] for path in (one, two)}
    assert len(digests) == 2


def test_a_damaged_converted_network_is_told_by_name(tmp_path, cache, filters):
    extractor = make_extractor("alexnet", weights=filters(tmp_path / "a.npz"), layer="pool5")
    [converted] = (cache / "backbones").iterdir()
    converted.write_bytes(converted.read_bytes()[:100])
    with pytest.raises(UserError, match=rf"{converted.name} cannot be opened"):
        extractor_from(extractor.settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"name": "gist", "version": 99},
        {"name": "gist"},
        {"name": "lite0", "version": 1},
        {"name": "lite0", "version": 2, "weights": "0" * 64},
        {"name": "lite0", "version": 1, "weights": "../../elsewhere"},
        {"name": "net.onnx", "version": 1, "weights": "0" * 64},
    ],
)
def test_settings_of_another_version_or_made_by_hand_are_refused(settings):
    with pytest.raises(UserError, match="make them anew"):
        extractor_from(settings)


def test_settings_of_an_unknown_extractor_are_refused():
    with pytest.raises(UserError, match="no features are called 'sift'"):
        extractor_from({"name": "sift", "version": 1})


def test_importing_the_room_loads_no_network_library():
    heavy = ("torch", "onnx", "onnxruntime", "scipy", "sklearn")
    code = f"import sys, drlh.features; print([name for name in {heavy} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_the_same_picture_has_the_same_features_in_a_fresh_process():
    code = (
        "import numpy as np; from drlh.features import make_extractor; "
        "p = np.random.default_rng(0).integers(0, 256, (40, 50, 3), dtype=np.uint8); "
        "print(make_extractor('gist+pixels8', flip=True)([p]).tobytes().hex())"
    )
    outputs = {subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout for _ in range(2)}
    assert len(outputs) == 1
