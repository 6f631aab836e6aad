"""Searches over HTTP find what the engine and the command line find."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from tests.index.brute_force import BruteForce
from tests.serve.conftest import N_BITS, Client, Made, Serve, picture_of, running

from drlh.core.codes import hamming_distances, unpack
from drlh.hashers.model_file import load_hasher
from drlh.index.details import Details
from drlh.index.local.index import LocalIndex
from drlh.serve.app import create_app
from drlh.serve.searching import Query, answer_queries
from drlh.stages import search_photos


def test_a_picture_finds_what_the_command_line_finds(reading: httpx.Client, made: Made, tmp_path: Path) -> None:
    photos = [tmp_path / f"{row}.png" for row in range(5)]
    for row, photo in enumerate(photos):
        photo.write_bytes(picture_of(made.others, row))
    with LocalIndex.open(made.index()) as index:
        wanted = search_photos(index, made.model(), photos, 15)
    for photo, one in zip(photos, wanted, strict=True):
        found = reading.post("/search", files={"image": photo.read_bytes()}, data={"k": "15"}).json()
        assert found["code"] == one["code"]
        keys = ("rank", "id", "name", "labels", "distance")
        assert [{key: hit[key] for key in keys} for hit in found["hits"]] == one["hits"]


def test_features_code_id_and_picture_of_one_item_find_the_same(reading: httpx.Client, made: Made) -> None:
    assert made.dataset.features is not None
    features = made.dataset.features[7].tolist()
    answers = [reading.post("/search", json=query) for query in ({"id": 7}, {"features": features})]
    answers.append(reading.post("/search", json={"code": answers[0].json()["code"]}))
    answers.append(reading.post("/search", files={"image": picture_of(made.dataset, 7)}))
    assert [answer.status_code for answer in answers] == [200] * 4
    for answer in answers[1:]:
        assert answer.json()["hits"] == answers[0].json()["hits"]
    assert len(answers[0].json()["hits"]) == 20


def test_each_hit_shows_its_code_and_where_it_differs(reading: httpx.Client, made: Made) -> None:
    answer = reading.post("/search", json={"id": 3, "k": 50}).json()
    hasher: Any = load_hasher(made.model())
    assert made.dataset.features is not None
    codes = hasher.transform(made.dataset.features)
    assert answer["bits"] == "".join(map(str, codes[3]))
    for hit in answer["hits"]:
        assert hit["bits"] == "".join(map(str, codes[hit["id"]]))
        packed = np.frombuffer(bytes.fromhex(hit["code"]), np.uint8)[None]
        assert "".join(map(str, unpack(packed, N_BITS)[0])) == hit["bits"]
        assert hit["differs"] == np.flatnonzero(codes[hit["id"]] != codes[3]).tolist()
        assert hit["distance"] == len(hit["differs"])
        assert hit["thumbnail"] == f"/items/{hit['id']}/thumbnail"


def test_a_radius_takes_all_within_it_and_says_when_there_are_more(reading: httpx.Client) -> None:
    near = reading.post("/search", json={"id": 3, "k": 1000}).json()["hits"]
    within = reading.post("/search", json={"id": 3, "radius": 4}).json()
    assert within["hits"] == [hit for hit in near if hit["distance"] <= 4]
    assert not within["more"]
    cut = reading.post("/search", json={"id": 3, "radius": 4, "k": 3}).json()
    assert (cut["hits"], cut["more"]) == (within["hits"][:3], True)


def test_a_class_filter_gives_the_nearest_of_that_class(reading: httpx.Client) -> None:
    near = reading.post("/search", json={"id": 3, "k": 1000}).json()["hits"]
    for query in ({"k": 5}, {"k": 1000}, {"radius": 6}):
        found = reading.post("/search", json={"id": 3, "label": "7", **query}).json()["hits"]
        wanted = [hit for hit in near if hit["labels"] == ["7"] and hit["distance"] <= query.get("radius", N_BITS)]
        assert [hit["id"] for hit in found] == [hit["id"] for hit in wanted][: query.get("k", 1000)]
    assert reading.post("/search", json={"id": 3, "label": "no such class"}).json()["hits"] == []


def test_a_class_with_few_far_items_is_found_among_many() -> None:
    rng = np.random.default_rng(0)
    packed = rng.integers(0, 256, (3000, 2), np.uint8)
    rare = np.zeros(3000, np.int64)
    rare[[5, 1999, 2500]] = 1
    index = LocalIndex(16)
    index.add(packed, np.arange(3000), Details(np.arange(3000).astype(str), rare, ("often", "rare")))
    query = packed[:1]
    order = sorted((int(hamming_distances(query, packed[row : row + 1])[0, 0]), row) for row in (5, 1999, 2500))
    for k in (1, 2, 3, 9):
        (answer,) = answer_queries(index, [Query(query, k, label="rare")])
        assert list(zip(answer.distances, answer.ids, strict=True)) == order[:k]


def test_queries_of_one_batch_are_answered_as_if_alone() -> None:
    rng = np.random.default_rng(1)
    packed, truth, index = rng.integers(0, 256, (500, 2), np.uint8), BruteForce(), LocalIndex(16)
    truth.add(packed, np.arange(500))
    index.add(packed, np.arange(500))
    queries = [Query(packed[row : row + 1], 1 + row % 3 * 40, (None, 5)[row % 2]) for row in range(20)]
    for query, answer in zip(queries, answer_queries(index, queries), strict=True):
        found = list(zip(answer.distances, answer.ids, strict=True))
        wanted = truth.search(query.packed, query.k)[0]
        assert found == [hit for hit in wanted if query.radius is None or hit[0] <= query.radius]


class Vanishing(LocalIndex):
    """A server from which somebody removes rows between two requests of ours."""

    def describe(self, ids: Any) -> Any:
        return [None if number % 2 else detail for number, detail in zip(ids, super().describe(ids), strict=True)]


def test_a_hit_that_is_removed_meanwhile_is_left_out() -> None:
    packed, index = np.random.default_rng(2).integers(0, 256, (50, 2), np.uint8), Vanishing(16)
    index.add(packed, np.arange(50))
    first, second = answer_queries(index, [Query(packed[:1], 10), Query(packed[1:2], 10)])
    assert 0 in first.ids
    assert not any(number % 2 for number in first.ids + second.ids)
    for answer in (first, second):
        lengths = {len(column) for column in (answer.distances, answer.details, answer.codes, answer.bits)}
        assert lengths == {len(answer.ids)}


def test_concurrent_requests_gather_into_few_calls_and_each_gets_its_own_answer(serve: Serve, made: Made) -> None:
    service = serve()
    app = create_app(service)
    rows = list(range(40))

    async def ask(client: httpx.AsyncClient, row: int) -> dict[str, Any]:
        answer = await client.post("/search", files={"image": picture_of(made.others, row)}, data={"k": 7})
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    async def all_at_once() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as client:
            together = await asyncio.gather(*(ask(client, row) for row in rows))
            return list(together), [await ask(client, row) for row in rows]

    together, alone = asyncio.run(all_at_once())
    assert [one["hits"] for one in together] == [one["hits"] for one in alone]
    assert len({one["code"] for one in together}) > 5
    for what in ("model", "index"):
        labels = {"what": what}
        batches = service.metrics.registry.get_sample_value("drlh_batch_size_count", labels)
        requests = service.metrics.registry.get_sample_value("drlh_batch_size_sum", labels)
        assert batches is not None
        assert requests == 80
        assert batches < 40 + 25  # those alone are one each


MISTAKES = [
    ({}, "exactly one of features, code, id: got none"),
    ({"id": 1, "code": "0000"}, "exactly one of features, code, id: got code, id"),
    ({"id": -1}, "id: Input should be greater"),
    ({"id": 2**60}, "id: Input should be less"),
    ({"id": "../../etc/passwd"}, "id: "),
    ({"id": 1, "k": 0}, "k: Input should be greater"),
    ({"id": 1, "k": 10**9}, "k: Input should be less"),
    ({"id": 1, "radius": -1}, "radius: "),
    ({"id": 1, "what": 1}, "what: Extra inputs"),
    ({"code": "zz"}, "code: "),
    ({"code": "00"}, "codes of 16 bits take 2 bytes"),
    ({"code": "000000"}, "codes of 16 bits take 2 bytes"),
    ({"features": [1.0]}, "the model takes 64 features: got 1"),
    ({"features": [1e300] * 64}, "features must lie between"),
    ({"features": ["a"] * 64}, "features.0: "),
    ({"features": []}, "features: "),
    ([], "Input should be"),
]


@pytest.mark.parametrize(("query", "sentence"), MISTAKES)
def test_a_mistake_in_json_is_422_and_one_sentence(reading: httpx.Client, query: Any, sentence: str) -> None:
    answer = reading.post("/search", json=query)
    assert answer.status_code == 422
    assert list(answer.json()) == ["error"]
    assert sentence in answer.json()["error"]
    assert "\n" not in answer.json()["error"]


BODIES = [
    (b"", "application/json", 422),
    (b"{", "application/json", 422),
    (b'{"id": 1e999}', "application/json", 422),
    (b'{"features": [NaN]}', "application/json", 422),
    (b'{"features": [' + b"[" * 5000, "application/json", 422),
    (b'{"code": "\xff\xfe"}', "application/json", 422),
    (b'{"code": "\\ud800"}', "application/json", 422),
    (b'{"id": ' + b"9" * 10_000 + b"}", "application/json", 422),
    (b"id=1", "application/x-www-form-urlencoded", 415),
    (b"\x89PNG", "image/png", 415),
    (b"{}", "", 415),
    (b"--x\r\n", "multipart/form-data", 422),
    (b"--x\r\nnothing", "multipart/form-data; boundary=x", 422),
    (b"--x--\r\n", "multipart/form-data; boundary=x", 422),
]


@pytest.mark.parametrize(("body", "kind", "status"), BODIES)
def test_a_body_that_cannot_be_read_is_refused(reading: httpx.Client, body: bytes, kind: str, status: int) -> None:
    for path in ("/search", "/encode", "/walk", "/compare"):
        answer = reading.post(path, content=body, headers={"Content-Type": kind} if kind else {})
        assert answer.status_code == status, answer.text
        assert list(answer.json()) == ["error"]


def test_an_item_that_is_not_there_is_404(reading: httpx.Client) -> None:
    for answer in (reading.post("/search", json={"id": 9999}), reading.get("/items/9999"), reading.get("/walk/9999")):
        assert answer.status_code == 404
        assert answer.json() == {"error": "there is no item 9999 in the index"}


def test_a_model_that_cannot_read_images_still_takes_features_codes_and_ids(made: Made, client: Client) -> None:
    asked = client("unknown")
    image = {"image": picture_of(made.others, 0)}
    for path in ("/encode", "/search", "/walk", "/compare"):
        answer = asked.post(path, files=image)
        assert answer.status_code == 422
        assert "cannot read images" in answer.json()["error"]
    assert made.others.features is not None
    code = asked.post("/encode", json={"features": made.others.features[0].tolist()}).json()["code"]
    assert len(asked.post("/search", json={"code": code, "k": 3}).json()["hits"]) == 3
    assert asked.post("/search", json={"id": 5, "k": 3}).status_code == 200


def test_what_another_process_writes_is_seen_soon(serve: Serve, monkeypatch: pytest.MonkeyPatch, made: Made) -> None:
    monkeypatch.setattr("drlh.serve.collection._LOOK_EVERY", 0.0)
    service = serve()
    with running(create_app(service)) as client:
        assert client.get("/items/5").status_code == 200
        with LocalIndex.open(service.options.index) as other:
            other.remove([5])
        assert client.get("/items/5").status_code == 404
        LocalIndex.create(service.options.index, 8)
        answer = client.get("/items/6")
        assert answer.status_code == 503
        assert "now holds codes of another model" in answer.json()["error"]
