"""`drlh serve` under load: searches by 48-bit codes over a million, an uploaded photo, and the start.

    python benchmarks/serve_load.py [--codes CODES.npz] [--size 1e6] [--clients 50,200] [--seconds 10] [--json FILE]

CODES.npz is a file of `drlh encode` with 48 bits, from which rows are drawn with replacement; random codes are measured
too. The load comes from wrk (`apt-get install wrk`) on the same machine: every client sends its next query as soon as
it has its answer, k = 20. The photo is a JPEG of 1024 x 768, through EfficientNet-Lite0 and a DRLH model of 48 bits.
"""

import argparse
import io
import json
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from PIL import Image

from drlh.bench.machine import machine, versions
from drlh.cli.console import print_table, say
from drlh.core.codes import Packed, pack, to_hex
from drlh.data import load, subset
from drlh.encoding.codes_file import load_codes
from drlh.features import make_extractor, with_features
from drlh.index.details import Details
from drlh.index.local.index import LocalIndex
from drlh.model import Model

N_BITS, K = 48, 20
PHOTOS, QUERIES = 30, 2000

# wrk asks for latencies in microseconds; what it counts at the end is printed as one line of JSON.
SCRIPT = """
local codes = {}
for line in io.lines(os.getenv("DRLH_CODES")) do codes[#codes + 1] = line end
local next_one = 0
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
function request()
  next_one = next_one % #codes + 1
  return wrk.format(nil, "/search", nil, '{"code":"' .. codes[next_one] .. '","k":KKK}')
end
function done(summary, latency)
  local e = summary.errors
  io.write(string.format('{"p50":%f,"p95":%f,"p99":%f,"requests":%d,"micros":%d,"errors":%d}',
    latency:percentile(50), latency:percentile(95), latency:percentile(99), summary.requests, summary.duration,
    e.connect + e.read + e.write + e.status + e.timeout))
end
"""


def quick_model(path: Path) -> None:
    """A model that takes photos: what it has learned does not change how long it takes."""
    digits = with_features(subset(load("digits"), np.arange(300)), make_extractor("lite0"))
    Model.fit(digits, "drlh", N_BITS, n_epochs=3).save(path)


def make_index(path: Path, packed: Packed) -> None:
    names = np.array([f"photos/{row:09}.jpg" for row in range(len(packed))])
    index = LocalIndex.create(path, N_BITS)
    index.add(packed, np.arange(len(packed)), Details(names, np.arange(len(packed)) % 10, tuple("0123456789")))
    index.close()


