"""Peak memory and images a second of `encode`, for n images and for four times as many.

    python benchmarks/encode_memory.py [--images 20000] [--features gray8] [--json]

Pictures are drawn on demand, so that only the encoding counts; each size runs in a process of its own.
"""

import argparse
import json
import multiprocessing
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from drawn import DrawnImages
from drlh.data.base import DataSet
from drlh.data.some_images import subset
from drlh.encoding.outputs import encode_to_file
from drlh.features import make_extractor, with_features
from drlh.model import Model


class InFolders(DrawnImages):
    """Called as in a deep folder: names take memory too."""

    def name(self, row: int) -> str:
        return f"pictures/of/{row // 1000:06}/{row:09}.jpg"


def measure(n: int, features: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        os.environ["DRLH_CACHE"] = folder  # features that are there already would not count
        data = DataSet("drawn", np.zeros(n, np.int64), ("any",), InFolders(n))
        some = with_features(subset(data, np.arange(512)), make_extractor(features), cache=place / "cache")
        Model.fit(some, "lsh", 48).save(place / "model")
        begun = time.perf_counter()
        encode_to_file(place / "model", data, place / "codes.npz")
        seconds = time.perf_counter() - begun
    status = Path("/proc/self/status").read_text(encoding="ascii")
    peak = int(status.split("VmHWM:")[1].split()[0]) / 1024
    return {"images": n, "peak_megabytes": round(peak), "images_a_second": round(n / seconds)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=20_000)
    parser.add_argument("--features", default="gray8")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    records = []
    for n in (given.images, 4 * given.images):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            records.append(pool.apply(measure, (n, given.features)))
    if given.json:
        print(json.dumps(records))
        return
    for record in records:
        print(
            f"{record['images']:>9,} images: peak {record['peak_megabytes']} MB, {record['images_a_second']:,} images/s"
        )


if __name__ == "__main__":
    main()
