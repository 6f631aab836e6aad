"""Worker processes: the same codes, and one sentence when one of them dies."""

import multiprocessing
from pathlib import Path

import numpy as np
import pytest

from drlh.core.errors import UserError
from drlh.data.base import DataSet
from drlh.encoding.coder import Coder, blocks_of
from drlh.encoding.runners import in_processes, in_threads, make_runner


def test_workers_make_the_codes_of_one_process_in_its_order(model: Path, files: DataSet) -> None:
    coder = Coder(model)
    source = coder.source_of(files)
    blocks = blocks_of(source)
    ours = list(in_threads(model, coder, source, blocks))
    theirs = list(in_processes(2)(model, coder, source, blocks))
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one.good, other.good)
        np.testing.assert_array_equal(one.packed, other.packed)
        assert one.left_out == other.left_out


def test_feature_rows_are_encoded_by_workers_too_and_a_dead_one_is_told(model: Path, pixels: DataSet) -> None:
    features = np.random.default_rng(0).normal(size=(90, 16)).astype(np.float32)
    coder = Coder(model)
    blocks = [range(start, start + 10) for start in range(0, 90, 10)]
    running = in_processes(1)(model, coder, features, blocks)
    np.testing.assert_array_equal(next(running).packed, next(coder.code(features, [10])).packed)
    (worker,) = multiprocessing.active_children()
    worker.kill()
    with pytest.raises(UserError, match="worker process was killed"):
        list(running)
    assert multiprocessing.active_children() == []


def test_no_workers_are_refused() -> None:
    with pytest.raises(UserError, match=r"^workers must be at least 1: got 0"):
        in_processes(0)
    with pytest.raises(UserError, match=r"^workers must be at least 1: got 0"):
        make_runner("ray", workers=0)


def test_a_runner_is_chosen_by_its_backend() -> None:
    assert make_runner() is in_threads
    assert make_runner("local", workers=2) is not in_threads
    with pytest.raises(UserError, match="backend must be local or ray: got 'milvus'"):
        make_runner("milvus")
    with pytest.raises(UserError, match="needs the backend ray: got 'auto'"):
        make_runner(ray_address="auto")
