"""Extractors by name, and back from the settings a feature file or a model carries."""

import re
from pathlib import Path
from typing import Any

from drlh.core.errors import UserError
from drlh.core.files import file_digest
from drlh.features.backbones import FILES, LITE, VERSION, backbone_file, backbone_settings
from drlh.features.extractor import Extractor, Joined, Mirrored
from drlh.features.gist import Gist
from drlh.features.pixels import pixels_named
from drlh.features.weights import existing_weights

_ONNX_VERSION = 1


def make_extractor(
    name: str, *, flip: bool = False, weights: str | Path | None = None, layer: str | None = None
) -> Extractor:
    """The extractor called `name`.

    Names are `pixelsN` and `grayN` (an N × N raster; `pixels` is `pixels32`), `gist`, `lite0`, `lite1`, `lite2`,
    `cnn-small` (with the file of `drlh pretrain` as `weights`, or the one it left in the cache), `alexnet` and `cnn-f`
    (with their publisher's file as `weights`; `layer` is fc7, fc6 or pool5), the path of an `.onnx` file (`layer` names
    its output), and several of these joined by `+`. `flip` takes the mean over the picture and its mirror image.
    """
    names = [name] if Path(name).is_file() else name.split("+")
    networks = [part for part in names if part in FILES] or [part for part in names if _is_network(part)]
    for value, what in ((weights, "weights"), (layer, "layer")):
        if value is not None and len(networks) != 1:
            raise UserError(f"{what} belongs to one network: {name} has {len(networks)}; leave it out")
    parts = [_part_settings(part, weights, layer) for part in names]
    settings = parts[0] if len(parts) == 1 else {"name": "", "parts": parts}
    return extractor_from({**settings, "flip": True} if flip else settings)


def extractor_from(settings: dict[str, Any], *, weights: str | Path | None = None) -> Extractor:
    """The extractor with these `settings`; `weights` says where its weight file is now, should it have moved."""
    if settings.get("flip"):
        rest = {key: value for key, value in settings.items() if key != "flip"}
        return Mirrored(extractor_from(rest, weights=weights))
    if "parts" in settings:
        return Joined([extractor_from(part, weights=weights) for part in settings["parts"]])
    if weights is not None and "weights_file" in settings:
        settings = {**settings, "weights_file": str(Path(weights).resolve())}
    return _open(settings)


def _is_network(name: str) -> bool:
    return name in LITE or name in FILES or name.endswith(".onnx")


def _part_settings(name: str, weights: str | Path | None, layer: str | None) -> dict[str, Any]:
    if name.endswith(".onnx"):
        if weights is not None:
            raise UserError(f"{name} holds its own weights: leave out weights={str(weights)!r}")
        path = existing_weights(name, name, "that file")
        facts = {"layer": layer, "weights": file_digest(path), "weights_file": str(path.resolve())}
        return {"name": path.name, "version": _ONNX_VERSION, **facts}
    if _is_network(name):
        return backbone_settings(name, weights, layer)
    return _plain(name).settings


def _open(settings: dict[str, Any]) -> Extractor:
    name = str(settings.get("name"))
    if not _is_network(name):
        extractor = _plain(name)
        _check(settings, extractor.settings)
        return extractor
    if name.endswith(".onnx"):
        from drlh.features.onnx_file import OnnxFile

        _check(settings, {"name": name, "version": _ONNX_VERSION, "layer": "", "weights": "", "weights_file": ""})
        return OnnxFile(settings, _unchanged(settings))
    from drlh.features.network import Network

    _check(settings, {"name": name, "version": VERSION, "weights": ""})
    return Network(settings, backbone_file(settings))


def _check(settings: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Settings come from files, which may be older, newer or made by hand."""
    told = {key: settings.get(key) for key in ("name", "version")}
    known = {key: wanted[key] for key in ("name", "version")}
    digest = settings.get("weights", "0" * 64)
    if told != known or not set(wanted) <= set(settings) or not re.fullmatch("[0-9a-f]{64}", str(digest)):
        raise UserError(f"features made with {settings} are not those of this drlh, {known}; make them anew")


def _unchanged(settings: dict[str, Any]) -> Path:
    path = existing_weights(settings["name"], settings["weights_file"], "that file")
    if file_digest(path) != settings["weights"]:
        raise UserError(f"{path} has changed since these features were made: wanted SHA-256 {settings['weights']}")
    return path


def _plain(name: str) -> Extractor:
    extractor = Gist() if name == "gist" else pixels_named(name)
    if extractor is None:
        raise UserError(
            f"no features are called {name!r}: the names are pixelsN, grayN, gist, {', '.join((*LITE, *FILES))}, "
            "the path of an .onnx file, and several joined by +"
        )
    return extractor
