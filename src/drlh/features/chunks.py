"""Features on disk by content: the same bytes through the same extractor are computed once, whoever asks."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from drlh.core.errors import UserError
from drlh.core.files import digest, read_npz, write_npz
from drlh.features.extractor import Extractor, Features

_FORMAT = "drlh-features-1"


class Stored(NamedTuple):
    """What is kept of a run of pictures."""

    features: Features  # (number of good pictures, n_features)
    good: NDArray[np.bool_]  # (pictures,), False where one could not be decoded


def chunk_path(cache: Path, extractor: Extractor, form: str, raws: Sequence[bytes]) -> Path:
    """The file of the pictures with these stored bytes; `form` is what the bytes themselves do not tell."""
    settings = json.dumps(_deciding(extractor.settings), sort_keys=True)
    key = digest(_FORMAT, settings, form, *raws)
    return cache / key[:2] / f"{key}.npz"


def _deciding(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings without the place of the weight file, which decides nothing."""
    kept = {key: value for key, value in settings.items() if key != "weights_file"}
    if "parts" in kept:
        kept["parts"] = [_deciding(part) for part in kept["parts"]]
    return kept


def store(path: Path, stored: Stored) -> None:
    write_npz(path, stored._asdict())


def load_stored(path: Path, n: int, n_features: int) -> Stored | None:
    """What is stored in `path`, or None where nothing is, or something damaged that must be made again."""
    if not path.exists():
        return None
    try:
        arrays = read_npz(path)
        stored = Stored(arrays["features"], arrays["good"])
    except (UserError, KeyError):
        return None
    fits = stored.good.shape == (n,) and stored.features.shape == (int(stored.good.sum()), n_features)
    return stored if fits and stored.features.dtype == np.float32 else None
