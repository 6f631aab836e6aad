"""Any network in an `.onnx` file as an extractor."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from drlh.core.errors import UserError
from drlh.data.picture import Picture
from drlh.features.extractor import Extractor, Features, squash
from drlh.features.onnx_network import open_session
from drlh.networks.alexnet import DEVIATION, MEAN

_MEAN, _DEVIATION = ((np.array(value) * 255).astype(np.float32) for value in (MEAN, DEVIATION))
_SIZE = 224  # where the network leaves it open
_TYPES = {"tensor(float)": np.float32, "tensor(uint8)": np.uint8}


class OnnxFile(Extractor):
    """The one picture input is found by its three channels, first (n, 3, h, w) or last (n, h, w, 3).

    Whole pictures are resized to the input's size, or 224 × 224 (bicubic). Float inputs get values scaled by
    ImageNet's mean and deviation, uint8 inputs the bytes. Maps (4 axes) are averaged over their places, any
    other output is flattened. `layer` names the output where there are several.
    """

    def __init__(self, settings: dict[str, Any], path: Path) -> None:
        self.settings = settings
        self.name = settings["name"]
        self.session = open_session(path)
        picture, self._output = _input(self.session, path), _output(self.session, settings["layer"], path)
        self._key, self._type = picture.name, _TYPES[picture.type]
        self._channels_first = picture.shape[1] == 3
        sides = picture.shape[2:4] if self._channels_first else picture.shape[1:3]
        self.height, self.width = (side if isinstance(side, int) else _SIZE for side in sides)
        self.batch = 1 if picture.shape[0] == 1 else 8
        self.n_features = self._try(path).shape[1]

    def prepare(self, picture: Picture) -> NDArray[np.uint8]:
        return squash(picture, self.height, self.width, Image.Resampling.BICUBIC)

    def features(self, prepared: Sequence[NDArray[np.uint8]]) -> Features:
        if len(prepared) > self.batch:  # a network for one picture at a time
            return np.concatenate([self.features([one]) for one in prepared])
        pictures: NDArray[Any] = np.stack(prepared)
        if self._type == np.float32:
            pictures = (pictures - _MEAN) / _DEVIATION
        if self._channels_first:
            pictures = np.ascontiguousarray(pictures.transpose(0, 3, 1, 2))
        rows = np.asarray(self.session.run([self._output], {self._key: pictures})[0], np.float32)
        if rows.ndim == 4:
            rows = rows.mean(axis=(2, 3) if self._channels_first else (1, 2))
        return rows.reshape(len(pictures), -1)

    def _try(self, path: Path) -> Features:
        """The features of a black picture: shows their number, and that the network runs at all."""
        try:
            return self.features([np.zeros((self.height, self.width, 3), np.uint8)])
        # onnxruntime's errors have no common base of their own.
        except Exception as error:
            first_line = str(error).partition("\n")[0]
            size = f"{self.height} × {self.width}"
            raise UserError(f"{path} does not run on a picture of {size} pixels: {first_line}") from error


def _input(session: Any, path: Path) -> Any:
    inputs = session.get_inputs()
    shape: list[int | str] = inputs[0].shape if len(inputs) == 1 else []
    is_picture = len(shape) == 4 and 3 in (shape[1], shape[3]) and inputs[0].type in _TYPES
    if not is_picture or (isinstance(shape[0], int) and shape[0] != 1):
        taken = ", ".join(f"{one.name} {one.type} {one.shape}" for one in inputs)
        raise UserError(
            f"{path} must take one float or uint8 input (n, 3, h, w) or (n, h, w, 3), n open or 1: it takes {taken}"
        )
    return inputs[0]


def _output(session: Any, layer: str | None, path: Path) -> str:
    names = [str(output.name) for output in session.get_outputs()]
    if layer is None and len(names) > 1:
        raise UserError(f"{path} has the outputs {', '.join(names)}: name one of them as layer")
    if layer is not None and layer not in names:
        raise UserError(f"{path} has no output {layer!r}: it has {', '.join(names)}")
    return layer or names[0]
