"""Images a second of the extractors, beside the bare network, and the memory that more images take.

    python benchmarks/features_speed.py [--data cifar10] [--images 1024] [--rounds 5] [--json]

`extract` is timed from stored bytes to features on disk, with an empty cache: decode, resize, compute, write.
The bare network is a loop of `session.run` on a batch that lies ready, in two arrangements: one loop whose layers
are spread over the cores, and one loop on each core; the faster one counts. All of them take turns within a round.
Memory is the peak of a process of its own that writes a feature file from pictures drawn on demand.
"""

import argparse
import json
import multiprocessing
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from drawn import DrawnImages
from drlh.data import load
from drlh.data.base import ArrayImages, DataSet, Images
from drlh.data.some_images import SomeImages
from drlh.features import Extractor, extract, extract_to_npz, make_extractor
from drlh.features.making import converted_network
from drlh.features.onnx_network import Network


@dataclass(frozen=True)
class Rate:
    """Images a second on the clock, and a second of one core's work: the latter hardly minds a busy machine."""

    clock: float
    core: float


def rate(n: int, work: Callable[[], object]) -> Rate:
    clock, core = time.perf_counter(), time.process_time()
    work()
    return Rate(n / (time.perf_counter() - clock), n / (time.process_time() - core))


def extract_rate(images: Images, extractor: Extractor, threads: int) -> Rate:
    with tempfile.TemporaryDirectory() as cache:
        return rate(len(images), lambda: extract(images, extractor, cache=Path(cache), threads=threads))


def one_loop_rate(network: Network, n: int, threads: int, batch: int = 16) -> Rate:
    """Every layer of the network is spread over the cores."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    model = converted_network(network.settings)
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    ready = {"pictures": ready_batch(network, batch)}
    session.run(None, ready)
    return rate(n // batch * batch, lambda: [session.run(None, ready) for _ in range(n // batch)])


def loop_per_core_rate(network: Network, n: int, threads: int) -> Rate:
    """Every core runs batches of its own, as `extract` does."""
    ready = {"pictures": ready_batch(network, network.batch)}
    n_runs = n // network.batch
    with ThreadPoolExecutor(threads) as pool:
        run: Callable[[int], object] = lambda _: network.session.run(None, ready)  # noqa: E731
        return rate(n_runs * network.batch, lambda: list(pool.map(run, range(n_runs))))


def ready_batch(network: Network, batch: int) -> Any:
    size = (batch, network.height, network.width, 3)
    return np.random.default_rng(0).integers(0, 256, size, dtype=np.uint8)


def speeds(images: Images, given: argparse.Namespace) -> dict[str, Any]:
    """Images a second of every trial in every round, and what is left of the bare network's."""
    network, gist = make_extractor(given.network), make_extractor("gist")
    assert isinstance(network, Network)
    threads = given.threads
    some, many = first(images, given.images), first(images, given.gist_images)
    trials: dict[str, Callable[[], Rate]] = {
        "gist": lambda: extract_rate(many, gist, threads),
        "one loop": lambda: one_loop_rate(network, len(some), threads),
        "loop per core": lambda: loop_per_core_rate(network, len(some), threads),
        given.network: lambda: extract_rate(some, network, threads),
    }
    for extractor in (network, gist):  # what is set up once does not count
        extract_rate(first(images, 64), extractor, threads)
    rounds = [{trial: run() for trial, run in trials.items()} for _ in range(given.rounds)]
    bare = [max(rates["one loop"].clock, rates["loop per core"].clock) for rates in rounds]
    return {
        "clock": {trial: [rates[trial].clock for rates in rounds] for trial in trials},
        "core": {trial: [rates[trial].core for rates in rounds] for trial in trials},
        "ratio_clock": [rates[given.network].clock / fastest for rates, fastest in zip(rounds, bare, strict=True)],
        "ratio_core": [rates[given.network].core / rates["loop per core"].core for rates in rounds],
    }


def first(images: Images, n: int) -> Images:
    return SomeImages(images, np.arange(min(n, len(images))))


def peak_megabytes(name: str, n: int, threads: int) -> float:
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return pool.apply(write_file, (name, n, threads))


def write_file(name: str, n: int, threads: int) -> float:
    data = DataSet("drawn", np.zeros(n, np.int64), ("any",), DrawnImages(n))
    with tempfile.TemporaryDirectory() as folder:
        extract_to_npz(data, make_extractor(name), Path(folder) / "x.npz", cache=Path(folder) / "c", threads=threads)
    # Unlike ru_maxrss, this does not start from the memory of the process that started this one.
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="a data set's name or path; random 32 × 32 pictures by default")
    parser.add_argument("--network", default="lite0", choices=["lite0", "lite1", "lite2"])
    parser.add_argument("--images", type=int, default=1024, help="through the network in one trial")
    parser.add_argument("--gist-images", type=int, default=8192)
    parser.add_argument("--memory-images", type=int, default=8192, help="and four times as many")
    parser.add_argument("--memory-features", default="gist")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    record = facts(given) | speeds(pictures(given), given)
    record["peak_megabytes"] = {
        str(n): peak_megabytes(given.memory_features, n, given.threads)
        for n in (given.memory_images, 4 * given.memory_images)
    }
    print(json.dumps(record) if given.json else table(record))


def pictures(given: argparse.Namespace) -> Images:
    images = load(given.data).images if given.data else None
    if images is None:
        n = max(given.images, given.gist_images)
        images = ArrayImages(np.random.default_rng(0).integers(0, 256, (n, 32, 32, 3), dtype=np.uint8), "random")
    return images


def facts(given: argparse.Namespace) -> dict[str, Any]:
    return {
        "data": given.data or "random 32 x 32",
        "network": given.network,
        "threads": given.threads,
        "python": platform.python_version(),
        "onnxruntime": onnxruntime.__version__,
        "numpy": np.__version__,
    }


def table(record: dict[str, Any]) -> str:
    lines = [f"{record['data']}, {record['threads']} threads, medians", ""]
    lines.append(f"{'images a second':<28}{'clock':>8}{'a core':>8}")
    for trial, rates in record["clock"].items():
        core = statistics.median(record["core"][trial])
        lines.append(f"{trial:<28}{statistics.median(rates):>8.0f}{core:>8.0f}")
    clock, core = (statistics.median(record[f"ratio_{kind}"]) for kind in ("clock", "core"))
    lines += [f"{record['network'] + ' / bare network':<28}{clock:>8.3f}{core:>8.3f}", ""]
    for n, megabytes in record["peak_megabytes"].items():
        lines.append(f"peak memory, {int(n):>9,} images {megabytes:>8.0f} MB")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
