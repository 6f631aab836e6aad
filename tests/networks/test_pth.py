"""PyTorch's files read without torch are what torch reads."""

import os
import subprocess
import sys
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
import torch

from drlh.core.errors import UserError
from drlh.networks.weights import packaged_weights, read_state_dict


def same(path: Path) -> bool:
    wanted = {name: np.asarray(value) for name, value in torch.load(path, weights_only=True).items()}
    found = read_state_dict(path)
    assert list(found) == list(wanted)
    return all(found[name].dtype == wanted[name].dtype and np.array_equal(found[name], wanted[name]) for name in wanted)


@pytest.mark.parametrize("new_format", [True, False])
def test_both_formats_are_read_as_torch_reads_them(tmp_path: Path, new_format: bool) -> None:
    base = torch.arange(24.0).reshape(4, 6)
    state = OrderedDict(
        view=base[1:3, ::2],
        turned=base.T,
        again=base,
        half=base.half(),
        counts=torch.tensor(7),
        empty=torch.empty(0, 3),
        flags=torch.tensor([True, False]),
    )
    torch.save(state, tmp_path / "a.pth", _use_new_zipfile_serialization=new_format)
    assert same(tmp_path / "a.pth")


def test_a_modules_own_state_dict_is_read(tmp_path: Path) -> None:
    torch.save(torch.nn.BatchNorm1d(3).state_dict(), tmp_path / "norm.pth")
    assert same(tmp_path / "norm.pth")


def test_the_published_weights_of_lite0_are_read_as_torch_reads_them() -> None:
    assert same(packaged_weights("lite0"))


@pytest.mark.parametrize("n_bytes", [10, 700, 1500])
@pytest.mark.parametrize("new_format", [True, False])
def test_a_file_cut_short_is_refused(tmp_path: Path, new_format: bool, n_bytes: int) -> None:
    torch.save({"a": torch.rand(400)}, tmp_path / "a.pth", _use_new_zipfile_serialization=new_format)
    (tmp_path / "a.pth").write_bytes((tmp_path / "a.pth").read_bytes()[:n_bytes])
    with pytest.raises(UserError, match=r"a\.pth cannot be read as a table of named weights"):
        read_state_dict(tmp_path / "a.pth")


def test_converting_and_extracting_need_no_torch(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import numpy as np; from drlh.features import make_extractor\n"
        "print(make_extractor('lite0')([np.zeros((9, 9, 3), np.uint8)]).shape)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"DRLH_CACHE": str(tmp_path)},
    )
    assert result.stdout.strip() == "(1, 1280)", result.stderr
