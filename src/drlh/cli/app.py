"""The command `drlh`: its verbs in the order of the workflow, and how it ends.

Results go to stdout (`--json` for programs), progress and remarks to stderr; a user's mistake is one sentence and exit
code 2. Heavy packages load inside the verbs that need them.
"""

import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from drlh.cli.collect import encode, index, remove
from drlh.cli.console import say
from drlh.cli.find import search, serve
from drlh.cli.learn import fit, pretrain
from drlh.cli.measure import bench_app, evaluate, report
from drlh.cli.prepare import data_app, features
from drlh.cli.start import demo, methods
from drlh.core.errors import UserError
from drlh.core.files import is_writer


class WorkflowOrder(TyperGroup):
    """Lists the verbs in the order in which they are used; typer would put those with verbs of their own last."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [name for name in _ORDER if name in self.commands]


_ORDER = (
    "demo", "methods", "data", "features", "pretrain", "fit", "encode", "index", "search", "remove", "serve",
    "evaluate", "bench", "report",
)  # fmt: skip

app = typer.Typer(
    cls=WorkflowOrder,
    help="Learn short binary codes for images and search millions of images with them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo)
app.command()(methods)
app.add_typer(data_app, name="data")
app.command()(features)
app.command()(pretrain)
app.command()(fit)
app.command()(encode)
app.command()(index)
app.command()(search)
app.command()(remove)
app.command()(serve)
app.command()(evaluate)
app.add_typer(bench_app, name="bench")
app.command()(report)

_LEARNING = ("fit", "pretrain")  # what several processes can do together
_PATIENCE = 30.0  # seconds, until the process that speaks has spoken

# Errors of the library name parameters; here they become the flags that people type.
_FLAGS = (
    (r"\b(replace|skip_bad)=True\b", lambda found: f"--{found[1].replace('_', '-')}"),
    (r"\bfeatures='(\w+)'", lambda found: f"--features {found[1]}"),
    (r"\bbackend='(\w+)'", lambda found: f"--backend {found[1]}"),
    (r"\b(first_id|n_query|n_train|ray_address|data_dir|allow_host|token_file)\b",
     lambda found: f"--{found[1].replace('_', '-')}"),
    (r"\bresume_from\b", lambda found: "--resume"),
)  # fmt: skip


def main() -> None:
    """Entry point of the command `drlh`."""
    try:
        _run()
    except SystemExit as end:
        if _n_processes() == 1:
            raise
        # Threads of gloo outlive their group, and one that lets go of a tensor while Python ends aborts the process.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(end.code if isinstance(end.code, int) else 0)


def _run() -> None:
    """Runs the verb; ends in SystemExit."""
    try:
        with _process_group():
            app(standalone_mode=True)
    except UserError as error:
        if is_writer():
            say(f"drlh: {with_flags(str(error))}")
        else:  # torchrun's first process makes the same mistake, and is stopped as soon as another one ends
            time.sleep(_PATIENCE)
        sys.exit(2)
    except KeyboardInterrupt:
        say("drlh: stopped")
        sys.exit(130)


def with_flags(sentence: str) -> str:
    """An error of the library in the words of the command line: `replace=True` → `--replace`."""
    for pattern, flag in _FLAGS:
        sentence = re.sub(pattern, flag, sentence)
    return sentence


def _n_processes() -> int:
    """Those that torchrun has started."""
    return int(os.environ.get("WORLD_SIZE", "1"))


@contextmanager
def _process_group() -> Iterator[None]:
    """Under torchrun: one of its processes, of which the first alone speaks."""
    if _n_processes() == 1:
        yield
        return
    verb = sys.argv[1] if len(sys.argv) > 1 else ""
    if verb not in _LEARNING:
        raise UserError(f"torchrun is for the verbs that learn, {' and '.join(_LEARNING)}: run drlh {verb} without it")
    from drlh.hashers.training.distributed import process_group

    with process_group(), open(os.devnull, "w", encoding="utf-8") as nowhere:
        if is_writer():
            yield
        else:
            with redirect_stdout(nowhere), redirect_stderr(nowhere):
                yield


@app.callback(invoke_without_command=True)
def version(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        from importlib.metadata import version as installed

        from drlh.hamming.engine import description

        print(f"drlh {installed('drlh')}\n{description()}")
        raise typer.Exit
