"""The list of methods."""

import pytest

import drlh
from drlh.core.errors import UserError
from drlh.hashers.methods import (
    METHODS,
    REFERENCES,
    Method,
    find_method,
    hasher_class,
    is_reference,
    make_hasher,
    make_reference,
)


def test_names_are_unique_and_every_method_says_where_it_comes_from() -> None:
    every = METHODS + REFERENCES
    assert len({method.name for method in every}) == len({method.class_name for method in every}) == len(every)
    assert all(method.reference and method.family for method in every)


def test_what_the_list_says_of_supervision_is_what_the_class_does() -> None:
    for method in METHODS:
        assert type(make_hasher(method.name)).supervised == method.supervised


def test_an_unknown_name_gets_the_nearest_match() -> None:
    with pytest.raises(UserError, match="did you mean 'itq'"):
        find_method("itqq")
    with pytest.raises(UserError, match="choose one of"):
        find_method("zzzzzz")


def test_a_class_name_serves_as_a_name() -> None:
    assert find_method("ITQ").name == "itq"


def test_a_reference_line_is_found_by_name_and_makes_no_codes() -> None:
    assert find_method("Topline").name == "topline"
    assert is_reference("topline")
    assert not is_reference("itq")
    assert hasattr(make_reference("topline", random_state=0), "query_vectors")
    with pytest.raises(UserError, match="did you mean 'topline'"):
        find_method("toplin")
    with pytest.raises(UserError, match="topline makes no codes"):
        make_hasher("topline")


def test_an_unknown_parameter_is_told_with_the_known_ones() -> None:
    with pytest.raises(UserError, match=r"ITQ has no parameter 'depth'; it takes n_bits, n_iterations"):
        make_hasher("itq", depth=3)


def test_the_method_called_dqn_is_written_in_full_and_versions_are_counted() -> None:
    assert find_method("dqn").written == "Deep Quantization Network"
    assert find_method("ITQ").written == "ITQ"
    assert all(method.version >= 1 for method in METHODS + REFERENCES)


def test_a_parameter_nearly_right_is_told_with_the_right_one() -> None:
    with pytest.raises(UserError, match=r"Topline has no parameter 'random_stat' .did you mean random_state"):
        make_reference("topline", random_stat=0)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_every_method_can_be_had_from_the_package(method: Method) -> None:
    assert getattr(drlh, method.class_name) is hasher_class(method.name)
    assert method.class_name in dir(drlh)
