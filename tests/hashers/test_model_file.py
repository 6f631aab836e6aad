"""Model files: what is refused, and what older versions wrote."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from drlh.core.errors import UserError
from drlh.hashers.classic.itq import ITQ
from drlh.hashers.model_file import load_hasher, read_model_file, save_hasher

OLD = Path(__file__).parent / "old_models"
OLD_CODES = dict(np.load(OLD / "codes.npz"))
QUERY = OLD_CODES.pop("query")


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
    save_hasher(tmp_path / "model", hasher)
    data = (tmp_path / "model").read_bytes()
    (tmp_path / "model").write_bytes(data[: len(data) // 2])
    with pytest.raises(UserError, match="damaged"):
        load_hasher(tmp_path / "model")


@pytest.mark.parametrize("name", OLD_CODES)
def test_a_model_of_the_first_format_gives_the_codes_it_gave(name: str) -> None:
    """Written by the code before parameters had their names of today; `drlh-paper` was a preset of drlh."""
    file = read_model_file(OLD / f"{name}.model")
    assert file.notes == {"made": "by an old version"}
    assert file.method == name.removesuffix("-plain").removesuffix("-several-labels")
    np.testing.assert_array_equal(file.hasher.transform(QUERY), OLD_CODES[name])


def test_old_names_of_parameters_become_todays() -> None:
    default = load_hasher(OLD / "drlh.model").get_params()
    wanted = {
        "hidden_size": 8, "batch_size": 32, "ensemble_size": 2, "target_confidence": 0.9, "codebook_adaptation": 0.3,
        "feature_power": 0.7, "validation_fraction": 0.1, "loss_weight_exponent": 1.0, "codebook": "bch", "gamma": 0.5,
    }  # fmt: skip
    assert {name: default[name] for name in wanted} == wanted
    paper = load_hasher(OLD / "drlh-paper.model").get_params()
    wanted = {"max_flips": 2, "double_q": True, "target_update_interval": 5, "eta": 1, "batch_size": 16, "gamma": 0.9}
    assert {name: paper[name] for name in wanted} == wanted
    assert load_hasher(OLD / "center.model").get_params()["logit_scale"] == 3.0
    assert load_hasher(OLD / "ksh.model").get_params()["bandwidth"] == 2.5


def test_a_model_of_today_with_an_unknown_parameter_is_refused(tmp_path: Path) -> None:
    hasher = ITQ(8, random_state=0).fit(np.random.default_rng(0).normal(size=(50, 10)))
    save_hasher(tmp_path / "model", hasher)
    data = (tmp_path / "model").read_bytes()
    (tmp_path / "model").write_bytes(data.replace(b"random_state", b"random_stole"))
    with pytest.raises(UserError, match="ITQ has no parameter 'random_stole'"):
        load_hasher(tmp_path / "model")
