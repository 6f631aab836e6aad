"""Networks run by onnxruntime: the session, and pictures in the form the network takes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from PIL import Image

from drlh.core.errors import UserError
from drlh.data.picture import Picture
from drlh.features.extractor import Extractor, Features, centre, squash


class Network(Extractor):
    """One of our own graphs: bytes (n, height, width, 3) in, features (n, n_features) out."""

    def __init__(self, settings: dict[str, Any], path: Path) -> None:
        self.session = open_session(path)
        self.settings = settings
        self.name = settings["name"]
        _, self.height, self.width, _ = self.session.get_inputs()[0].shape
        self.n_features = self.session.get_outputs()[0].shape[1]
        facts = self.session.get_modelmeta().custom_metadata_map
        self.batch = int(facts["batch"])
        self._shorter = int(facts["shorter"])
        self._how = Image.Resampling[facts["resize"].upper()]

    def prepare(self, picture: Picture) -> NDArray[np.uint8]:
        if self._shorter:
            return centre(picture, self._shorter, self.height, self._how)
        return squash(picture, self.height, self.width, self._how)

    def features(self, prepared: Sequence[NDArray[np.uint8]]) -> Features:
        rows: Features = self.session.run(None, {"pictures": np.stack(prepared)})[0]
        return rows


def open_session(path: Path) -> Any:
    """A session that computes on the calling thread.

    The cores are filled by running several batches at the same time: that needs no waiting of threads for each
    other within every layer, and decoding and resizing spread over the cores by the same means.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4  # errors are raised, nothing is printed
    try:
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    # onnxruntime's errors have no common base of their own.
    except Exception as error:
        first_line = str(error).partition("\n")[0]
        raise UserError(f"{path} cannot be opened as an ONNX network: {first_line}") from error
