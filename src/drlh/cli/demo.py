"""The main job on scikit-learn's digits: learn codes, index them, search, and show what was found."""

import time
from pathlib import Path
from typing import Any

import numpy as np

from drlh.bench.scores import evaluate_file
from drlh.core.codes import unpack
from drlh.core.files import write_text
from drlh.core.progress import Progress, quiet
from drlh.data import DataSet, load, subset
from drlh.data.labels import label_names
from drlh.encoding.codes_file import CodeSet, load_codes
from drlh.encoding.indexing import load_items, notes_of
from drlh.encoding.outputs import encode_to_file
from drlh.evaluate.protocols import Split, get_protocol
from drlh.features import make_extractor, with_features
from drlh.hashers.methods import DEFAULT_METHOD
from drlh.index.local.index import LocalIndex
from drlh.model import Model
from drlh.report.demo_page import Hit, Search, demo_page

N_QUERY, N_BITS, SEED = 500, 32, 0
METHODS = ("lsh", "itq", DEFAULT_METHOD)
_SHOWN_QUERIES, _SHOWN_HITS = 10, 10


def run_demo(directory: Path, progress: Progress = quiet) -> dict[str, Any]:
    """Fills `directory` with models, codes, an index and `index.html`; returns the records and the page's path."""
    dataset = with_features(load("digits"), make_extractor("gray8"), progress=progress)
    records = [_measure(dataset, method, directory, progress) for method in METHODS]
    split = get_protocol("split").split(dataset.labels, None, SEED, N_QUERY)
    model = directory / f"{METHODS[-1]}.model"
    database = subset(dataset, split.database)
    index, codes = _indexed(model, database, directory / "codes.npz", directory / "index")
    other = directory / f"{METHODS[-2]}.model"
    _indexed(other, database, directory / f"{other.stem}-database.npz", directory / f"{other.stem}-index")
    searches = _searches(dataset, split, model, index, codes, directory)
    page = directory / "index.html"
    write_text(page, demo_page("drlh on handwritten digits", _summary(split), records, searches))
    return {
        "records": records,
        "page": str(page),
        "model": str(model),
        "index": str(directory / "index"),
        "compare": f"{other}={directory / f'{other.stem}-index'}",
    }


def _indexed(model: Path, database: DataSet, path: Path, place: Path) -> tuple[LocalIndex, CodeSet]:
    encode_to_file(model, database, path)
    codes = load_codes(path)
    index = LocalIndex.create(place, codes.n_bits, notes=notes_of(codes))
    load_items(index, codes)
    return index, codes


def _measure(dataset: DataSet, method: str, directory: Path, progress: Progress) -> dict[str, Any]:
    """Fits on the training rows, encodes all, and ranks the database for each query."""
    model, codes = directory / f"{method}.model", directory / f"{method}-codes.npz"
    start = time.perf_counter()
    fitted = Model.fit(dataset, method, N_BITS, protocol="split", n_query=N_QUERY, seed=SEED, progress=progress)
    about = {"method": method, "bits": N_BITS, "fit_seconds": round(time.perf_counter() - start, 2)}
    fitted.save(model)
    encode_to_file(model, dataset, codes)
    scores = evaluate_file(codes, "split", seed=SEED, n_query=N_QUERY)
    return about | {name: scores[name] for name in ("map", "map_best", "map_worst", "n_query", "n_database")}


def _summary(split: Split) -> str:
    return (
        f"{len(split.query):,} queries search {len(split.database):,} images of scikit-learn's digits by codes of a "
        f"few bytes. Below, {DEFAULT_METHOD} with {N_BITS} bits: {N_BITS // 8} bytes an image."
    )


def _searches(
    dataset: DataSet, split: Split, model: Path, index: LocalIndex, codes: CodeSet, directory: Path
) -> list[Search]:
    """The first query of each class against the index."""
    labels = dataset.labels[split.query]
    _, first = np.unique(labels, return_index=True)
    rows = split.query[first][:_SHOWN_QUERIES]
    queries = subset(dataset, rows)
    assert queries.features is not None  # made above
    packed = Model.load(model).encode(queries.features)
    distances, found = index.search(packed, _SHOWN_HITS)
    query_bits, bits = unpack(packed, N_BITS), unpack(codes.packed, N_BITS)
    assert dataset.images is not None  # digits are pictures
    searches = []
    for place, row in enumerate(rows):
        hits = []
        for distance, hit in zip(distances[place], found[place], strict=True):
            picture = dataset.images.read(int(split.database[hit]))
            label = codes.labels[hit]
            name = label_names(label, dataset.classes)[0]
            hits.append(Hit(picture, name, int(distance), bool(label == dataset.labels[row]), bits[hit]))
        name = label_names(dataset.labels[row], dataset.classes)[0]
        searches.append(Search(dataset.images.read(int(row)), name, query_bits[place], hits))
    return searches
