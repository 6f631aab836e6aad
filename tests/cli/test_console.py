"""Progress where stderr is a file."""

import sys
from pathlib import Path

import pytest

from drlh.cli.console import ProgressBar, own_words


@pytest.fixture(autouse=True)
def a_line_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drlh.cli.console._LINE_EVERY", 0.0)


def test_a_line_tells_rate_and_time_left(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressBar() as bar:
        bar(1, 4, "features")
    line = capsys.readouterr().err
    assert line.startswith("features: 1 of 4, ")
    assert line.endswith(" s left\n")


def test_a_caller_that_knows_the_time_left_says_it_alone(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressBar(time_left=False) as bar:
        bar(1, 4, "cells, about 3 min left: itq 16 bits")
    assert capsys.readouterr().err == "cells, about 3 min left: itq 16 bits: 1 of 4\n"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which a test sets by its only entry."""
    now = [0.0]
    monkeypatch.setattr("drlh.cli.console.time.monotonic", lambda: now[0])
    return now


def test_work_taken_up_again_is_timed_from_there(capsys: pytest.CaptureFixture[str], clock: list[float]) -> None:
    with ProgressBar() as bar:
        for clock[0], done in ((5.0, 10), (205.0, 11), (405.0, 12)):
            bar(done, 16, "epochs")
    assert capsys.readouterr().err.splitlines()[1:] == [
        "epochs: 11 of 16, 1,000 s left",
        "epochs: 12 of 16, 800 s left",
    ]


def test_words_after_the_first_do_not_start_the_clock_anew(
    capsys: pytest.CaptureFixture[str], clock: list[float]
) -> None:
    with ProgressBar() as bar:
        for clock[0], done, what in ((0.0, 0, "cells, now itq"), (100.0, 1, "cells, now sh"), (200.0, 2, "cells")):
            bar(done, 4, what)
    assert capsys.readouterr().err.splitlines()[1:] == [
        "cells, now sh: 1 of 4, 300 s left",
        "cells: 2 of 4, 200 s left",
    ]


def test_commands_to_copy_begin_as_this_program_was_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    installed = tmp_path / "drlh"
    installed.touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    for program, words in (
        (str(installed), ["drlh"]),
        (".venv/bin/drlh", [".venv/bin/drlh"]),
        (str(Path.cwd() / ".venv/bin/drlh"), [".venv/bin/drlh"]),  # as a shell's `exec` starts it
        ("./drlh", ["./drlh"]),
        ("/elsewhere/bin/drlh", ["/elsewhere/bin/drlh"]),
        ("/x/drlh/__main__.py", [sys.executable, "-m", "drlh"]),
    ):
        monkeypatch.setattr(sys, "argv", [program])
        assert own_words() == words
