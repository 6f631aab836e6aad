"""What parameters may be, for every method; nothing here needs torch."""

import math
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

from drlh.core.errors import UserError

Check = tuple[str, Callable[[Any], bool], str]  # a parameter, whether a value of it will do, what is wanted


def is_whole(value: Any) -> bool:
    return isinstance(value, Integral)


def is_count(value: Any) -> bool:
    return isinstance(value, Integral) and int(value) >= 1


def count(name: str, least: int = 1, *, optional: bool = False) -> Check:
    """A whole number of at least `least`; None too, where the parameter is optional."""
    wanted = f"a whole number of at least {least}"
    return (name, lambda value: (optional and value is None) or (is_whole(value) and value >= least), wanted)


def number(name: str, wanted: str, holds: Callable[[Any], bool], *, optional: bool = False) -> Check:
    """A finite number for which `holds`; None too, where the parameter is optional."""

    def right(value: Any) -> bool:
        if value is None:
            return optional
        return isinstance(value, Real) and math.isfinite(value) and holds(value)

    return (name, right, wanted)


def fraction(name: str, *, optional: bool = False) -> Check:
    return number(name, "at least 0 and below 1", lambda value: 0 <= value < 1, optional=optional)


def positive(name: str, *, optional: bool = False) -> Check:
    return number(name, "above 0", lambda value: value > 0, optional=optional)


def not_negative(name: str, *, optional: bool = False) -> Check:
    return number(name, "at least 0", lambda value: value >= 0, optional=optional)


def flag(name: str) -> Check:
    return (name, lambda value: type(value).__name__ in ("bool", "bool_"), "True or False")  # numpy's too


def check_values(owner: str, checks: list[Check], values: Callable[[str], Any]) -> None:
    """Refuses the first parameter of `owner` whose value will not do."""
    for name, holds, wanted in checks:
        value = values(name)
        try:
            right = holds(value)
        except (TypeError, ValueError):  # not even a number
            right = False
        if not right:
            raise UserError(f"{name} of {owner} must be {wanted}: got {value!r}")
