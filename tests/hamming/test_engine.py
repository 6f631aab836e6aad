"""Which engine compares codes: chosen by what is there, by the environment, or for a while."""

import os
import subprocess
import sys

import pytest

from drlh.core.errors import UserError
from drlh.hamming import engine
from drlh.hamming.engine import engines, split, using


def in_fresh_process(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    whole = {name: value for name, value in os.environ.items() if name != "DRLH_KERNEL"} | environment
    return subprocess.run([sys.executable, "-c", script], env=whole, capture_output=True, text=True)


def test_the_highest_level_is_taken_unless_the_environment_names_another() -> None:
    script = "from drlh.hamming import engine; print(engine.current(), engine.settings.threads)"
    assert in_fresh_process(script, OMP_NUM_THREADS="3").stdout.split() == [engines()[-1], "3"]
    for name in engines():
        assert in_fresh_process(script, DRLH_KERNEL=name, OMP_NUM_THREADS="1").stdout.split() == [name, "1"]
    result = in_fresh_process(script, DRLH_KERNEL="mmx")
    assert result.returncode != 0
    assert "DRLH_KERNEL must be one of faiss" in result.stderr


def test_without_the_kernel_faiss_answers_and_the_version_says_so() -> None:
    script = (
        "import sys; sys.modules['drlh.hamming._kernel'] = None\n"  # as if it had not been compiled
        "import numpy as np\n"
        "from drlh.index.local.index import LocalIndex\n"
        "index = LocalIndex(48)\n"
        "index.add(np.eye(50, 6, dtype=np.uint8), np.arange(50))\n"
        "print(index.search(np.zeros((1, 6), np.uint8), 3).ids.tolist())\n"
        "from drlh.cli import main\n"
        "sys.argv = ['drlh', '--version']; main()\n"
    )
    result = in_fresh_process(script)
    assert result.stdout.splitlines()[0] == "[[6, 7, 8]]"
    assert result.stdout.count("compared by faiss: the kernel was not compiled") == 1


def test_an_engine_is_used_for_a_while_and_then_no_more() -> None:
    before = engine.current(), engine.settings.threads
    with using("faiss", threads=7):
        assert (engine.current(), engine.settings.threads) == ("faiss", 7)
        assert engine.description() == "codes are compared by faiss" or not engine.LEVELS
    assert (engine.current(), engine.settings.threads) == before
    with pytest.raises(UserError, match="got 'abacus'"), using("abacus"):
        pass


@pytest.mark.skipif(not engine.LEVELS, reason="the kernel was not compiled on this machine")
def test_the_version_names_the_level() -> None:
    result = in_fresh_process("import sys; from drlh.cli import main; sys.argv = ['drlh', '--version']; main()")
    assert f"compared by the kernel, {engines()[-1]}" in result.stdout


def test_pieces_cover_everything_once_and_little_work_is_not_cut() -> None:
    with using(threads=4):
        assert split(10, 10) == [slice(0, 10)]
        pieces = split(10, 10**9)
        assert [place for piece in pieces for place in range(piece.start, piece.stop)] == list(range(10))
        assert len(pieces) == 4
        assert split(2, 10**9) == [slice(0, 1), slice(1, 2)]
