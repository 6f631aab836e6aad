"""Two processes, as torchrun starts them, learn what one learns."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from drlh.evaluate.metrics import mean_average_precision
from drlh.hashers.methods import make_hasher
from drlh.hashers.model_file import load_hasher


def blobs(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    labels = np.arange(n) % 4
    centres = np.random.default_rng(7).normal(0, 1.5, (4, 16))
    return centres[labels] + np.random.default_rng(seed).normal(0, 1.5, (n, 16)), labels


def torchrun(*arguments: object, program: Sequence[object] = ("-m", "drlh")) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", *program]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [*map(str, command), *map(str, arguments)], capture_output=True, text=True, env=environment, timeout=300
    )


@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        ("drlh", {"n_epochs": 4, "hidden_size": 32, "loss_weight_exponent": 1.0}),
        ("drlh-paper", {"n_epochs": 3, "hidden_size": 32, "learning_rate": 0.001}),
        ("dpsh", {"n_epochs": 4, "hidden_size": 32}),  # has a memory of all images' outputs
        ("greedyhash", {"n_epochs": 4, "hidden_size": 32}),  # its loss has weights of its own
    ],
    ids=["drlh", "drlh-paper", "dpsh", "greedyhash"],
)
def test_without_dropout_two_processes_learn_what_one_learns(
    tmp_path: Path, method: str, parameters: dict[str, object]
) -> None:
    (X, y), (X_query, y_query) = blobs(203, 0), blobs(80, 1)  # an odd number: shares are unequal
    np.savez(tmp_path / "data.npz", x=X.astype(np.float32), y=y)
    parameters = {"dropout": 0.0} | ({} if method == "drlh-paper" else {"feature_dropout": 0.0}) | parameters
    options = [word for name, value in parameters.items() for word in ("--set", f"{name}={value}")]
    done = torchrun(
        "fit", "--data", tmp_path / "data.npz", "--method", method, "--bits", 12, "-o", tmp_path / "m", *options
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("203 images") == 1  # one of the two speaks
    alone = make_hasher(method, 12, random_state=0, **parameters).fit(X.astype(np.float32), y)
    together = load_hasher(tmp_path / "m")
    both = [
        mean_average_precision(hasher.transform(X_query), y_query, hasher.transform(X), y)
        for hasher in (alone, together)
    ]
    assert both[1] == pytest.approx(both[0], abs=0.02)
    same = (alone.transform(X_query) == together.transform(X_query)).mean()
    assert same > 0.95  # sums in another order round otherwise


def test_a_run_of_two_processes_can_be_taken_up(tmp_path: Path) -> None:
    X, y = blobs(80, 0)
    np.savez(tmp_path / "data.npz", x=X.astype(np.float32), y=y)
    options = (
        "fit",
        "--data",
        tmp_path / "data.npz",
        "--bits",
        12,
        "--resume",
        tmp_path / "run",
        "--set",
        "n_epochs=3",
    )
    assert torchrun(*options, "-o", tmp_path / "a").returncode == 0
    assert (tmp_path / "run").is_dir()
    again = torchrun(*options, "-o", tmp_path / "b")
    assert again.returncode == 0, again.stderr
    codes = [load_hasher(tmp_path / name).transform(X) for name in "ab"]
    assert np.array_equal(*codes)


def test_a_verb_that_does_not_learn_says_so(tmp_path: Path) -> None:
    done = torchrun("methods")
    assert done.returncode != 0
    assert "torchrun is for the verbs that learn" in done.stderr


def test_the_processes_leave_before_python_tidies_up_under_the_threads_of_gloo(tmp_path: Path) -> None:
    X, y = blobs(40, 0)
    np.savez(tmp_path / "data.npz", x=X.astype(np.float32), y=y)
    program = tmp_path / "tidy.py"
    program.write_text("import atexit\nfrom drlh.cli import main\natexit.register(print, 'tidied up')\nmain()\n")
    options = ("fit", "--method", "hashnet", "--bits", 8, "--set", "n_epochs=1", "-o", tmp_path / "m")
    done = torchrun(*options, "--data", tmp_path / "data.npz", program=[program])
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("40 images") == 1  # nothing said is lost
    assert "tidied up" not in done.stdout
    mistaken = torchrun(*options, "--data", tmp_path / "nowhere.npz", program=[program])
    assert "exitcode  : 2" in mistaken.stderr
