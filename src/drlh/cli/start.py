"""The first verbs: `drlh demo` and `drlh methods`."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from drlh.cli.console import ProgressBar, own_words, print_json, print_table
from drlh.cli.options import JsonOption


def demo(
    out: Annotated[Path, typer.Option("-o", "--out", help="Directory for the model, the index and the page.")] = Path(
        "demo"
    ),
    as_json: JsonOption = False,
) -> None:
    """Learn codes for scikit-learn's digits, index and search them, show a table and write a page.

    Example: drlh demo -o demo
    """
    from drlh.cli.demo import run_demo

    with ProgressBar() as bar:
        result = run_demo(out, bar)
    if as_json:
        print_json(result)
        return
    print_table(
        ["method", "bits", "mAP", "fit s"],
        [[r["method"], r["bits"], r["map"], r["fit_seconds"]] for r in result["records"]],
        title="scikit-learn digits: tie-aware mAP, 500 queries, 1,297 images searched",
    )
    print(f"\nThe page with pictures: {result['page']}")
    serving = [*own_words(), "serve", result["model"], "--index", result["index"], "--compare", result["compare"]]
    print(f"To search with your own pictures and watch them walk: {shlex.join(serving)}")


def methods(as_json: JsonOption = False) -> None:
    """List the methods, and the reference lines that `drlh bench` can set beside them.

    Example: drlh methods --json
    """
    from drlh.hashers.methods import METHODS, REFERENCES

    rows = [
        {
            "name": method.name,
            "title": method.written,
            "family": method.family if method in METHODS else "reference line",
            "supervised": method.supervised,
            "reference": method.reference,
        }
        for method in METHODS + REFERENCES
    ]
    if as_json:
        print_json(rows)
    else:
        shown = [row | {"supervised": "yes" if row["supervised"] else "no"} for row in rows]
        print_table(list(rows[0]), [list(row.values()) for row in shown])
