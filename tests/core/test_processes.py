"""Worker processes have one thread and do not outlive the run."""

import multiprocessing
import os
import time

import pytest

from drlh.core.processes import worker_pool


def test_workers_have_one_thread_and_the_environment_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    with worker_pool(1) as pool:
        names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
        assert [pool.submit(os.getenv, name).result() for name in names] == ["1"] * 3
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "MKL_NUM_THREADS" not in os.environ


def interrupt_in_mid_work() -> None:
    with worker_pool(1) as pool:
        pool.submit(os.getpid).result()
        pool.submit(time.sleep, 60)
        raise KeyboardInterrupt


def test_an_exception_ends_workers_in_mid_work() -> None:
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        interrupt_in_mid_work()
    assert time.monotonic() - started < 30
    assert multiprocessing.active_children() == []
