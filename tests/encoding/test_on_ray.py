"""What surrounds Ray; that it encodes, and goes on after a kill, is in test_restart."""

import sys
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest

from drlh.core.errors import UserError
from drlh.data.base import DataSet
from drlh.encoding import on_ray as tested
from drlh.encoding.coder import Coder
from drlh.encoding.on_ray import on_ray


def test_shared_memory_that_is_small_or_missing_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    usage = namedtuple("usage", "total used free")
    assert not tested._has_room(tmp_path / "none")
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage(0, 0, 64 << 20))
    assert not tested._has_room(tmp_path)
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage(0, 0, 1 << 30))
    assert tested._has_room(tmp_path)


def test_without_ray_one_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, model: Path, pixels: DataSet
) -> None:
    for name in tested._SETTINGS | {"RAY_AUTH_MODE": "", "RAY_AUTH_TOKEN": ""}:
        monkeypatch.setenv(name, "")  # so that what is set here does not stay
    monkeypatch.setitem(sys.modules, "ray", None)
    coder = Coder(model)
    with pytest.raises(UserError, match=r"pip install 'drlh\[ray\]'"):
        list(on_ray(2)(model, coder, coder.source_of(pixels), [range(512)]))


def test_what_a_worker_could_not_do_is_the_commands_sentence() -> None:
    with pytest.raises(UserError, match="the weights of lite0 are not installed"):
        tested._unwrapped({"error": "the weights of lite0 are not installed"})


def test_a_block_without_one_good_picture_comes_back() -> None:
    row = {"error": "", "good": bytes(3), "packed": b"", "width": 6, "left_out": '["a", "b", "c"]'}
    coded = tested._unwrapped(row)
    assert (coded.packed.shape, coded.left_out) == ((0, 6), ("a", "b", "c"))
    assert not np.any(coded.good)


def test_nothing_to_do_starts_no_ray(monkeypatch: pytest.MonkeyPatch, model: Path, pixels: DataSet) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    coder = Coder(model)
    assert list(on_ray(2)(model, coder, coder.source_of(pixels), [])) == []
