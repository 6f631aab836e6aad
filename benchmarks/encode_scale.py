"""Images a second of `drlh encode` with one and two workers, as processes and on Ray.

    python benchmarks/encode_scale.py [--data cifar10] [--features lite0] [--images 6144] [--json]

A worker has one core. Seconds are from start to end, with the time that workers take to start (Ray's more than
processes), which a longer run notices less: the ratio of two workers to one can only grow with the images. The codes of
all runs must be the same.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from drlh.bench.machine import machine, versions
from drlh.cli.console import print_table
from drlh.core.files import cache_directory, digest
from drlh.data import DataSet, load, subset
from drlh.encoding.coder import Runner
from drlh.encoding.encoding import Encoding
from drlh.encoding.on_ray import on_ray
from drlh.encoding.runners import in_processes
from drlh.features import make_extractor, with_features
from drlh.model import Model

RUNNERS: dict[str, Callable[[int], Runner]] = {"processes": in_processes, "ray": on_ray}
_FITTED = 256  # images to learn a model from; which model it is hardly matters beside the features


def measure(name: str, workers: int, model: Path, dataset: DataSet) -> dict[str, Any]:
    encoding = Encoding(model, dataset, RUNNERS[name](workers))
    begun = time.perf_counter()
    codes = np.concatenate([block.packed for block in encoding.run()])
    seconds = time.perf_counter() - begun
    encoding.forget()
    return {
        "runner": name,
        "workers": workers,
        "images": len(dataset),
        "seconds": round(seconds, 2),
        "images_a_second": round(len(dataset) / seconds, 1),
        "codes": digest(codes)[:16],
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="cifar10")
    parser.add_argument("--features", default="lite0")
    parser.add_argument("--images", type=int, default=6144)
    parser.add_argument("--method", default="itq")
    parser.add_argument("--runners", default="processes,ray")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    whole = load(given.data)
    dataset = subset(whole, np.arange(min(given.images, len(whole))))
    kept = cache_directory()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DRLH_CACHE"] = folder  # features that are there already would not count
        if (kept / "backbones").is_dir():
            (Path(folder) / "backbones").symlink_to(kept / "backbones")  # to convert weights is not what is measured
        few = with_features(subset(dataset, np.arange(_FITTED)), make_extractor(given.features))
        model = Path(folder) / "model"
        Model.fit(few, given.method, 32).save(model)
        records = [measure(name, n, model, dataset) for name in given.runners.split(",") for n in (1, 2)]
    ratios = {
        one["runner"]: round(two["images_a_second"] / one["images_a_second"], 2)
        for one, two in zip(records[::2], records[1::2], strict=True)
    }
    if len({record["codes"] for record in records}) != 1:
        raise SystemExit("the runs gave different codes")
    if given.json:
        print(
            json.dumps(
                {"machine": machine() | versions(), "features": given.features, "records": records, "ratios": ratios}
            )
        )
        return
    print_table(list(records[0]), [list(record.values()) for record in records])
    print("two workers beside one: " + ", ".join(f"{name} {ratio} ×" for name, ratio in ratios.items()))


if __name__ == "__main__":
    main()
