"""Verbs that fill an index: `drlh encode`, `drlh index` and `drlh remove`."""

import time
from pathlib import Path
from typing import Annotated

import typer

from drlh.cli.console import ProgressBar, print_json
from drlh.cli.options import INDEX, DataOption, DirOption, IndexOption, JsonOption, SkipOption, say_left_out
from drlh.core.errors import UserError

FirstIdOption = Annotated[int, typer.Option(help="The id of the first row; rows are counted on from there.")]
ReplaceOption = Annotated[bool, typer.Option("--replace", help="Begin anew where there is an index already.")]


def encode(
    model: Annotated[Path, typer.Argument(help="A model made by `drlh fit`.")],
    data: DataOption,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="The NPZ file of codes to write, or a directory NAME.parquet.")
    ] = None,
    index: Annotated[str | None, typer.Option("--index", help=f"Straight into an index: {INDEX}")] = None,
    workers: Annotated[
        int | None, typer.Option(help="Processes of one core each (default: this process, with threads on all cores).")
    ] = None,
    backend: Annotated[str, typer.Option(help="Where encoding runs: local, or ray for Ray Data.")] = "local",
    ray_address: Annotated[
        str | None, typer.Option(help="A Ray cluster, for example ray-head:6379 or auto (default: one of our own).")
    ] = None,
    first_id: FirstIdOption = 0,
    replace: ReplaceOption = False,
    data_dir: DirOption = None,
    skip_bad: SkipOption = False,
    as_json: JsonOption = False,
) -> None:
    """Encode a data set with a model; images pass through the model's own features. An interrupted run resumes.

    Example: drlh encode photos.model --data photos/ -o photos-codes.npz
    """
    from drlh.data import load
    from drlh.encoding.encoding import Encoding
    from drlh.encoding.outputs import to_file, to_index
    from drlh.encoding.runners import make_runner
    from drlh.index.urls import redacted

    if (out is None) == (index is None):
        raise UserError("codes need one place to go: give either -o, a file to write, or --index, an index to fill")
    runner = make_runner(backend, workers, ray_address)
    start = time.perf_counter()
    # Workers on other machines start in another directory.
    source = Path(data).absolute() if backend == "ray" and Path(data).exists() else data
    dataset = load(source, directory=data_dir, skip_bad=skip_bad)
    encoding = Encoding(model, dataset, runner, skip_bad=skip_bad)
    with ProgressBar() as bar:
        if index is not None:
            left_out = to_index(encoding, index, first_id=first_id, replace=replace, progress=bar)
        elif out is not None:
            left_out = to_file(encoding, out, bar)
    say_left_out((*dataset.left_out, *left_out))
    n, place = len(dataset) - len(left_out), str(out) if index is None else redacted(index)
    result = {
        "index" if index else "file": place,
        "rows": n,
        "bits": encoding.n_bits,
        "seconds": round(time.perf_counter() - start, 2),
    }
    if as_json:
        print_json(result)
    else:
        print(f"{place}: {n:,} codes of {encoding.n_bits} bits in {result['seconds']} s")


def index(
    codes: Annotated[Path, typer.Argument(help="Codes made by `drlh encode`: an NPZ file or a directory of Parquet.")],
    index: IndexOption,
    first_id: FirstIdOption = 0,
    replace: ReplaceOption = False,
    approximate: Annotated[
        str | None,
        typer.Option(help="Make a new index that searches approximately, by ivf or hnsw; its recall is measured."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a searchable index of codes, or add codes to one. Adding the same file again changes nothing.

    Example: drlh index photos-codes.npz --index photos-index
    """
    from drlh.encoding.indexing import index_codes

    with ProgressBar() as bar:
        result = index_codes(codes, index, first_id=first_id, replace=replace, approximate=approximate, progress=bar)
    if as_json:
        print_json(result)
        return
    print(
        f"{result['index']}: {result['rows']:,} codes of {result['bits']} bits, {result['loaded']:,} loaded in "
        f"{result['seconds']} s"
    )
    if "recall" in result:
        print(
            f"{result['approximate']}: recall@{result['k']} {result['recall']:.4f}, {result['queries_per_second']:,} "
            f"queries/s; exact: {result['exact_queries_per_second']:,} queries/s"
        )


def remove(
    ids: Annotated[list[int], typer.Argument(help="Ids of images, as `drlh search --json` shows them.")],
    index: IndexOption,
    as_json: JsonOption = False,
) -> None:
    """Remove images from an index; ids that it does not hold are ignored.

    Example: drlh remove 17 20345 --index photos-index
    """
    from drlh.index.opening import open_index
    from drlh.index.urls import redacted

    with open_index(index) as place:
        n_removed = place.remove(ids)
        n = len(place)
    if as_json:
        print_json({"index": redacted(index), "removed": n_removed, "rows": n})
    else:
        print(f"{redacted(index)}: {n_removed:,} removed, {n:,} left")
