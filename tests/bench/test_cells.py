"""What makes two cells the same, and what sets them apart."""

from pathlib import Path
from typing import Any

import pytest

from drlh.bench.cells import changed_parameters, record_key
from drlh.core.errors import UserError


def key(**changes: Any) -> str:
    cell = {
        "kind": "scores", "data_digest": "d", "split_digest": "s", "protocol": "split", "protocol_version": 1,
        "method": "itq", "method_version": 1, "bits": 16, "seed": 0, "parameters": {}, "data": "a name", "map": 0.5,
    }  # fmt: skip
    return record_key(cell | changes)


def test_a_parameter_with_its_default_value_changes_nothing() -> None:
    assert changed_parameters("itq", {"n_iterations": 50}) == {}
    assert changed_parameters("itq", {"n_iterations": 3}) == {"n_iterations": 3}
    assert changed_parameters("topline", {"random_state": None}) == {}


def test_every_part_that_decides_a_result_sets_cells_apart_and_nothing_else_does() -> None:
    decisive: dict[str, Any] = {
        "kind": "tsne", "data_digest": "e", "split_digest": "t", "protocol": "cifar10-I", "protocol_version": 2,
        "method": "lsh", "method_version": 2, "bits": 32, "seed": 1, "parameters": {"n_iterations": 3},
    }  # fmt: skip
    keys = [key(), *(key(**{name: value}) for name, value in decisive.items())]
    assert len(set(keys)) == len(keys)
    assert key(data="another name", map=0.7, commit="abc") == key()


def test_the_same_number_or_file_written_otherwise_is_the_same_cell() -> None:
    assert key(parameters={"gamma": 0}) == key(parameters={"gamma": 0.0})
    assert key(parameters={"backbone_weights": "a.safetensors 0123456789"}) == key(
        parameters={"backbone_weights": "b.safetensors 0123456789"}
    )


def test_keys_stay_as_they_are() -> None:
    # Committed records are found by them.
    assert key(parameters={"n_iterations": 3}) == "889e020ad97d9c61"


def test_a_file_of_weights_counts_by_content_and_must_be_there(tmp_path: Path) -> None:
    (tmp_path / "w").write_bytes(b"weights")
    assert changed_parameters("drlh", {"backbone_weights": str(tmp_path / "w")}) == {"backbone_weights": "w 9a129038d9"}
    with pytest.raises(UserError, match="is not a file"):
        changed_parameters("drlh", {"backbone_weights": str(tmp_path / "none")})
