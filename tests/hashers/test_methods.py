"""The list of methods and the model file."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

import drlh
from drlh.core.errors import UserError
from drlh.hashers.base import save_hasher
from drlh.hashers.classic.itq import ITQ
from drlh.hashers.methods import (
    METHODS,
    REFERENCES,
    Method,
    find_method,
    hasher_class,
    is_reference,
    load_hasher,
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


def test_a_file_that_is_not_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not a file"):
        load_hasher(tmp_path / "none")
    (tmp_path / "junk").write_bytes(b"junk" * 100)
    with pytest.raises(UserError, match="damaged or not a model"):
        load_hasher(tmp_path / "junk")
    save_file({"x": np.zeros(3)}, tmp_path / "foreign")
    with pytest.raises(UserError, match="not a drlh-model"):
        load_hasher(tmp_path / "foreign")
    save_file({"x": np.zeros(3)}, tmp_path / "new", {"drlh": '{"format": "drlh-model", "version": 99}'})
    with pytest.raises(UserError, match="newer"):
        load_hasher(tmp_path / "new")


def test_a_truncated_model_is_refused(tmp_path: Path) -> None:
    hasher = ITQ(8, random_state=0).fit(np.random.default_rng(0).normal(size=(50, 10)))
    save_hasher(tmp_path / "model", "itq", hasher)
    data = (tmp_path / "model").read_bytes()
    (tmp_path / "model").write_bytes(data[: len(data) // 2])
    with pytest.raises(UserError, match="damaged"):
        load_hasher(tmp_path / "model")


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_every_method_can_be_had_from_the_package(method: Method) -> None:
    assert getattr(drlh, method.class_name) is hasher_class(method.name)
    assert method.class_name in dir(drlh)
