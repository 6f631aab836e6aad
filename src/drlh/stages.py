"""What the verbs do, stage by stage: data → model, data → codes, photo → hits."""

import inspect
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import pack, to_hex
from drlh.core.errors import UserError
from drlh.core.files import file_digest, is_writer
from drlh.core.progress import Progress, quiet
from drlh.data import DataSet, FileImages, subset
from drlh.data.base import Labels
from drlh.encoding.coder import extractor_of
from drlh.encoding.codes_file import CodeSet, load_codes
from drlh.encoding.codes_parquet import ParquetCodes, is_parquet
from drlh.encoding.encoding import Encoding
from drlh.encoding.indexing import index_notes, load_items, load_rows, made_with
from drlh.encoding.on_ray import on_ray
from drlh.encoding.outputs import to_engine, to_npz, to_parquet
from drlh.encoding.runners import Runner, in_processes, in_threads
from drlh.evaluate.protocols import get_protocol, labels_digest, split_digest
from drlh.evaluate.splits import Split
from drlh.hashers.methods import find_method, make_hasher
from drlh.hashers.model_file import read_model_file, save_hasher
from drlh.index.base import Found, Index
from drlh.index.opening import create_index, shown
from drlh.index.recall import measure_recall


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
    hasher = make_hasher(method, n_bits, random_state=seed, **(parameters or {}))
    if resume_from is not None and "resume_from" not in inspect.signature(hasher.fit).parameters:
        raise UserError(f"{method} keeps no checkpoints, so it cannot resume; leave --resume out")
    notes: dict[str, Any] = {
        "data": dataset.name,
        "supervised": hasher.supervised,
        "classes": list(dataset.classes),
        "extractor": dataset.extractor,
        "labels": labels_digest(dataset.labels),
        "split": None,
    }
    if split:
        rows = _split_rows(dataset, split)
        notes["split"] = split | {"digest": split_digest(rows)}
        dataset = subset(dataset, rows.train)
    start = time.perf_counter()
    options: dict[str, Any] = {} if resume_from is None else {"resume_from": resume_from}
    hasher.fit(_features(dataset), dataset.labels, progress=progress, **options)
    seconds = round(time.perf_counter() - start, 2)
    name = find_method(method).name
    if is_writer():
        save_hasher(path, hasher, notes)
    return {"model": str(path), "method": name, "bits": n_bits, "n_train": len(dataset), "fit_seconds": seconds}


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
        left_out = to_engine(encoding, address, first_id=first_id, replace=replace, progress=progress)
    elif is_parquet(path):
        left_out = to_parquet(encoding, path, progress)
    else:
        left_out = to_npz(encoding, path, progress)
    return encoding.n_bits, left_out


def find_runner(engine: str, workers: int | None, ray_address: str | None) -> Runner:
    """Where to encode, as people say it."""
    if engine not in ("local", "ray"):
        raise UserError(f"--engine of encode is local or ray: got {engine!r}; an index to fill is named by --into")
    if engine == "ray":
        return on_ray(workers, ray_address)
    if ray_address is not None:
        raise UserError("--ray-address goes with --engine ray: add it, or leave the address out")
    return in_threads if workers is None else in_processes(workers)


def index_codes(
    path: Path,
    address: str,
    *,
    first_id: int = 0,
    replace: bool = False,
    approximate: str | None = None,
    progress: Progress = quiet,
) -> dict[str, Any]:
    """Loads a file or a Parquet directory of codes into the index at `address`, which is made where there is none."""
    codes = ParquetCodes(path) if is_parquet(path) else load_codes(path)
    start = time.perf_counter()
    notes = index_notes(codes.notes)
    with create_index(address, codes.n_bits, notes=notes, approximate=approximate, replace=replace) as place:
        if isinstance(codes, CodeSet):
            load_items(place, codes, first_id=first_id, progress=progress)
        else:
            load_rows(place, codes.blocks(), codes.classes, first_id=first_id, total=len(codes), progress=progress)
        seconds = round(time.perf_counter() - start, 2)
        result = {"index": shown(address), "rows": len(place), "loaded": len(codes), "bits": codes.n_bits}
        if place.approximate is not None:
            result |= {"approximate": place.approximate} | measure_recall(place, codes.packed)
    return result | {"seconds": seconds}


def search_photos(
    engine: Index, model: str | Path, photos: Sequence[Path], k: int, radius: int | None = None
) -> list[dict[str, Any]]:
    """For each photo its code and the k nearest items, or all within `radius`, with name, labels and distance."""
    file = read_model_file(model)
    if not made_with(engine.notes, file_digest(model)):
        raise UserError(f"the codes of this index were not made with {model}: name the model that made them")
    images = FileImages(Path(), [str(photo) for photo in photos])
    pictures = [images.read(row) for row in range(len(images))]
    packed = pack(file.hasher.transform(extractor_of(file.notes)(pictures)))
    if radius is None:
        found = list(zip(*engine.search(packed, k), strict=True))
    else:
        found = engine.search_radius(packed, radius)
    return [
        {"photo": str(photo), "code": to_hex(code), "hits": hits_of(engine, hits)}
        for photo, code, hits in zip(photos, packed, found, strict=True)
    ]


def hits_of(engine: Index, found: Found) -> list[dict[str, Any]]:
    """One query's hits with what people want to see of them."""
    hits = []
    for rank, (distance, number, detail) in enumerate(zip(*found, engine.describe(found[1]), strict=True), 1):
        name, labels = (str(number), ()) if detail is None else detail
        hits.append({"rank": rank, "id": int(number), "name": name, "labels": list(labels), "distance": int(distance)})
    return hits


def label_names(label: Labels | np.integer[Any], classes: Sequence[str]) -> list[str]:
    """The class names of one row's label, an id or a multi-hot vector."""
    ids = np.flatnonzero(label).tolist() if np.ndim(label) else [int(label)]
    return [classes[number] for number in ids]


def _features(dataset: DataSet) -> NDArray[np.float32]:
    if dataset.features is None:
        raise UserError(f"{dataset.name} holds images and no features: name some, for example --features lite0")
    return dataset.features
