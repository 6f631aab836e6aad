"""Small networks written here, in the shapes that people's files come in."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from PIL import Image

from drlh.core.errors import UserError
from drlh.features import extractor_from, make_extractor

MEAN = np.array([0.485, 0.456, 0.406])
DEVIATION = np.array([0.229, 0.224, 0.225])


def write(path, shape, nodes, *, kind=TensorProto.FLOAT, outputs=("out",), more_inputs=()):
    inputs = [helper.make_tensor_value_info("in", kind, shape), *more_inputs]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    graph = helper.make_graph(nodes, "test", inputs, results)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return str(path)


def scaled(picture, size):
    small = Image.fromarray(picture).resize((size[1], size[0]), Image.Resampling.BICUBIC)
    return (np.asarray(small) / 255 - MEAN) / DEVIATION


def test_maps_of_a_channels_first_network_are_averaged(tmp_path, pictures):
    path = write(tmp_path / "twice.onnx", ["n", 3, "h", "w"], [helper.make_node("Add", ["in", "in"], ["out"])])
    rows = make_extractor(path)(pictures)
    wanted = [2 * scaled(picture, (224, 224)).mean(axis=(0, 1)) for picture in pictures]
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, wanted, atol=1e-4)


def test_a_fixed_size_and_a_batch_of_one_are_kept(tmp_path, pictures):
    nodes = [helper.make_node("Relu", ["in"], ["positive"]), helper.make_node("Flatten", ["positive"], ["out"])]
    path = write(tmp_path / "flat.onnx", [1, 3, 6, 8], nodes)
    extractor = make_extractor(path, flip=True)
    assert extractor.n_features == 3 * 6 * 8
    sides = [np.maximum(scaled(side, (6, 8)), 0).transpose(2, 0, 1) for side in (pictures[3], pictures[3][:, ::-1])]
    np.testing.assert_allclose(extractor(pictures)[3], np.mean(sides, axis=0).ravel(), atol=1e-4)


def test_a_channels_last_network_of_bytes_gets_the_bytes(tmp_path, pictures):
    nodes = [helper.make_node("Cast", ["in"], ["out"], to=TensorProto.FLOAT)]
    path = write(tmp_path / "bytes.onnx", ["n", 32, 32, 3], nodes, kind=TensorProto.UINT8)
    wanted = [picture.mean(axis=(0, 1)) for picture in pictures[:6]]
    np.testing.assert_allclose(make_extractor(path)(pictures[:6]), wanted, rtol=1e-4)


def test_layer_chooses_among_several_outputs(tmp_path, pictures):
    nodes = [helper.make_node("Relu", ["in"], ["positive"]), helper.make_node("Neg", ["in"], ["negative"])]
    path = write(tmp_path / "two.onnx", ["n", 3, 16, 16], nodes, outputs=("positive", "negative"))
    rows = make_extractor(path, layer="negative")(pictures)
    np.testing.assert_allclose(rows[0], -scaled(pictures[0], (16, 16)).mean(axis=(0, 1)), atol=1e-4)
    with pytest.raises(UserError, match="outputs positive, negative: name one"):
        make_extractor(path)
    with pytest.raises(UserError, match="no output 'fc7': it has positive, negative"):
        make_extractor(path, layer="fc7")


def test_settings_lead_back_to_the_same_file_and_to_no_other(tmp_path, pictures):
    path = write(tmp_path / "net.onnx", ["n", 3, 16, 16], [helper.make_node("Relu", ["in"], ["out"])])
    extractor = make_extractor(path)
    again = extractor_from(extractor.settings)
    np.testing.assert_array_equal(again(pictures), extractor(pictures))
    (tmp_path / "net.onnx").rename(tmp_path / "moved.onnx")
    with pytest.raises(UserError, match=r"net\.onnx does not exist"):
        extractor_from(extractor.settings)
    moved = extractor_from(extractor.settings, weights=tmp_path / "moved.onnx")
    np.testing.assert_array_equal(moved(pictures), extractor(pictures))
    write(tmp_path / "net.onnx", ["n", 3, 16, 16], [helper.make_node("Neg", ["in"], ["out"])])
    with pytest.raises(UserError, match=r"net\.onnx has changed"):
        extractor_from(extractor.settings)


@pytest.mark.parametrize("shape", [["n", 4, 16, 16], ["n", 3], [5, 3, 16, 16]])
def test_a_network_that_takes_no_pictures_is_refused(tmp_path, shape):
    path = write(tmp_path / "other.onnx", shape, [helper.make_node("Relu", ["in"], ["out"])])
    with pytest.raises(UserError, match=r"other\.onnx must take one float or uint8 input"):
        make_extractor(path)


def test_a_network_with_two_inputs_is_refused(tmp_path):
    second = helper.make_tensor_value_info("text", TensorProto.FLOAT, ["n", 3, 16, 16])
    nodes = [helper.make_node("Add", ["in", "text"], ["out"])]
    path = write(tmp_path / "both.onnx", ["n", 3, 16, 16], nodes, more_inputs=[second])
    with pytest.raises(UserError, match=r"it takes in tensor\(float\) .* text tensor\(float\)"):
        make_extractor(path)


def test_a_network_that_cannot_run_is_refused(tmp_path):
    wrong = helper.make_tensor("two", TensorProto.FLOAT, [2, 2], [1, 2, 3, 4])
    nodes = [
        helper.make_node("Constant", [], ["two"], value=wrong),
        helper.make_node("MatMul", ["in", "two"], ["out"]),
    ]
    path = write(tmp_path / "broken.onnx", ["n", 3, "h", "w"], nodes)
    with pytest.raises(UserError, match=r"broken\.onnx does not run on a picture of 224 × 224"):
        make_extractor(path)


def test_a_foreign_or_missing_file_is_refused_in_one_sentence(tmp_path):
    (tmp_path / "letter.onnx").write_text("Dear sir or madam,\nno network here.")
    with pytest.raises(UserError, match=r"letter\.onnx cannot be opened") as caught:
        make_extractor(str(tmp_path / "letter.onnx"))
    assert "\n" not in str(caught.value)
    with pytest.raises(UserError, match=r"gone\.onnx does not exist"):
        make_extractor(str(tmp_path / "gone.onnx"))
    with pytest.raises(UserError, match="holds its own weights"):
        make_extractor(str(tmp_path / "letter.onnx"), weights="some.pth")
