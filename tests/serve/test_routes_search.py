"""Searches over HTTP find what model and index find; several methods side by side."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from tests.serve.conftest import N_BITS, Client, Made, Serve, picture_of

from drlh.core.codes import to_hex, unpack
from drlh.index.details import Detail
from drlh.index.local.index import LocalIndex
from drlh.model import Model
from drlh.serve.app import create_app


def test_a_picture_finds_what_model_and_index_find(reading: httpx.Client, made: Made, tmp_path: Path) -> None:
    photos = [tmp_path / f"{row}.png" for row in range(5)]
    for row, photo in enumerate(photos):
        photo.write_bytes(picture_of(made.others, row))
    packed = Model.load(made.model()).encode(photos)
    with LocalIndex.open(made.index()) as index:
        distances, ids = index.search(packed, 15)
        details = [index.describe(row) for row in ids]
    for row, photo in enumerate(photos):
        found = reading.post("/search", files={"image": photo.read_bytes()}, data={"k": "15"}).json()
        assert found["code"] == to_hex(packed[row])
        hits = found["hits"]
        assert [hit["rank"] for hit in hits] == list(range(1, 16))
        assert [(hit["distance"], hit["id"]) for hit in hits] == list(zip(distances[row], ids[row], strict=True))
        assert [Detail(hit["name"], tuple(hit["labels"])) for hit in hits] == details[row]


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
    assert made.dataset.features is not None
    codes = unpack(Model.load(made.model()).encode(made.dataset.features), N_BITS)
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
        batches = service.telemetry.registry.get_sample_value("drlh_batch_size_count", labels)
        requests = service.telemetry.registry.get_sample_value("drlh_batch_size_sum", labels)
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
    ({"features": [1.0]}, "features of shape (n, 64): got (1, 1)"),
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
        assert "cannot read pictures" in answer.json()["error"]
    assert made.others.features is not None
    code = asked.post("/encode", json={"features": made.others.features[0].tolist()}).json()["code"]
    assert len(asked.post("/search", json={"code": code, "k": 3}).json()["hits"]) == 3
    assert asked.post("/search", json={"id": 5, "k": 3}).status_code == 200


def test_methods_are_listed_the_own_first(reading: httpx.Client) -> None:
    assert reading.get("/methods").json()["methods"] == [
        {"name": "drlh", "n_bits": 16, "items": 240, "main": True, "walks": True},
        {"name": "itq", "n_bits": 16, "items": 240, "main": False, "walks": False},
    ]


def test_an_item_is_compared_by_hits_other_than_itself(reading: httpx.Client, made: Made) -> None:
    answer = reading.post("/compare", json={"id": 11, "k": 30}).json()
    label = str(made.dataset.labels[11])
    assert (answer["k"], answer["label"]) == (30, [label])
    for row in answer["methods"]:
        assert len(row["hits"]) == 30
        assert [hit["rank"] for hit in row["hits"]] == list(range(1, 31))
        assert 11 not in [hit["id"] for hit in row["hits"]]
        right = sum(hit["labels"] == [label] for hit in row["hits"])
        assert row["precision"] == pytest.approx(right / 30)


def test_an_uploaded_picture_is_compared_and_scored_where_its_label_is_given(
    reading: httpx.Client, client: Client, made: Made
) -> None:
    files = {"image": picture_of(made.others, 2)}
    bare = reading.post("/compare", files=files, data={"k": "5"}).json()
    assert (bare["label"], [row["precision"] for row in bare["methods"]]) == (None, [None, None])
    told = reading.post("/compare", files=files, data={"k": "5", "label": str(made.others.labels[2])}).json()
    assert all(0 <= row["precision"] <= 1 for row in told["methods"])
    alone = client("itq").post("/search", files=files, data={"k": "5"}).json()
    assert bare["methods"][1]["hits"] == alone["hits"]
    assert bare["methods"][1]["code"] == alone["code"]
