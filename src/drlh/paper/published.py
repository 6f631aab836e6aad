"""What the DRLH paper reports, as data: `published.json` holds its tables number by number."""

import json
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def _numbers() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(files(__package__).joinpath("published.json").read_text(encoding="utf-8"))
    return found


def citation() -> str:
    return str(_numbers()["citation"])


def published_rows(table: str, data: str) -> list[str]:
    """The methods of a table (`traditional`, `cnn` or `deep`) in the paper's order, by its names."""
    return list(_numbers()["tables"][table]["map"][data])


def published_map(table: str, data: str, row: str, n_bits: int) -> float | None:
    """A value of a table, or None where the paper has none; `data` is `cifar10` or `nuswide21`."""
    found = _numbers()["tables"][table]
    values = found["map"].get(data, {}).get(row)
    return values[found["bits"].index(n_bits)] if values and n_bits in found["bits"] else None


def published_features(table: str, data: str) -> str:
    return str(_numbers()["tables"][table]["features"][data])


def published_curve(name: str, data: str, n_bits: int) -> dict[int, float]:
    """Value of η (`eta`) or of the step limit (`steps`) → mAP; empty where the paper has none."""
    found = _numbers()["curves"][name]
    return dict(zip(found["values"], found["map"].get(data, {}).get(str(n_bits), [])))


def published_training() -> dict[str, str]:
    return dict(_numbers()["training"])
