"""Time and peak memory of tie-aware mAP at the sizes of the customary protocols.

    python benchmarks/metrics_speed.py [--json] [--scale 0.1]

Each case runs in a process of its own, so that its peak memory is its own.
"""

import argparse
import json
import multiprocessing
import resource
import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import Codes
from drlh.data.labels import Labels
from drlh.evaluate.metrics import mean_average_precision, normalized_gains


@dataclass(frozen=True)
class Case:
    data: str
    codes: str
    metric: str
    n_query: int
    n_database: int
    n_bits: int
    top_k: int | None
    divisor: str = "min"


def cases(scale: float) -> list[Case]:
    cifar10 = int(10_000 * scale), int(50_000 * scale), 48
    nuswide = int(2_100 * scale), int(193_734 * scale), 48
    found: list[Case] = []
    for codes in ("random", "clustered"):
        found.append(Case("cifar10-II", codes, "mAP", *cifar10, None))
        found.append(Case("cifar10-II", codes, "mAP", *cifar10, 1000, "found"))
        found.append(Case("nuswide21-II", codes, "mAP", *nuswide, 50_000))
        found.append(Case("nuswide21-II", codes, "NDCG", *nuswide, 5_000))
    return found


def labels_of(case: Case, n: int, rng: np.random.Generator) -> Labels:
    """Ten classes, or 21 concepts with a few of them on each image."""
    if case.data.startswith("cifar10"):
        return rng.integers(0, 10, n)
    labels = (rng.random((n, 21)) < 0.08).astype(np.uint8)
    labels[np.arange(n), rng.integers(0, 21, n)] = 1
    return labels


def codes_of(case: Case, labels: Labels, rng: np.random.Generator) -> Codes:
    """Coin flips, or each image on its class's codeword: 9 % on a wrong one, one in four a few bits off."""
    if case.codes == "random":
        return rng.integers(0, 2, (len(labels), case.n_bits), dtype=np.uint8)
    codebook = np.random.default_rng(7).integers(0, 2, (21, case.n_bits), dtype=np.uint8)
    first = labels if labels.ndim == 1 else labels.argmax(axis=1)
    first = np.where(rng.random(len(labels)) < 0.09, rng.integers(0, 10, len(labels)), first)
    noise = (rng.random((len(labels), case.n_bits)) < 0.05) & (rng.random((len(labels), 1)) < 0.25)
    return codebook[first] ^ noise.astype(np.uint8)


def measure(case: Case) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    sets: list[NDArray[Any]] = []
    for n in (case.n_query, case.n_database):
        labels = labels_of(case, n, rng)
        sets += [codes_of(case, labels, rng), labels]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    if case.metric == "NDCG":
        value = float(normalized_gains(sets[0], sets[1], sets[2], sets[3], top_k=case.top_k).mean())
    else:
        divisor: Any = case.divisor
        value = mean_average_precision(sets[0], sets[1], sets[2], sets[3], top_k=case.top_k, divisor=divisor)
    return asdict(case) | {
        "value": round(value, 6),
        "seconds": round(time.perf_counter() - start, 2),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "peak_before_mb": before // 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true", help="one JSON list instead of a table")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the full sizes, for a quick look")
    arguments = parser.parse_args()
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        records = pool.map(measure, cases(arguments.scale), chunksize=1)
    if arguments.json:
        print(json.dumps(records, indent=1))
        return
    print("protocol      codes      metric  cut    divisor  seconds  peak MB  value")
    for r in records:
        print(
            f"{r['data']:<13} {r['codes']:<10} {r['metric']:<7} {r['top_k'] or 'all':<6} {r['divisor']:<8} "
            f"{r['seconds']:>7} {r['peak_mb']:>8}  {r['value']:.4f}"
        )


if __name__ == "__main__":
    main()
