"""Options that several verbs share, and how their values are read."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from drlh.cli.console import say
from drlh.core.errors import UserError

DATA = "A data set's name, an image folder, a CSV/TSV table, or an NPZ of features."
INDEX = "A directory, postgresql://…, milvus://… or a Milvus file FILE.db."

DataOption = Annotated[str, typer.Option("--data", help=DATA)]
DirOption = Annotated[Path | None, typer.Option("--data-dir", help="Where a named data set lies.")]
FeaturesOption = Annotated[
    str | None,
    typer.Option("--features", help="pixels, grayN, gist, lite0-2, cnn-small, alexnet, cnn-f, FILE.onnx, or a+b."),
]
FlipOption = Annotated[bool, typer.Option("--flip", help="Average the features of each image and its mirror image.")]
WeightsOption = Annotated[Path | None, typer.Option(help="Weights file for cnn-small, alexnet or cnn-f.")]
LayerOption = Annotated[str | None, typer.Option(help="Layer of alexnet or cnn-f: fc7, fc6 or pool5.")]
SkipOption = Annotated[bool, typer.Option("--skip-bad", help="Leave unreadable rows out and say how many.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", help="A parameter of the method, NAME=VALUE; may be repeated.")
]
PROTOCOLS = "cifar10-I (also -disjoint and -train), cifar10-II, nuswide21-I, nuswide21-II, unseen-classes, split."
ProtocolOption = Annotated[str, typer.Option(help=PROTOCOLS)]
SeedOption = Annotated[int, typer.Option(help="Seed of the split and of the method.")]
QueryOption = Annotated[int | None, typer.Option("--n-query", help="Number of queries (protocol split).")]
TrainOption = Annotated[int | None, typer.Option("--n-train", help="Number of training images (protocol split).")]
IndexOption = Annotated[str, typer.Option("--index", help=INDEX)]
RecordsOption = Annotated[Path, typer.Option(help="Directory of the records, one for each cell.")]
ResumeOption = Annotated[
    Path | None, typer.Option(help="Directory for checkpoints: an interrupted run resumes from the last one.")
]


def parse_parameters(given: list[str] | None) -> dict[str, Any]:
    """`--set n_iterations=20` → {"n_iterations": 20}; what is not JSON is taken as text."""
    parameters: dict[str, Any] = {}
    for item in given or []:
        name, equals, text = item.partition("=")
        if not equals:
            raise UserError(f"--set takes NAME=VALUE: got {item!r}")
        try:
            parameters[name] = json.loads(text)
        except ValueError:
            parameters[name] = text
    return parameters


def words(text: str) -> list[str]:
    return [word for word in text.replace(" ", "").split(",") if word]


def numbers(text: str, option: str) -> list[int]:
    try:
        return [int(word) for word in words(text)]
    except ValueError as error:
        raise UserError(f"{option} takes whole numbers with commas between them: got {text!r}") from error


def say_left_out(sentences: tuple[str, ...]) -> None:
    for sentence in sentences[:3]:
        say(f"left out: {sentence}")
    if sentences:
        say(f"left out {len(sentences):,} rows in all")
