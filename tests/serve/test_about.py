"""What the service says of itself, its map, and its page of the API."""

import re
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from prometheus_client.parser import text_string_to_metric_families
from tests.serve.conftest import Client, Made, Serve, running

from drlh.serve.app import create_app
from drlh.serve.map import kept_at
from drlh.serve.tsne import place_codes


def test_stats_health_and_readiness(reading: httpx.Client, made: Made) -> None:
    stats = reading.get("/stats").json()
    wanted = {"method": "drlh", "n_bits": 16, "items": 240, "features": "gray8", "data": "digits", "writable": False}
    assert {key: stats[key] for key in wanted} == wanted
    assert stats["engine"] == str(made.index())
    assert reading.get("/healthz").json() == {"ok": True}
    assert reading.get("/readyz").json() == {"ready": True, "items": 240}
    assert reading.get("/stats").json()["requests"]["/healthz"] >= 1


def test_an_index_that_is_damaged_meanwhile_makes_the_service_unready_but_alive(serve: Serve, monkeypatch: Any) -> None:
    monkeypatch.setattr("drlh.serve.collection._LOOK_EVERY", 0.0)
    service = serve()
    with running(create_app(service)) as client:
        assert client.get("/readyz").status_code == 200
        Path(service.options.index, "index.json").write_text("{}")
        assert client.get("/readyz").status_code == 503
        assert "index.json" in client.get("/readyz").json()["error"]
        assert client.get("/healthz").status_code == 200


def test_metrics_are_those_prometheus_reads(client: Client) -> None:
    asked = client()
    asked.post("/search", json={"id": 1})
    asked.post("/search", json={"id": -1})
    families = {family.name: family for family in text_string_to_metric_families(asked.get("/metrics").text)}
    counted = {
        (sample.labels["route"], sample.labels["status"]): sample.value
        for sample in families["drlh_requests"].samples
        if sample.name == "drlh_requests_total"
    }
    assert counted["/search", "200"] == counted["/search", "422"] == 1
    assert families["drlh_items"].samples[0].value == 240
    assert families["drlh_request_seconds"].type == "histogram"


def wait_for_map(client: httpx.Client) -> dict[str, Any]:
    for _ in range(3000):
        answer = client.get("/map")
        if answer.status_code == 200:
            return dict(answer.json())
        assert answer.status_code == 202
        assert answer.json()["ready"] is False
        assert 0 <= answer.json()["progress"] < 1
        time.sleep(0.1)
    raise AssertionError("no map")


def test_a_map_is_made_in_the_background_and_kept_beside_the_index(client: Client, serve: Serve) -> None:
    service = serve()
    kept_at(Path(service.options.index)).unlink()
    first = client()
    found = wait_for_map(first)
    assert (len(found["points"]), found["n_items"], found["progress"]) == (240, 240, 1.0)
    places = np.array([[point["x"], point["y"]] for point in found["points"]])
    assert places.min() == 0
    assert places.max() == 1
    assert found["classes"] == [str(digit) for digit in range(10)]
    assert found["points"][5] | {"x": 0, "y": 0} == {
        "id": 5, "x": 0, "y": 0, "label": "5", "thumbnail": "/items/5/thumbnail",
    }  # fmt: skip
    second = client()
    start = time.monotonic()
    assert wait_for_map(second) == found
    assert time.monotonic() - start < 2


def test_alike_codes_lie_together_on_the_map() -> None:
    rng = np.random.default_rng(0)
    centres = rng.integers(0, 2, (3, 32), np.uint8)
    codes = centres[np.arange(90) % 3] ^ (rng.random((90, 32)) < 0.03)
    places = place_codes(codes.astype(np.uint8))
    distances = np.linalg.norm(places[:, None] - places[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    assert (distances.argmin(axis=1) % 3 == np.arange(90) % 3).all()
    assert (places.min(), places.max()) == (0, 1)
    assert place_codes(codes[:2].astype(np.uint8)).shape == (2, 2)


def test_samples_are_spread_over_the_classes(reading: httpx.Client) -> None:
    items = reading.get("/samples", params={"n": 20}).json()["items"]
    assert sorted(item["labels"][0] for item in items) == sorted(2 * [str(digit) for digit in range(10)])
    assert reading.get("/samples", params={"n": 0}).status_code == 422


def test_the_page_of_the_api_shows_every_endpoint_and_needs_nothing_from_elsewhere(reading: httpx.Client) -> None:
    schema = reading.get("/openapi.json").json()
    page = reading.get("/docs").text
    for path, verbs in schema["paths"].items():
        for verb in verbs:
            assert f"<b>{verb.upper()}</b> {path}" in page
    assert not re.search(r"(src|href)=.?(https?:)?//", page)
    assert "<script" not in page
    assert " style=" not in page
    assert reading.get("/docs.css").headers["content-type"].startswith("text/css")


def test_the_page_and_its_files_are_served(reading: httpx.Client) -> None:
    page = reading.get("/")
    assert page.headers["content-type"].startswith("text/html")
    names = re.findall(r'(?:src|href)="(page/[^"]+)"', page.text)
    assert names
    for name in names:
        assert reading.get(f"/{name}").status_code == 200
    assert reading.get("/page/__init__.py").status_code == 404


def test_unknown_addresses_and_verbs_are_errors_of_the_same_shape(reading: httpx.Client) -> None:
    assert (reading.get("/nothing").status_code, reading.get("/nothing").json()) == (
        404,
        {"error": "there is nothing at /nothing"},
    )
    assert (reading.put("/search").status_code, reading.put("/search").json()) == (
        405,
        {"error": "/search does not take PUT"},
    )


def test_a_fault_of_the_service_is_500_with_a_sentence_and_its_headers(serve: Serve, monkeypatch: Any) -> None:
    service = serve()
    monkeypatch.setattr(service, "samples", lambda n: 1 / 0)
    with running(create_app(service)) as client:
        answer = client.get("/samples")
        assert (answer.status_code, list(answer.json())) == (500, ["error"])
        assert "ZeroDivision" not in answer.text
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert client.get("/healthz").status_code == 200
