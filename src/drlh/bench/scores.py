"""Scores of a file of codes: ours, split by a protocol, or one made elsewhere."""

from pathlib import Path
from typing import Any

import numpy as np

from drlh.core.codes import Codes, check_codes, unpack
from drlh.core.errors import UserError
from drlh.core.files import read_npz
from drlh.data.labels import Labels
from drlh.encoding.codes_file import CodeSet, load_codes
from drlh.evaluate.legacy import legacy_mean_average_precision
from drlh.evaluate.metrics import (
    average_precisions_of,
    count_levels,
    normalized_gains,
    precisions_at,
    precisions_by_radius,
    radius_average_precisions,
    recalls_at,
    recalls_by_radius,
)
from drlh.evaluate.protocols import Split, get_protocol, labels_digest, split_digest

_FOREIGN = ("query_codes", "query_labels", "database_codes", "database_labels")
_CUTS = (1, 10, 100, 1000)
_GAIN_CUT = 100


def evaluate_file(
    path: str | Path,
    protocol: str,
    *,
    seed: int = 0,
    n_query: int | None = None,
    n_train: int | None = None,
    top_k: int | None = None,
    legacy: str | None = None,
) -> dict[str, Any]:
    """All scores of a file of codes as plain values; `warnings` says what makes a number less than it seems."""
    arrays = read_npz(path)
    if set(_FOREIGN) <= arrays.keys():
        query, query_labels, database, database_labels = (np.asarray(arrays[name]) for name in _FOREIGN)
        head: dict[str, Any] = {"protocol": None, "warnings": []}
        sets = (check_codes(query, "query_codes"), query_labels, check_codes(database, "database_codes"))
        return head | scores(*sets, database_labels, top_k=top_k, legacy=legacy)
    if "packed" not in arrays:
        found = ", ".join(arrays) or "nothing"
        raise UserError(f"{path} holds {found}: wanted codes of `drlh encode`, or {', '.join(_FOREIGN)}")
    codes = load_codes(path)
    if len(codes.classes) < 2:
        raise UserError(f"{path} has one class only ({codes.classes[0]}): a ranking is judged by two or more")
    rule = get_protocol(protocol)
    split = rule.split(codes.labels, codes.test, seed, n_query, n_train)
    head = {
        "protocol": rule.name,
        "seed": seed,
        "warnings": _warnings(codes, split),
    }
    bits = unpack(np.asarray(codes.packed), codes.n_bits)
    labels = np.asarray(codes.labels)
    sets = (bits[split.query], labels[split.query], bits[split.database])
    cut = rule.top_k if top_k is None else top_k
    return head | scores(*sets, labels[split.database], top_k=cut, legacy=legacy)


def scores(
    query: Codes,
    query_labels: Labels,
    database: Codes,
    database_labels: Labels,
    *,
    top_k: int | None = None,
    legacy: str | None = None,
) -> dict[str, Any]:
    """Every measure of 0/1 codes against 0/1 codes, averaged over the queries."""
    counts = count_levels(query, query_labels, database, database_labels)
    result: dict[str, Any] = {"bits": query.shape[1], "n_query": len(query), "n_database": len(database)}
    result["top_k"] = top_k
    for name, ties in (("map", "expected"), ("map_best", "best"), ("map_worst", "worst")):
        result[name] = float(average_precisions_of(counts, top_k=top_k, ties=ties).mean())  # type: ignore[arg-type]
    for k in _CUTS:
        if k <= len(database):
            result[f"precision@{k}"] = float(precisions_at(counts, k).mean())
            result[f"recall@{k}"] = float(recalls_at(counts, k).mean())
    result["map_within_radius_2"] = float(radius_average_precisions(counts, 2).mean())
    if query_labels.ndim == 2:
        gains = normalized_gains(query, query_labels, database, database_labels, top_k=_GAIN_CUT)
        result[f"ndcg@{_GAIN_CUT}"] = float(gains.mean())
    if legacy:
        sets = (query, query_labels, database, database_labels)
        result[f"legacy {legacy}"] = legacy_mean_average_precision(legacy, *sets, top_k=top_k)
    result["precision_by_radius"] = precisions_by_radius(counts).mean(axis=0).tolist()
    result["recall_by_radius"] = recalls_by_radius(counts).mean(axis=0).tolist()
    return result


def _warnings(codes: CodeSet, split: Split) -> list[str]:
    """What the model was trained on that makes its scores look better than they are."""
    found = []
    fitted = codes.notes.get("split")
    if fitted is None and codes.notes.get("labels") == labels_digest(np.asarray(codes.labels)):
        found.append("the model was fitted on all of these rows, queries included; fit it under the same protocol")
    elif fitted is not None and fitted.get("digest") != split_digest(split):
        found.append(f"the model was fitted under another split ({fitted['protocol']}, seed {fitted['seed']})")
    if split.training_share == 1 and codes.notes.get("supervised"):
        found.append("the method has seen the labels of the images searched")
    return found
