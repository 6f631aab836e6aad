"""What the service reports about itself, its page, and the documentation of the API."""

import re
from pathlib import Path
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families
from tests.serve.conftest import Client, Made, Serve, running

from drlh.serve.app import create_app


def test_stats_health_and_readiness(reading: httpx.Client, made: Made) -> None:
    stats = reading.get("/stats").json()
    wanted = {"method": "drlh", "n_bits": 16, "items": 240, "features": "gray8", "data": "digits", "writable": False}
    assert {key: stats[key] for key in wanted} == wanted
    assert stats["engine"] == str(made.index())
    assert reading.get("/healthz").json() == {"ok": True}
    assert reading.get("/readyz").json() == {"ready": True, "items": 240}
    assert reading.get("/stats").json()["requests"]["/healthz"] >= 1


def test_an_index_that_is_damaged_meanwhile_makes_the_service_unready_but_alive(serve: Serve, monkeypatch: Any) -> None:
    monkeypatch.setattr("drlh.serve.served_index._REFRESH_SECONDS", 0.0)
    service = serve()
    with running(create_app(service)) as client:
        assert client.get("/readyz").status_code == 200
        Path(service.settings.index, "index.json").write_text("{}")
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
