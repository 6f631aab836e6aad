"""Fitting time, encoding time and peak memory of methods, each in a process of its own.

    python benchmarks/fit_speed.py FILE.npz [--methods sh,itq,lfh,sdh,ksh,fasth] [--images 5000] [--bits 48]

FILE.npz holds features and labels, as `drlh features` makes it. The first `--images` of a random order are fitted, and
as many others encoded. Peak memory is that of the whole process; what it was before fitting stands beside it.
"""

import argparse
import json
import multiprocessing
import resource
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from drlh.cli.console import print_table
from drlh.core.errors import UserError
from drlh.data import load
from drlh.hashers.methods import make_hasher


def measure(data: str, method: str, n_images: int, n_bits: int) -> dict[str, Any]:
    dataset = load(data)
    if dataset.features is None:
        raise UserError(f"{data} holds no features; make them with `drlh features`")
    order = np.random.default_rng(0).permutation(len(dataset.labels))
    seen, other = order[:n_images], order[n_images : 2 * n_images]
    features, labels, rest = dataset.features[seen], dataset.labels[seen], dataset.features[other]
    hasher = make_hasher(method, n_bits, random_state=0)
    make_hasher(method, 8, random_state=0).fit(features[:200], labels[:200])  # imports are not what is measured
    before = peak_memory()
    start = time.perf_counter()
    hasher.fit(features, labels)
    fitted = time.perf_counter()
    hasher.transform(rest)
    encoded = time.perf_counter()
    return {
        "method": method,
        "images": len(seen),
        "features": features.shape[1],
        "bits": n_bits,
        "fit_seconds": round(fitted - start, 2),
        "encode_seconds": round(encoded - fitted, 3),
        "memory_before_mb": before,
        "peak_memory_mb": peak_memory(),
    }


def peak_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--methods", default="sh,itq,lfh,sdh,ksh,fasth")
    parser.add_argument("--images", type=int, default=5000)
    parser.add_argument("--bits", type=int, default=48)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    rows = []
    for method in given.methods.split(","):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            rows.append(pool.apply(measure, (given.data, method, given.images, given.bits)))
    if given.json:
        print(json.dumps(rows, indent=2))
    else:
        print_table(list(rows[0]), [list(row.values()) for row in rows])


if __name__ == "__main__":
    main()
