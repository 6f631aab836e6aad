"""What the verbs do, stage by stage: data → model, data → codes, photo → hits."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import to_hex
from drlh.core.errors import UserError
from drlh.core.files import is_writer
from drlh.core.progress import Progress, quiet
from drlh.data import DataSet
from drlh.encoding.coder import Runner
from drlh.encoding.codes_file import CodeSet, load_codes
from drlh.encoding.codes_parquet import is_parquet
from drlh.encoding.encoding import Encoding
from drlh.encoding.outputs import to_index, to_npz, to_parquet
from drlh.encoding.runners import in_threads
from drlh.evaluate.protocols import get_protocol
from drlh.evaluate.splits import Split
from drlh.index.base import Hits, Index
from drlh.model import Model


def fit_model(
    dataset: DataSet,
    method: str,
    n_bits: int,
    path: str | Path,
    *,
    seed: int = 0,
    parameters: dict[str, Any] | None = None,
    split: dict[str, Any] | None = None,
    resume_from: str | Path | None = None,
    progress: Progress = quiet,
) -> dict[str, Any]:
    """Fits on all rows, or on the training rows of `split`, and writes the model with notes on its origin."""
    asked = split or {"protocol": None, "seed": seed, "n_query": None, "n_train": None}
    start = time.perf_counter()
    fitted = Model.fit(
        dataset, method, n_bits, protocol=asked["protocol"], n_query=asked["n_query"], n_train=asked["n_train"],
        seed=seed, resume_from=resume_from, progress=progress, **(parameters or {}),
    )  # fmt: skip
    seconds = round(time.perf_counter() - start, 2)
    if is_writer():
        fitted.save(path)
    return {
        "model": str(path), "method": fitted.method, "bits": n_bits, "n_train": fitted.n_train, "fit_seconds": seconds,
    }  # fmt: skip


def _split_rows(dataset: DataSet, split: dict[str, Any]) -> Split:
    rule = get_protocol(split["protocol"])
    return rule.split(dataset.labels, dataset.test, split["seed"], split["n_query"], split["n_train"])


def encode_data(
    model: str | Path,
    dataset: DataSet,
    path: str | Path,
    *,
    skip_bad: bool = False,
    runner: Runner = in_threads,
    progress: Progress = quiet,
) -> tuple[CodeSet, tuple[str, ...]]:
    """Codes of all rows, written to `path`; images pass through the features the model was fitted on.

    Memory holds a few blocks of pictures, and of each row its name and label.
    """
    left_out = to_npz(Encoding(model, dataset, runner, skip_bad=skip_bad), path, progress)
    return load_codes(path), left_out


def encode_anywhere(
    model: str | Path,
    dataset: DataSet,
    path: Path | None,
    address: str | None = None,
    *,
    first_id: int = 0,
    replace: bool = False,
    skip_bad: bool = False,
    runner: Runner = in_threads,
    progress: Progress = quiet,
) -> tuple[int, tuple[str, ...]]:
    """Codes of all rows to an NPZ or Parquet `path` or into the index at `address`: (bits, sentences on bad rows)."""
    encoding = Encoding(model, dataset, runner, skip_bad=skip_bad)
    if path is None:
        assert address is not None  # one of the two is given
        left_out = to_index(encoding, address, first_id=first_id, replace=replace, progress=progress)
    elif is_parquet(path):
        left_out = to_parquet(encoding, path, progress)
    else:
        left_out = to_npz(encoding, path, progress)
    return encoding.n_bits, left_out


def search_photos(
    engine: Index, model: str | Path, photos: Sequence[Path], k: int, radius: int | None = None
) -> list[dict[str, Any]]:
    """For each photo its code and the k nearest items, or all within `radius`, with name, labels and distance."""
    encoder = Model.load(model)
    encoder.check_index(engine)
    packed = encoder.encode(list(photos))
    if radius is None:
        found = [Hits(*row) for row in zip(*engine.search(packed, k), strict=True)]
    else:
        found = engine.search_radius(packed, radius)
    return [
        {"photo": str(photo), "code": to_hex(code), "hits": hits_of(engine, hits)}
        for photo, code, hits in zip(photos, packed, found, strict=True)
    ]


def hits_of(engine: Index, found: Hits) -> list[dict[str, Any]]:
    """One query's hits with what people want to see of them."""
    hits = []
    for rank, (distance, number, detail) in enumerate(zip(*found, engine.describe(found[1]), strict=True), 1):
        name, labels = (str(number), ()) if detail is None else detail
        hits.append({"rank": rank, "id": int(number), "name": name, "labels": list(labels), "distance": int(distance)})
    return hits


def _features(dataset: DataSet) -> NDArray[np.float32]:
    if dataset.features is None:
        raise UserError(f"{dataset.name} holds images and no features: name some, for example --features lite0")
    return dataset.features
