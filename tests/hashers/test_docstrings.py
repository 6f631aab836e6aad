"""Every parameter and every fitted attribute of a method is documented in numpydoc sections."""

import inspect
import re
from typing import Any

import numpy as np
import pytest

from drlh.hashers.methods import METHODS, REFERENCES, Method, _class_of

every_method = pytest.mark.parametrize("method", METHODS + REFERENCES, ids=lambda method: method.name)


def documented(cls: type, section: str) -> set[str]:
    """Names with a line of their own in a section of the docstring of the class or of a base of it."""
    names: set[str] = set()
    for owner in cls.__mro__:
        if not owner.__module__.startswith("drlh.") or owner.__doc__ is None:
            continue
        found = re.search(rf"^{section}\n-+\n(.*?)(?=^\w+\n-+\n|\Z)", inspect.cleandoc(owner.__doc__), re.M | re.S)
        entries = re.findall(r"^(\S[^:\n]*?)(?: :.*)?\n    \S", found[1], re.M) if found else []
        names.update(name.strip(" *") for entry in entries for name in entry.split(","))
    return names


def own_parameters(cls: Any) -> set[str]:
    return set(inspect.signature(cls.__init__).parameters) - {"self"}


def fitted_attributes(cls: Any, parameters: dict[str, Any]) -> set[str]:
    labels = np.arange(40) % 4
    features = 3 * np.eye(4)[labels] + np.random.default_rng(0).normal(size=(40, 4))
    return {name for name in vars(cls(**parameters).fit(features, labels)) if name.endswith("_")}


@every_method
def test_every_parameter_has_its_line(method: Method) -> None:
    cls = _class_of(method)
    missing = own_parameters(cls) - documented(cls, "Parameters")
    assert not missing, f"Parameters of {cls.__name__} does not name {sorted(missing)}"


@every_method
def test_every_fitted_attribute_has_its_line(method: Method) -> None:
    cls = _class_of(method)
    quick = {"n_bits": 6, "n_epochs": 1} if "n_epochs" in inspect.signature(cls).parameters else {}
    missing = fitted_attributes(cls, quick | {"random_state": 0}) - documented(cls, "Attributes")
    assert not missing, f"Attributes of {cls.__name__} does not name {sorted(missing)}"


@every_method
def test_idea_reference_and_differences_come_before_the_parameters(method: Method) -> None:
    text = inspect.cleandoc(_class_of(method).__doc__)
    parts = ["**Idea.**", "**Reference.**", "**Differences.**", "\nParameters\n----------\n"]
    places = [text.find(part) for part in parts]
    assert -1 not in places
    assert places == sorted(places)


def test_a_name_without_a_line_is_missed() -> None:
    class Undocumented:
        """A class.

        Parameters
        ----------
        first, second : int
            Two.

        Attributes
        ----------
        third_ : int
            One.
        """

    Undocumented.__module__ = "drlh.tests"
    assert documented(Undocumented, "Parameters") == {"first", "second"}
    assert documented(Undocumented, "Attributes") == {"third_"}
