"""Queries a second of the in-process index beside faiss's IndexBinaryFlat, one thread, exact, k = 100.

    python benchmarks/search_speed.py [--rounds 5] [--json]             # the bars of search_bars.py, on random codes
    python benchmarks/search_speed.py CODES.npz [--sizes 1e7] [--rounds 5] [--json] [--plot search.png]

CODES.npz is a file of `drlh encode`; n codes are drawn from it with replacement, and beside them n uniformly random
ones of the same length. Our index lies in a directory and is mapped; faiss holds the codes padded to its fast width in
memory. The two take turns within a round, so that a busy machine slows both, and their answers are compared. Memory is
what a fresh process holds more after it has opened the index and searched it.
"""

import argparse
import json
import multiprocessing
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"  # read by faiss when it loads

import faiss
import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import Packed, bytes_per_code
from drlh.encoding.codes_file import load_codes
from drlh.hamming.scan import pad
from drlh.index.local.index import LocalIndex
from search_bars import K, measure_bars, rate
from search_bars import table as bars_table

_DRAWN = 10_000_000  # rows made in one go
Source = Callable[[int, np.random.Generator], Packed]


def sources(codes: Path) -> tuple[int, dict[str, Source]]:
    """The length of the codes, and how codes of each kind are drawn."""
    items = load_codes(codes)
    learned = np.ascontiguousarray(items.packed)
    if items.n_bits % 8:
        raise SystemExit("random codes are drawn as bytes: give codes whose length is a multiple of 8")
    return items.n_bits, {
        "learned": lambda n, rng: learned[rng.integers(0, len(learned), n)],
        "random": lambda n, rng: rng.integers(0, 256, (n, bytes_per_code(items.n_bits)), np.uint8),
    }


def build(source: Source, n: int, n_bits: int, width: int, directory: Path) -> tuple[Any, float]:
    """The peer in memory and ours in `directory`, with the seconds ours took."""
    peer = faiss.IndexBinaryFlat(8 * width)
    rng, seconds = np.random.default_rng(0), 0.0
    index = LocalIndex.create(directory, n_bits)
    for start in range(0, n, _DRAWN):
        packed = source(min(_DRAWN, n - start), rng)
        peer.add(pad(packed))
        begun = time.perf_counter()
        index.add(packed, np.arange(start, start + len(packed)))
        seconds += time.perf_counter() - begun
    return peer, seconds


def resident_bytes() -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmRSS:")[1].split()[0]) * 1024


def opened_bytes(directory: Path, queries: Packed) -> int:
    """What a process holds more with the index open and searched; mapped pages count."""
    LocalIndex(8).add(queries[:1, :1], [0])  # loads what is loaded once
    LocalIndex(8).search(queries[:1, :1], 1)
    before = resident_bytes()
    with LocalIndex.open(directory, verify=False) as index:
        index.search(queries, K)
        return resident_bytes() - before


def in_fresh_process(function: Callable[..., int], *arguments: object) -> int:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def one_by_one(search: Callable[[Packed], object], queries: Packed) -> Callable[[], object]:
    return lambda: [search(queries[row : row + 1]) for row in range(len(queries))]


