"""The kernel's own tests on a build that stops at any access out of bounds and any undefined behaviour."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hatch_build import LIBRARY, ROOM, compile_kernel

ROOT = Path(__file__).parents[2]
TESTS = ("tests/hamming/test_kernel.py", "tests/hamming/test_lists.py", "tests/hamming/test_buckets.py")
SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g", "-O1")


def sanitizer(compiler: str) -> str:
    """The library of the sanitizer, which must be loaded before everything else."""
    asked = subprocess.run([compiler, "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    return asked.stdout.strip()


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The kernel's room in a copy of the sources."""
    compiler = shutil.which("gcc")
    if compiler is None or not Path(sanitizer(compiler)).is_file():
        pytest.skip("needs gcc with libasan to build the sanitized kernel")
    monkeypatch.setenv("CC", compiler)
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    return tmp_path / ROOM


def run_kernel_tests(room: Path, *, draws: int) -> subprocess.CompletedProcess[str]:
    problem = compile_kernel(room, room / LIBRARY, *SANITIZED)
    assert problem is None, problem
    environment = os.environ | {
        "PYTHONPATH": str(room.parents[1]),
        "LD_PRELOAD": sanitizer(os.environ["CC"]),
        "ASAN_OPTIONS": "detect_leaks=0",  # the interpreter frees little when it ends
        "PYTHONMALLOC": "malloc",  # so that small arrays have guarded bounds too
        "DRLH_FUZZ": str(draws),
    }
    quietly = ("-q", "-x", "-s", "-p", "no:xdist", "-p", "no:cacheprovider")
    # Streams need megabytes, and a sanitized kernel minutes for them.
    command = [sys.executable, "-m", "pytest", *quietly, "-k", "not streams", *TESTS]
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)


def test_the_kernel_keeps_within_its_arrays_and_the_language(copy: Path) -> None:
    result = run_kernel_tests(copy, draws=15)
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    assert " passed" in result.stdout


def test_a_read_past_the_end_is_noticed(copy: Path) -> None:
    source = (copy / "levels.h").read_text(encoding="utf-8")
    assert "at + GROUP <= n" in source
    (copy / "levels.h").write_text(source.replace("at + GROUP <= n", "at < n"), encoding="utf-8")
    result = run_kernel_tests(copy, draws=5)
    assert "heap-buffer-overflow" in result.stdout + result.stderr
