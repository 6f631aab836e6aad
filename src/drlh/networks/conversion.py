"""Weight files → ONNX, by the network's name."""

from pathlib import Path
from typing import Any

from drlh.core.errors import UserError
from drlh.networks.weights import read_state_dict

LITE = ("lite0", "lite1", "lite2")  # their weights are installed as packages
FILES = {
    "cnn-small": "a file that `drlh pretrain` wrote for cnn-small",
    "alexnet": "torchvision's alexnet-owt-*.pth, its arrays as .npz or .safetensors, or imagenet-caffe-alex.mat",
    "cnn-f": "MatConvNet's imagenet-vgg-f.mat, or a file that `drlh pretrain` wrote for cnn-f",
}
LAYERS = ("fc7", "fc6", "pool5")  # of alexnet and cnn-f; the others have one output


def to_onnx(name: str, layer: str, path: Path) -> bytes:
    """The network `name` with the weights in `path`, up to `layer` where it has several outputs."""
    from onnx.checker import ValidationError
    from onnx.shape_inference import InferenceError

    try:
        model = _model(name, layer, path)
    except UserError:
        raise
    except KeyError as error:
        raise UserError(f"{path} has no array {error}: give {FILES.get(name, 'its .pth')} as weights") from error
    except (ValueError, TypeError, IndexError, AttributeError, InferenceError, ValidationError) as error:
        first_line = str(error).partition("\n")[0]
        raise UserError(f"{path} does not hold the weights of {name}: {first_line}") from error
    return bytes(model.SerializeToString())


def _model(name: str, layer: str, path: Path) -> Any:
    from drlh.networks import alexnet, cnn_f, cnn_small, efficientnet, matconvnet

    if name in LITE:
        return efficientnet.onnx_model(read_state_dict(path), efficientnet.SIZES[name])
    if name == "cnn-small":
        return cnn_small.onnx_model(read_state_dict(path))
    if path.suffix == ".mat":
        return matconvnet.onnx_model(path, name, layer)
    if name == "cnn-f":
        return cnn_f.onnx_model(read_state_dict(path), layer)
    return alexnet.onnx_model(read_state_dict(path), layer)
