"""The list of methods: one line each. CLI, contract tests and tables follow from it."""

import difflib
import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drlh.errors import UserError

if TYPE_CHECKING:  # scikit-learn takes a second to import: not before a hasher is made
    from drlh.hashers.base import Hasher


@dataclass(frozen=True)
class Method:
    """A name for the command line, and where its class lives."""

    name: str
    family: str  # traditional, deep, reinforcement or control
    supervised: bool
    class_name: str
    module: str
    reference: str


METHODS = (
    Method(
        "drlh", "reinforcement", True, "DRLH", "drlh.hasher", "Wang, Hong & Yuan, Label embedding reward, WACV 2020"
    ),
    Method("itq", "traditional", False, "ITQ", "itq", "Gong & Lazebnik, Iterative quantization, CVPR 2011"),
    Method("lsh", "control", False, "LSH", "lsh", "Charikar, Similarity estimation by rounding, STOC 2002"),
)

DEFAULT_METHOD = "drlh"


def find_method(name: str) -> Method:
    for method in METHODS:
        if name in (method.name, method.class_name):
            return method
    names = [method.name for method in METHODS]
    close = difflib.get_close_matches(name.lower(), names, 1, 0.4)
    hint = f"did you mean {close[0]!r}?" if close else f"choose one of {', '.join(names)}"
    raise UserError(f"there is no method {name!r}; {hint}")


def hasher_class(name: str) -> type["Hasher"]:
    method = find_method(name)
    module = importlib.import_module(f"drlh.hashers.{method.module}")
    cls: type[Hasher] = getattr(module, method.class_name)
    return cls


def make_hasher(name: str, n_bits: int = 32, **parameters: Any) -> "Hasher":
    """An unfitted hasher by name, for example `make_hasher("itq", 48, random_state=0)`."""
    cls = hasher_class(name)
    known = cls._get_param_names()
    for parameter in parameters:
        if parameter not in known:
            raise UserError(f"{cls.__name__} has no parameter {parameter!r}; it takes {', '.join(known)}")
    return cls(n_bits=n_bits, **parameters)


def load_hasher(path: str | Path) -> tuple["Hasher", dict[str, Any]]:
    """(hasher, notes) from a file that `save_hasher` wrote."""
    from drlh.hashers.base import read_model, restore

    header, arrays = read_model(path)
    hasher = make_hasher(header["method"], **header["parameters"])
    return restore(hasher, header, arrays), header["notes"]