@contextmanager
def serving(model: Path, index: Path) -> Iterator[tuple[httpx.Client, float]]:
    """(client, seconds from the start of the process until the page came)."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "drlh", "serve", str(model), str(index), "--port", str(port)]
    start = time.perf_counter()
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120) as client:
                while not answers(client):
                    assert process.poll() is None, "drlh serve did not start"
                    time.sleep(0.02)
                yield client, time.perf_counter() - start
        finally:
            process.terminate()


def answers(client: httpx.Client) -> bool:
    try:
        return client.get("/").status_code == 200
    except httpx.TransportError:
        return False


def load_of(client: httpx.Client, folder: Path, queries: Packed, n_clients: int, seconds: float) -> dict[str, Any]:
    codes, script = folder / "codes.txt", folder / "search.lua"
    codes.write_text("\n".join(to_hex(row) for row in queries))
    script.write_text(SCRIPT.replace("KKK", str(K)))
    command = ["wrk", "-t1", f"-c{n_clients}", f"-d{seconds:g}s", "-s", str(script), str(client.base_url)]
    result = subprocess.run(command, capture_output=True, text=True, check=True, env={"DRLH_CODES": str(codes)})
    found = json.loads(re.findall(r"\{.*\}", result.stdout)[-1])
    return {
        "requests_per_second": round(found["requests"] / found["micros"] * 1e6),
        **{f"{name}_ms": round(found[name] / 1000, 1) for name in ("p50", "p95", "p99")},
        "errors": found["errors"],
    }


def measure_searches(
    what: str, model: Path, folder: Path, packed: Packed, clients: list[int], seconds: float
) -> Iterator[dict[str, Any]]:
    index = folder / f"{what}-index"
    say(f"indexing {len(packed):,} {what} codes")
    make_index(index, packed)
    queries = packed[np.random.default_rng(1).integers(0, len(packed), QUERIES)]
    with serving(model, index) as (client, _):
        wait_for_map(client)
        load_of(client, folder, queries, clients[0], 2)  # caches are warm from here on
        for n_clients in clients:
            found = load_of(client, folder, queries, n_clients, seconds)
            yield {"what": f"/search, {what} codes", "items": len(packed), "clients": n_clients} | found


def wait_for_map(client: httpx.Client) -> None:
    """The map is made after the start, in the background; it is not what is measured here."""
    while client.get("/map").status_code == 202:
        time.sleep(0.2)


def photo() -> bytes:
    y, x = np.mgrid[:768, :1024]
    picture = np.stack([x / 4, y / 3, (x + y) / 7], axis=2) + np.random.default_rng(0).normal(0, 8, (768, 1024, 3))
    stream = io.BytesIO()
    Image.fromarray(picture.clip(0, 255).astype(np.uint8)).save(stream, "JPEG", quality=90)
    return stream.getvalue()


def measure_photo(client: httpx.Client) -> Iterator[dict[str, Any]]:
    """One client, one photo after another; the last row is all three together."""
    raw = photo()
    times: dict[str, list[float]] = {"/encode": [], "/walk": [], "/search": []}
    for _ in range(PHOTOS + 3):
        for path, taken in times.items():
            start = time.perf_counter()
            client.post(path, files={"image": raw}).raise_for_status()
            taken.append((time.perf_counter() - start) * 1000)
    times["encode + walk + search"] = [sum(three) for three in zip(*times.values(), strict=True)]
    for what, taken in times.items():
        kept = sorted(taken[3:])
        found = {"p50_ms": round(statistics.median(kept), 1), "p95_ms": round(kept[int(0.95 * len(kept))], 1)}
        yield {"what": f"photo: {what}", "clients": 1, "errors": 0} | found


def measure_page(client: httpx.Client) -> dict[str, Any]:
    """Everything the page asks for before it can be used."""
    start = time.perf_counter()
    page = client.get("/").text
    for path in {*re.findall(r'(?:src|href)="(page/[^"]+)"', page), "stats", "samples", "methods"}:
        client.get(f"/{path}").raise_for_status()
    return {"what": "the page and what it needs", "p50_ms": round((time.perf_counter() - start) * 1000, 1)}


def run(codes: Path | None, size: int, clients: list[int], seconds: float) -> list[dict[str, Any]]:
    rng, rows = np.random.default_rng(0), []
    with tempfile.TemporaryDirectory(prefix="drlh-serve-") as name:
        folder = Path(name)
        model = folder / "photos.model"
        quick_model(model)
        make_index(folder / "small-index", pack(rng.integers(0, 2, (1000, N_BITS), np.uint8)))
        with serving(model, folder / "small-index") as (client, until_page):
            rows.append({"what": "from the start until / answers", "p50_ms": round(until_page * 1000)})
            rows.append(measure_page(client))
            wait_for_map(client)
            rows += measure_photo(client)
        if codes is not None:
            items = load_codes(codes)
            assert items.n_bits == N_BITS, f"{codes} holds codes of {items.n_bits} bits, wanted {N_BITS}"
            drawn = np.ascontiguousarray(items.packed[rng.integers(0, len(items), size)])
            rows += measure_searches("learned", model, folder, drawn, clients, seconds)
        random = pack(rng.integers(0, 2, (size, N_BITS), np.uint8))
        rows += measure_searches("random", model, folder, random, clients, seconds)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--codes", type=Path)
    parser.add_argument("--size", type=float, default=1e6)
    parser.add_argument("--clients", default="50,200")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("the load generator wrk is not installed: apt-get install wrk")
    clients = [int(word) for word in given.clients.split(",")]
    rows = run(given.codes, round(given.size), clients, given.seconds)
    columns = ["what", "items", "clients", "requests_per_second", "p50_ms", "p95_ms", "p99_ms", "errors"]
    print_table(columns, [[row.get(column) for column in columns] for row in rows])
    if given.json is not None:
        given.json.write_text(json.dumps({"machine": machine() | versions(), "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