def n_queries(n: int) -> int:
    """Enough queries for a second of the peer's time, as far as that goes."""
    return int(np.clip(10**9 // n, 20, 2000))


def same_answers(index: LocalIndex, peer: Any, queries: Packed) -> bool:
    distances, ids = index.search(queries, K)
    peer_distances, peer_ids = peer.search(pad(queries), K)
    # faiss pads with id -1 where it holds fewer than k.
    found: NDArray[np.int64] = peer_ids[:, : ids.shape[1]]
    return bool((distances == peer_distances[:, : ids.shape[1]]).all() and (ids == found).all())


def measure(kind: str, source: Source, n: int, n_bits: int, rounds: int, directory: Path) -> dict[str, Any]:
    queries = source(n_queries(n), np.random.default_rng(1))
    padded = pad(queries)
    peer, build_seconds = build(source, n, n_bits, padded.shape[1], directory)
    some = max(10, len(queries) // 10)
    with LocalIndex.open(directory) as index:
        identical = same_answers(index, peer, queries[:100])
        trials: dict[str, Callable[[], float]] = {
            "ours": lambda: rate(len(queries), lambda: index.search(queries, K)),
            "faiss": lambda: rate(len(queries), lambda: peer.search(padded, K)),
            "ours, one by one": lambda: rate(some, one_by_one(lambda q: index.search(q, K), queries[:some])),
            "faiss, one by one": lambda: rate(some, one_by_one(lambda q: peer.search(q, K), padded[:some])),
        }
        runs = [{name: trial() for name, trial in trials.items()} for _ in range(rounds)]
        scanned, held = index.n_scanned, index.nbytes
    raw = n * (bytes_per_code(n_bits) + 4)
    opened = in_fresh_process(opened_bytes, directory, queries[:100])
    return {
        "codes": kind,
        "n": n,
        "bits": n_bits,
        "k": K,
        "queries": len(queries),
        "scanned": scanned,
        "identical": identical,
        "rates": {name: [run[name] for run in runs] for name in trials},
        "ratio": statistics.median(run["ours"] / run["faiss"] for run in runs),
        "ratio_one_by_one": statistics.median(run["ours, one by one"] / run["faiss, one by one"] for run in runs),
        "build_seconds": round(build_seconds, 2),
        "bytes": held,
        "opened_bytes": opened,
        "memory_ratio": round(max(held, opened) / raw, 3),
    }


def plot(records: list[dict[str, Any]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    for kind, colour in (("learned", "tab:blue"), ("random", "tab:orange")):
        rows = [record for record in records if record["codes"] == kind]
        for who, line in (("ours", "o-"), ("faiss", "s--")):
            rates = [statistics.median(row["rates"][who]) for row in rows]
            axes.plot([row["n"] for row in rows], rates, line, color=colour, label=f"{who}, {kind} codes")
    axes.set(xscale="log", yscale="log", xlabel="codes", ylabel="queries a second, one thread")
    axes.set_title(f"Exact search, {records[0]['bits']} bits, k = {K}")
    axes.grid(alpha=0.3, which="both")
    axes.legend()
    figure.savefig(path, dpi=150)


def table(records: list[dict[str, Any]]) -> str:
    lines = [
        f"{records[0]['bits']} bits, k = {K}, one thread, medians of {len(records[0]['rates']['ours'])} rounds",
        "",
        "codes           n   scanned      ours     faiss   ratio  one by one  identical  memory/raw  build s",
    ]
    for r in records:
        ours, peer = (statistics.median(r["rates"][name]) for name in ("ours", "faiss"))
        lines.append(
            f"{r['codes']:<8}{r['n']:>9.0e}{r['scanned']:>10,}{ours:>10,.0f}{peer:>10,.0f}{r['ratio']:>8.2f}"
            f"{r['ratio_one_by_one']:>12.2f}{'yes' if r['identical'] else 'NO':>11}{r['memory_ratio']:>12.2f}"
            f"{r['build_seconds']:>9.1f}"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("codes", type=Path, nargs="?", help="a file of `drlh encode`")
    parser.add_argument("--sizes", default="1e7", help="numbers of codes with commas between them")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--directory", type=Path, help="where the indexes are written (default: the system's)")
    parser.add_argument("--plot", type=Path, help="write queries a second over the number of codes to this file")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    versions = {"python": platform.python_version(), "faiss": faiss.__version__, "numpy": np.__version__}
    if given.codes is None:
        bars = measure_bars(given.rounds)
        found = {"versions": versions, "bars": [asdict(bar) for bar in bars]}
        print(json.dumps(found, indent=1, ensure_ascii=False) if given.json else bars_table(bars))
        return
    n_bits, kinds = sources(given.codes)
    records = []
    for n in [int(float(size)) for size in given.sizes.split(",")]:
        for kind, source in kinds.items():
            with tempfile.TemporaryDirectory(dir=given.directory) as directory:
                records.append(measure(kind, source, n, n_bits, given.rounds, Path(directory)))
    if given.plot:
        plot(records, given.plot)
    print(json.dumps({"versions": versions, "records": records}, indent=1) if given.json else table(records))


if __name__ == "__main__":
    main()
