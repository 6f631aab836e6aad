"""Extractors by name, and back from the settings that a feature file or a model carries.

A network is converted to ONNX once; the converted file stays in the cache under the digest of its weights.
"""

import re
from pathlib import Path
from typing import Any

from drlh.core.errors import UserError
from drlh.core.files import atomic_path, cache_directory, file_digest
from drlh.features.extractor import Extractor
from drlh.networks.conversion import FILES, LAYERS, LITE, to_onnx
from drlh.networks.weights import existing_weights, packaged_weights

VERSION = 1  # of the converted networks; a change in what they compute takes a new one
_ONNX_VERSION = 1  # of the way pictures are brought to a foreign .onnx file


def make_extractor(
    name: str, *, flip: bool = False, weights: str | Path | None = None, layer: str | None = None
) -> Extractor:
    """The extractor called `name`.

    Parameters
    ----------
    name : `pixelsN` or `grayN` (an N × N raster; `pixels` is `pixels32`), `gist`, `lite0`, `lite1`, `lite2`,
        `cnn-small`, `alexnet`, `cnn-f`, the path of an `.onnx` file, or several of these joined by `+`.
    flip : take the mean over the picture and its mirror image.
    weights : the weights file of `alexnet` or `cnn-f` (the publisher's, or one pretrained here) or of `cnn-small`
        (by default the one that pretraining left in the cache).
    layer : fc7 (the default), fc6 or pool5 of `alexnet` and `cnn-f`; the output's name of an `.onnx` file.
    """
    names = [name] if Path(name).is_file() else name.split("+")
    networks = [part for part in names if part in FILES] or [part for part in names if _is_network(part)]
    for value, what in ((weights, "weights"), (layer, "layer")):
        if value is not None and len(networks) != 1:
            raise UserError(f"{what} belongs to one network: {name} has {len(networks)}; leave it out")
    parts = [_settings_of(part, weights, layer) for part in names]
    settings = parts[0] if len(parts) == 1 else {"name": "", "parts": parts}
    return extractor_from({**settings, "flip": True} if flip else settings)


def extractor_from(settings: dict[str, Any], *, weights: str | Path | None = None) -> Extractor:
    """The extractor with these `settings`; `weights` says where its weights file is now, should it have moved."""
    if settings.get("flip") or "parts" in settings:
        return _combined(settings, weights)
    if weights is not None and "weights_file" in settings:
        settings = {**settings, "weights_file": str(Path(weights).resolve())}
    name = str(settings.get("name"))
    if name in LITE or name in FILES:
        from drlh.features.onnx_network import Network

        _check(settings, {"name": name, "version": VERSION, "weights": ""})
        return Network(settings, converted_network(settings))
    if name.endswith(".onnx"):
        from drlh.features.onnx_file import OnnxFile

        _check(settings, {"name": name, "version": _ONNX_VERSION, "layer": "", "weights": "", "weights_file": ""})
        return OnnxFile(settings, _unchanged(settings))
    extractor = _without_weights(name)
    _check(settings, extractor.settings)
    return extractor


def _combined(settings: dict[str, Any], weights: str | Path | None) -> Extractor:
    from drlh.features.combined import Joined, Mirrored

    if settings.get("flip"):
        rest = {key: value for key, value in settings.items() if key != "flip"}
        return Mirrored(extractor_from(rest, weights=weights))
    return Joined([extractor_from(part, weights=weights) for part in settings["parts"]])


def pretrained_file(name: str) -> Path:
    """Where pretraining leaves a backbone, and features look for it, unless another place is given."""
    return cache_directory() / "backbones" / f"{name}.safetensors"


def converted_network(settings: dict[str, Any]) -> Path:
    """The network's ONNX file; made from the weights where it is not there yet."""
    parts = (settings["name"], settings.get("layer", "pool"), settings["weights"][:16], f"v{settings['version']}")
    path = cache_directory() / "backbones" / f"{'-'.join(parts)}.onnx"
    if not path.exists():
        converted = to_onnx(settings["name"], settings.get("layer", ""), _find_weights(settings))
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


def _is_network(name: str) -> bool:
    return name in LITE or name in FILES or name.endswith(".onnx")


def _settings_of(name: str, weights: str | Path | None, layer: str | None) -> dict[str, Any]:
    """What determines the features of `name`; `weights_file` only helps to find the weights again."""
    if not _is_network(name):
        return _without_weights(name).settings
    settings: dict[str, Any] = {"name": name, "version": VERSION}
    if name.endswith(".onnx"):
        if weights is not None:
            raise UserError(f"{name} holds its own weights: leave out weights={str(weights)!r}")
        path = existing_weights(name, name, "that file")
        settings = {"name": path.name, "version": _ONNX_VERSION, "layer": layer}
    elif name in LITE or name == "cnn-small":
        if layer is not None:
            raise UserError(f"{name} has one layer to take features from: leave out layer={layer!r}")
        if name in LITE and weights is None:  # an installed package is found by its name
            return settings | {"weights": file_digest(packaged_weights(name))}
        path = existing_weights(
            name, pretrained_file(name) if weights is None else weights, FILES.get(name, "its .pth")
        )
    else:
        if layer is not None and layer not in LAYERS:
            raise UserError(f"{name} has no layer {layer!r}: choose {', '.join(LAYERS)}")
        path = existing_weights(name, weights, FILES[name])
        settings |= {"layer": layer or LAYERS[0]}
    return settings | {"weights": file_digest(path), "weights_file": str(path.resolve())}


def _check(settings: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Settings come from files, which may be older, newer or made by hand."""
    given = {key: settings.get(key) for key in ("name", "version")}
    known = {key: wanted[key] for key in ("name", "version")}
    digest = settings.get("weights", "0" * 64)
    if given != known or not set(wanted) <= set(settings) or not re.fullmatch("[0-9a-f]{64}", str(digest)):
        raise UserError(f"features made with {settings} are not those of this drlh, {known}; make them anew")


def _unchanged(settings: dict[str, Any]) -> Path:
    path = existing_weights(settings["name"], settings["weights_file"], "that file")
    if file_digest(path) != settings["weights"]:
        raise UserError(f"{path} has changed since these features were made: wanted SHA-256 {settings['weights']}")
    return path


def _without_weights(name: str) -> Extractor:
    if name == "gist":
        from drlh.features.gist import Gist

        return Gist()
    from drlh.features.pixels import pixels_named

    extractor = pixels_named(name)
    if extractor is None:
        raise UserError(
            f"no features are called {name!r}: the names are pixelsN, grayN, gist, {', '.join((*LITE, *FILES))}, "
            "the path of an .onnx file, and several joined by +"
        )
    return extractor
