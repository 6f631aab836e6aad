"""The published networks: their weights converted to ONNX once, and kept under the digest of the weight file."""

from pathlib import Path
from typing import Any

from drlh.core.errors import UserError
from drlh.core.files import atomic_path, cache_directory, file_digest
from drlh.features.weights import existing_weights, packaged_weights

VERSION = 1  # of the graphs; a change in what they compute takes a new one
LITE = ("lite0", "lite1", "lite2")
SMALL = "cnn-small"
FILES = {
    SMALL: "a file of `drlh pretrain --backbone cnn-small`",
    "alexnet": "torchvision's alexnet-owt-*.pth, its arrays as .npz or .safetensors, or imagenet-caffe-alex.mat",
    "cnn-f": "MatConvNet's imagenet-vgg-f.mat, or a file of `drlh pretrain --backbone cnn-f`",
}
LAYERS = ("fc7", "fc6", "pool5")


def backbone_settings(name: str, weights: str | Path | None, layer: str | None) -> dict[str, Any]:
    """What decides the features of `name`; `weights_file` only helps to find the weights again."""
    if name in (*LITE, SMALL) and layer is not None:
        raise UserError(f"{name} has one layer to take features from: leave out layer={layer!r}")
    if name == SMALL:
        path = existing_weights(name, pretrained_file(name) if weights is None else weights, FILES[name])
        return {"name": name, "version": VERSION, "weights": file_digest(path), "weights_file": str(path.resolve())}
    if name in LITE:
        path = packaged_weights(name) if weights is None else existing_weights(name, weights, "its .pth")
        hint = {} if weights is None else {"weights_file": str(path.resolve())}
        return {"name": name, "version": VERSION, "weights": file_digest(path), **hint}
    if layer is not None and layer not in LAYERS:
        raise UserError(f"{name} has no layer {layer!r}: choose {', '.join(LAYERS)}")
    path = existing_weights(name, weights, FILES[name])
    facts = {"layer": layer or LAYERS[0], "weights": file_digest(path), "weights_file": str(path.resolve())}
    return {"name": name, "version": VERSION, **facts}


def pretrained_file(name: str) -> Path:
    """Where `drlh pretrain` leaves a backbone, and features look for it, unless another place is given."""
    return cache_directory() / "backbones" / f"{name}.safetensors"


def backbone_file(settings: dict[str, Any]) -> Path:
    """The converted network; made from the weights where it is not there yet."""
    parts = (settings["name"], settings.get("layer", "pool"), settings["weights"][:16], f"v{settings['version']}")
    path = cache_directory() / "backbones" / f"{'-'.join(parts)}.onnx"
    if not path.exists():
        converted = _convert(settings, _find_weights(settings))
        with atomic_path(path) as temporary:
            temporary.write_bytes(converted)
    return path


def _find_weights(settings: dict[str, Any]) -> Path:
    name, hint = settings["name"], settings.get("weights_file")
    path = packaged_weights(name) if name in LITE and hint is None else existing_weights(name, hint, "its file")
    if file_digest(path) != settings["weights"]:
        raise UserError(
            f"{path} is not the file these features were made with: its SHA-256 should be {settings['weights']}"
        )
    return path


def _convert(settings: dict[str, Any], path: Path) -> bytes:
    from onnx.checker import ValidationError
    from onnx.shape_inference import InferenceError

    name = settings["name"]
    try:
        model = _build(name, settings.get("layer", ""), path)
    except UserError:
        raise
    except KeyError as error:
        raise UserError(f"{path} has no array {error}: give {FILES.get(name, 'its .pth')} as weights") from error
    except (ValueError, TypeError, IndexError, AttributeError, InferenceError, ValidationError) as error:
        first_line = str(error).partition("\n")[0]
        raise UserError(f"{path} does not hold the weights of {name}: {first_line}") from error
    return bytes(model.SerializeToString())


def _build(name: str, layer: str, path: Path) -> Any:
    from drlh.features import alexnet, cnn_f, cnn_small, efficientnet, matconvnet
    from drlh.features.weights import read_state

    if name in LITE:
        return efficientnet.build(read_state(path), efficientnet.SIZES[name])
    if name == SMALL:
        return cnn_small.build(read_state(path))
    if path.suffix == ".mat":
        return matconvnet.build(path, name, layer)
    if name == "cnn-f":
        return cnn_f.build(read_state(path), layer)
    return alexnet.build(read_state(path), layer)
