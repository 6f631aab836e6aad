"""What parameters may be, for every method; nothing here needs torch."""

from collections.abc import Callable
from numbers import Integral
from typing import Any

from drlh.core.errors import UserError

Check = tuple[str, Callable[[Any], bool], str]  # a parameter, whether a value of it will do, what is wanted


def is_whole(value: Any) -> bool:
    return isinstance(value, Integral)


def is_count(value: Any) -> bool:
    return isinstance(value, Integral) and int(value) >= 1


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
