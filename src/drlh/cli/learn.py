"""Verbs that learn: `drlh pretrain` and `drlh fit`."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from drlh.cli.console import ProgressBar, print_json, say
from drlh.cli.options import (
    DataOption,
    DirOption,
    FeaturesOption,
    FlipOption,
    JsonOption,
    LayerOption,
    QueryOption,
    ResumeOption,
    SeedOption,
    SetOption,
    SkipOption,
    TrainOption,
    WeightsOption,
    parse_parameters,
    say_left_out,
)
from drlh.core.files import is_writer
from drlh.hashers.methods import DEFAULT_METHOD

if TYPE_CHECKING:
    from drlh.data import DataSet


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
    recipe: Annotated[
        list[str] | None, typer.Option("--set", help="n_epochs, batch_size, learning_rate, … =VALUE.")
    ] = None,
    resume: ResumeOption = None,
    skip_bad: SkipOption = False,
    as_json: JsonOption = False,
) -> None:
    """Teach a CNN to classify, for its features or as a start for codes; test images, if any, only measure.

    Example: drlh pretrain --data cifar10 --backbone cnn-small --resume checkpoints
    """
    from drlh.bench.pretraining import pretrain_backbone
    from drlh.features.making import pretrained_file
    from drlh.hashers.deep.pretrain import recipe_of
    from drlh.networks.backbone import check_weights, module_of

    size, chosen = module_of(backbone).SIZE, recipe_of(backbone, parse_parameters(recipe))
    if weights is not None:
        check_weights(backbone, weights)
    path = pretrained_file(backbone) if out is None else out
    split = {"protocol": protocol, "seed": seed, "n_query": n_query, "n_train": n_train} if protocol else None
    with ProgressBar() as bar:
        dataset = open_data(data, f"pixels{size}", directory=data_dir, skip_bad=skip_bad, bar=bar)
        result = pretrain_backbone(
            dataset, backbone, path, weights=weights, seed=seed, recipe=chosen, split=split,
            resume_from=resume, progress=bar,
        )  # fmt: skip
    if as_json:
        print_json(result)
    else:
        tested = f", {result['test_accuracy']:.2%} of {result['n_test']:,} right" if result["n_test"] else ""
        print(f"{path}: {backbone}, {result['n_train']:,} images in {result['seconds']} s{tested}")


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
    resume: ResumeOption = None,
    skip_bad: SkipOption = False,
    as_json: JsonOption = False,
) -> None:
    """Learn a code from a data set and write a model file.

    Example: drlh fit --method itq --bits 32 --data photos.npz -o photos.model
    """
    from drlh.model import Model

    chosen = parse_parameters(parameters)
    with ProgressBar() as bar:
        dataset = open_data(
            data, features, directory=data_dir, flip=flip, weights=weights, layer=layer, skip_bad=skip_bad, bar=bar,
            backbone=chosen.get("backbone"),
        )  # fmt: skip
        start = time.perf_counter()
        model = Model.fit(
            dataset, method, bits, protocol=protocol, n_query=n_query, n_train=n_train, seed=seed, resume_from=resume,
            progress=bar, **chosen,
        )  # fmt: skip
        seconds = round(time.perf_counter() - start, 2)
    if is_writer():
        model.save(out)
    result = {
        "model": str(out), "method": model.method, "bits": bits, "n_train": model.n_train, "fit_seconds": seconds,
    }  # fmt: skip
    if as_json:
        print_json(result)
    else:
        print(f"{out}: {model.method}, {bits} bits, {model.n_train:,} images in {seconds} s")


def open_data(
    data: str,
    features: str | None,
    *,
    directory: Path | None,
    skip_bad: bool,
    bar: ProgressBar,
    flip: bool = False,
    weights: Path | None = None,
    layer: str | None = None,
    backbone: str | None = None,
) -> "DataSet":
    """A data set with features, said aloud where a default was taken or rows were left out."""
    from drlh.features import load_features

    dataset = load_features(
        data, features, flip=flip, weights=weights, layer=layer, directory=directory, backbone=backbone,
        skip_bad=skip_bad, progress=bar,
    )  # fmt: skip
    if features is None and backbone is None and dataset.images is not None and dataset.extractor is not None:
        say(f"{data} holds images: taking --features {dataset.extractor['name']}")
    say_left_out(dataset.left_out)
    return dataset
