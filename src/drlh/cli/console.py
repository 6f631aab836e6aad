"""What people see in a terminal: progress on stderr, tables and JSON on stdout."""

import json
import shutil
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

_LINE_EVERY = 10.0  # seconds, where stderr is a file and a bar would fill it


class ProgressBar:
    """A `drlh.core.progress.Progress` that draws a bar with rate and time left; on a file, a line now and then."""

    def __init__(self, *, time_left: bool = True) -> None:
        """`time_left=False` where the caller's own words say it better."""
        self._time_left = time_left
        self._last_call = self._last_line = time.monotonic()
        self._since = (self._last_call, 0)  # when the clock of the rate began, and what was done then
        self._first: tuple[float, int] | None = None  # the stage's first call, until the second
        self._what = ""
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            *([TimeRemainingColumn()] if time_left else []),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task("", total=None, rate="", visible=False)

    def __enter__(self) -> "ProgressBar":
        if sys.stderr.isatty():
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if sys.stderr.isatty():
            self._bar.stop()

    def __call__(self, done: int, total: int, what: str, /) -> None:
        now = time.monotonic()
        stage = what.split(" ")[0].rstrip(",")  # "cells, now itq 16 bits" and "cells" are the same work
        if stage != self._what:
            # The first call comes after the first block of work, so a stage began where the one before it ended.
            self._what, self._since, self._first = stage, (self._last_call, 0), (now, done)
            self._bar.reset(self._task, total=total, visible=True)
        elif self._first is not None:
            # Work that is taken up again has much done at its first call, and not in the time since the stage began.
            self._since, self._first = self._first, None
        self._last_call = now
        rate = (done - self._since[1]) / max(now - self._since[0], 1e-9)
        if sys.stderr.isatty():
            shown = f"{rate:,.0f}/s" if rate >= 1 and self._time_left else ""
            self._bar.update(self._task, completed=done, total=total, description=what, rate=shown)
        elif now - self._last_line >= _LINE_EVERY:
            self._last_line = now
            left = f", {rate:,.1f}/s" if self._time_left and rate >= 0.1 else ""
            left += f", {(total - done) / rate:,.0f} s left" if self._time_left and rate > 0 else ""
            print(f"{what}: {done:,} of {total:,}{left}", file=sys.stderr, flush=True)


def own_words() -> list[str]:
    """How this program was started, for commands that people copy."""
    program = sys.argv[0]
    if program.endswith("__main__.py"):
        return [sys.executable, "-m", "drlh"]
    found, started, here = shutil.which("drlh"), Path(program).absolute(), Path.cwd()
    if found and Path(found).absolute() == started:
        return ["drlh"]
    below = here in started.parents[1:]  # right here, the bare name would be looked for on the PATH
    return [str(started.relative_to(here)) if below else program]


def print_json(value: object) -> None:
    print(json.dumps(value, indent=1, ensure_ascii=False))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], title: str | None = None) -> None:
    """A plain table; numbers stand right. A pipe gets the same table, uncut."""
    body = [[_shown(cell) for cell in row] for row in rows]
    table = Table(header_style="bold", box=None, pad_edge=False)
    for number, column in enumerate(columns):
        numeric = bool(body) and all(_is_number(row[number]) for row in body)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in body:
        table.add_row(*row)
    if title:
        print(title)
    Console(width=None if sys.stdout.isatty() else 160, highlight=False, markup=False).print(table)


def _is_number(text: str) -> bool:
    return text == "-" or text.replace(".", "", 1).isdigit()


def _shown(cell: Any) -> str:
    if cell is None:
        return "-"
    return f"{cell:.4f}" if isinstance(cell, float) else str(cell)


def say(text: str) -> None:
    """A remark for people, on stderr, so that stdout stays clean for programs."""
    print(text, file=sys.stderr, flush=True)
