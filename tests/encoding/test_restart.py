"""The command in its own process: killed, interrupted, run again."""

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from drlh.core.files import read_npz, write_npz
from drlh.data import load
from drlh.data.base import ArrayImages, DataSet
from drlh.encoding.codes_file import CodeSet, load_codes
from drlh.encoding.codes_parquet import ParquetCodes
from drlh.encoding.outputs import encode_to_file
from drlh.features import make_extractor, with_features
from drlh.model import Model

N = 4 * 512
# Where tests run in the background, Ctrl-C is switched off for all that they start.
MAIN = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from drlh.cli import main; main()"
COMMAND = [sys.executable, "-c", MAIN, "encode"]


def encoded(model: Path, data: DataSet, path: Path) -> CodeSet:
    encode_to_file(model, data, path)
    return load_codes(path)


@pytest.fixture
def work(tmp_path: Path) -> tuple[Path, Path]:
    """A model whose features take a second a block, and pictures for four blocks."""
    pixels = np.random.default_rng(0).integers(0, 256, (N, 32, 32, 3), dtype=np.uint8)
    np.savez(tmp_path / "data.npz", images=pixels, y=np.arange(N) % 3)
    few = DataSet("few", np.arange(20) % 3, ("a", "b", "c"), ArrayImages(pixels[:20], "few"))
    Model.fit(with_features(few, make_extractor("gist")), "lsh", 24).save(tmp_path / "model")
    return tmp_path / "model", tmp_path / "data.npz"


def wait_for_parts(process: subprocess.Popen[bytes], cache: Path, n: int) -> list[Path]:
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        parts = list((cache / "codes").rglob("*.npz"))
        if len(parts) >= n:
            return parts
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    raise AssertionError("no block was finished")


def processes_of(group: int) -> list[int]:
    """Processes of a group that are alive."""
    found = []
    for place in Path("/proc").iterdir():
        try:
            state, _, its_group = (place / "stat").read_text().rpartition(")")[2].split()[:3]
        except (OSError, ValueError):
            continue
        if int(its_group) == group and state != "Z":
            found.append(int(place.name))
    return found


def wait_until_alone(group: int) -> list[int]:
    wait_for(lambda: not processes_of(group))
    return processes_of(group)


def begin(work: tuple[Path, Path], out: Path, *options: str, **settings: str) -> subprocess.Popen[bytes]:
    model, data = work
    arguments = [*COMMAND, str(model), "--data", str(data), "-o", str(out), *options]
    return subprocess.Popen(arguments, stderr=subprocess.PIPE, start_new_session=True, env=os.environ | settings)


def falsify(part: Path) -> None:
    """Turns the bits of a part: where they show up in the result, the block was not encoded again."""
    arrays = read_npz(part, map_members=False)
    write_npz(part, arrays | {"packed": ~arrays["packed"]})


def blocks_that_differ(found: np.ndarray, whole: np.ndarray) -> list[int]:
    return np.flatnonzero((found != whole).any(axis=1).reshape(-1, 512).all(axis=1)).tolist()


def test_a_killed_run_leaves_no_process_and_the_next_one_goes_on(
    work: tuple[Path, Path], cache: Path, tmp_path: Path
) -> None:
    process = begin(work, tmp_path / "c.npz", "--workers", "2")
    parts = wait_for_parts(process, cache, 1)
    process.kill()
    process.communicate(timeout=60)
    assert wait_until_alone(process.pid) == []
    assert not (tmp_path / "c.npz").exists()
    falsify(parts[0])
    (parts[0].parent / f".{parts[0].name}.abc.part").write_bytes(b"half")  # as a kill amid a write leaves it
    model, data = work
    found = encoded(model, load(data), tmp_path / "c.npz")
    assert list((cache / "codes").iterdir()) == []
    whole = encoded(model, load(data), tmp_path / "whole.npz")
    assert found.names.tolist() == whole.names.tolist() == [f"data/{row}" for row in range(N)]
    (first,) = blocks_that_differ(found.packed, whole.packed)
    assert (found.packed != whole.packed).any(axis=1).sum() == 512
    np.testing.assert_array_equal(found.packed[512 * first :][:512], ~whole.packed[512 * first :][:512])


def test_ctrl_c_ends_all_processes(work: tuple[Path, Path], cache: Path, tmp_path: Path) -> None:
    process = begin(work, tmp_path / "c.npz", "--workers", "2")
    wait_for_parts(process, cache, 1)
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in told
    assert wait_until_alone(process.pid) == []
    assert not (tmp_path / "c.npz").exists()


RAY = """
import sys
import ray
started = ray.init(num_cpus=2, include_dashboard=False, object_store_memory=100 << 20, log_to_driver=False)
print(started.address_info["address"], flush=True)
sys.stdin.read()
"""


TOKEN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}


@pytest.fixture(scope="module")
def ray_address() -> Iterator[str]:
    """A cluster of two cores in a process of its own, so that nothing of Ray is in this one."""
    environment = os.environ | {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"} | TOKEN
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, "-c", RAY], env=environment, text=True, **pipes) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        yield holder.stdout.readline().strip()
        holder.stdin.close()


def test_a_killed_run_on_a_ray_of_its_own_goes_on_in_a_cluster(
    work: tuple[Path, Path], cache: Path, tmp_path: Path, ray_address: str
) -> None:
    out = tmp_path / "c.parquet"
    process = begin(work, out, "--backend", "ray", "--workers", "2")
    parts = wait_for_parts(process, cache, 1)
    ours = ray_processes(cache)
    assert ours
    process.kill()
    process.communicate(timeout=60)
    assert not out.exists()
    falsify(parts[0])
    process = begin(work, out, "--backend", "ray", "--ray-address", ray_address, **TOKEN)
    _, told = process.communicate(timeout=300)
    assert process.returncode == 0, told
    assert all(line.startswith(b"encoding") for line in told.splitlines()), told
    codes = ParquetCodes(out)
    assert np.concatenate([block.ids for block in codes.blocks()]).tolist() == list(range(N))
    whole = encoded(work[0], load(work[1]), tmp_path / "whole.npz")
    assert (codes.packed != whole.packed).any(axis=1).sum() == 512
    assert blocks_that_differ(codes.packed, whole.packed) == [0]
    assert wait_for(lambda: not ray_processes(cache)), "Ray outlived the run that was killed"


def ray_processes(cache: Path) -> list[str]:
    """Processes of Ray that a run with this cache has started."""
    found = []
    for place in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            ours = f"DRLH_CACHE={cache}".encode() in (place / "environ").read_bytes()
            command = (place / "cmdline").read_bytes()
            if ours and (b"ray::" in command or b"raylet" in command or b"gcs_server" in command):
                found.append(place.name)
    return found


def wait_for(there: Callable[[], bool]) -> bool:
    for _ in range(600):
        if there():
            return True
        time.sleep(0.1)
    return False
