import pytest

from drlh.core.errors import UserError
from drlh.hashers.training.checks import Check, check_values, is_count

CHECKS: list[Check] = [("n", is_count, "a whole number of at least 1"), ("rate", lambda value: value > 0, "above 0")]


def test_values_that_will_do_pass() -> None:
    check_values("ITQ", CHECKS, {"n": 1, "rate": 0.5}.__getitem__)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"n": 0, "rate": -1}, "n of ITQ must be a whole number of at least 1: got 0"),
        ({"n": 2.0, "rate": 1}, "n of ITQ must be a whole number of at least 1: got 2.0"),
        ({"n": 2, "rate": "fast"}, "rate of ITQ must be above 0: got 'fast'"),
        ({"n": 2, "rate": None}, "rate of ITQ must be above 0: got None"),
    ],
)
def test_the_first_that_will_not_is_refused_in_one_sentence(values: dict[str, object], said: str) -> None:
    with pytest.raises(UserError) as refused:
        check_values("ITQ", CHECKS, values.__getitem__)
    assert str(refused.value) == said
