"""Cells: one experiment each, with all that decides its result, and the key that its record is found by."""

import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from drlh.core.errors import UserError
from drlh.core.files import digest, file_digest
from drlh.hashers.methods import METHODS, REFERENCES, find_method, is_reference, make_hasher, make_reference

# With the parameters that differ from the defaults, this is what decides a record. The version is the method's own:
# a release of drlh that leaves its numbers alone leaves its records alone.
_DECISIVE = (
    "kind", "data_digest", "split_digest", "protocol", "protocol_version", "method", "method_version", "bits", "seed",
)  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """One experiment: a method with parameters, a code length and a seed. A reference line has 0 bits."""

    method: str
    n_bits: int
    seed: int
    parameters: Mapping[str, Any] = field(default_factory=dict)


def cells_of(
    methods: Sequence[str], bits: Sequence[int], seeds: Sequence[int], parameters: Mapping[str, Any]
) -> list[Cell]:
    """Every combination; `all` stands for every method, and names are checked before anything runs."""
    names = [method.name for method in METHODS + REFERENCES] if list(methods) == ["all"] else methods
    found = [find_method(name).name for name in names]
    for name in found:
        make_estimator(name, 32, parameters)
    if not (found and bits and seeds):
        raise UserError("a bench needs at least one method, one code length and one seed")
    lengths = {name: [0] if is_reference(name) else bits for name in found}
    return [Cell(name, n_bits, seed, parameters) for name in found for n_bits in lengths[name] for seed in seeds]


def make_estimator(name: str, n_bits: int, parameters: Mapping[str, Any]) -> Any:
    """An unfitted hasher or reference line."""
    return make_reference(name, **parameters) if is_reference(name) else make_hasher(name, n_bits, **parameters)


def changed_parameters(method: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that differ from the estimator's defaults; a file of weights by its name and content."""
    if not parameters:
        return {}  # without importing the method
    defaults = _defaults(method)
    changed = {name: value for name, value in parameters.items() if name not in defaults or defaults[name] != value}
    if changed.get("backbone_weights"):
        changed["backbone_weights"] = _name_and_content(Path(changed["backbone_weights"]))
    return changed


@cache
def _defaults(method: str) -> dict[str, Any]:
    signature = inspect.signature(type(make_estimator(method, 32, {})))
    return {name: parameter.default for name, parameter in signature.parameters.items()}


def _name_and_content(path: Path) -> str:
    if not path.is_file():
        raise UserError(f"backbone_weights={str(path)!r} is not a file: wanted one of `drlh pretrain` or a publisher's")
    return f"{path.name} {file_digest(path)[:10]}"


def record_key(record: Mapping[str, Any]) -> str:
    """What a record, or a cell described like one, is known by."""
    parameters = {name: _plain(name, value) for name, value in record["parameters"].items()}
    decisive = [*(record[name] for name in _DECISIVE), parameters]
    return digest(json.dumps(decisive, sort_keys=True, default=repr))[:16]


def _plain(name: str, value: Any) -> Any:
    """1.0 and 1 are the same value, and a file of weights is the same under another name."""
    if name == "backbone_weights" and isinstance(value, str):
        return value.rpartition(" ")[2]
    return int(value) if isinstance(value, float) and value.is_integer() else value
