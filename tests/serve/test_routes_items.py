"""Items come and go; readers see it, and nothing half-done stays."""

import asyncio
import io
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from PIL import Image
from tests.serve.conftest import TOKEN, Client, Made, Serve, bearer, picture_of, png, running

from drlh.index.details import Detail
from drlh.index.local.index import LocalIndex
from drlh.index.local.storage import MANIFEST, write_lock
from drlh.serve.app import create_app


def test_an_added_item_is_found_at_once_and_after_opening_again(serve: Serve, made: Made) -> None:
    service = serve()
    files = {"image": ("mine.png", picture_of(made.others, 0))}
    with running(create_app(service)) as client:
        added = client.post("/items", files=files, data={"labels": "seven, odd,odd"}, headers=bearer())
        assert added.status_code == 201
        assert added.json()["id"] == 240
        hits = client.post("/search", files=files, data={"k": "200"}).json()["hits"]
        (hit,) = [hit for hit in hits if hit["id"] == 240]
        assert (hit["name"], hit["labels"], hit["distance"]) == ("mine.png", ["seven", "odd"], 0)
        assert hit["thumbnail"] is None
        second = client.post("/items", json={"code": "0000", "name": "other"}, headers=bearer()).json()
        assert second["id"] == 241
        assert client.get("/stats").json()["items"] == 242
    with LocalIndex.open(service.settings.index) as index:
        assert index.describe([240, 241]) == [Detail("mine.png", ("seven", "odd")), Detail("other", ())]


def test_an_id_that_is_there_is_replaced_and_a_free_one_is_chosen_past_all_others(client: Client) -> None:
    asked = client()
    for code in ("0000", "ffff"):
        added = asked.post("/items", json={"code": code, "id": 1000, "name": code}, headers=bearer())
        assert (added.status_code, added.json()["id"]) == (201, 1000)
    assert asked.get("/items/1000").json() | {"bits": ""} == {
        "id": 1000, "name": "ffff", "labels": [], "code": "ffff", "bits": "", "n_bits": 16, "thumbnail": None,
    }  # fmt: skip
    assert asked.post("/items", json={"code": "00ff"}, headers=bearer()).json()["id"] == 1001
    assert asked.get("/items/1001").json()["name"] == "1001"


def test_a_removed_item_is_gone_from_every_answer(client: Client) -> None:
    asked = client()
    sampled = asked.get("/samples", params={"n": 200}).json()["items"]
    assert 3 in [item["id"] for item in sampled]
    assert asked.delete("/items/3", headers=bearer()).json() == {"removed": 1}
    assert asked.delete("/items/3", headers=bearer()).status_code == 404
    assert asked.get("/items/3").status_code == asked.get("/items/3/thumbnail").status_code == 404
    assert 3 not in [hit["id"] for hit in asked.post("/search", json={"id": 4, "k": 1000}).json()["hits"]]
    assert 3 not in [item["id"] for item in asked.get("/samples", params={"n": 200}).json()["items"]]


@pytest.mark.parametrize(
    "header", [{}, bearer("wrong"), {"Authorization": "Bearer"}, {"Authorization": TOKEN}, bearer("é" * 20)]
)
def test_changes_need_the_token(client: Client, header: dict[str, str]) -> None:
    asked = client()
    encoded = {name: value.encode() for name, value in header.items()}
    for answer in (
        asked.post("/items", json={"code": "0000"}, headers=encoded),
        asked.delete("/items/3", headers=encoded),
    ):
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert "Authorization: Bearer" in answer.json()["error"]
        assert TOKEN not in answer.text
    assert asked.get("/stats").json()["items"] == 240


def test_without_a_token_nothing_can_be_changed_and_the_answer_says_why(client: Client) -> None:
    asked = client(token=None)
    for answer in (asked.post("/items", json={"code": "0000"}), asked.delete("/items/3", headers=bearer())):
        assert answer.status_code == 403
        assert "without a token" in answer.json()["error"]
        assert "--" not in answer.json()["error"]
    assert asked.get("/stats").json()["writable"] is False


MISTAKES: list[dict[str, Any]] = [
    {"code": "0000", "name": "../x"},
    {"code": "0000", "name": "a/../../x"},
    {"code": "0000", "name": "/x"},
    {"code": "0000", "name": "line\nbreak"},
    {"code": "0000", "name": " "},
    {"code": "0000", "name": "x" * 301},
    {"code": "0000", "labels": ["../x"]},
    {"code": "0000", "labels": ["x"] * 51},
    {"code": "0000", "labels": "x"},
    {"code": "0000", "id": "../1"},
    {"code": "0000", "id": -1},
    {"code": "0000", "id": 2**53},
    {"code": "0000", "features": [0.0] * 64},
    {"id": 7},
]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_changes_nothing(serve: Serve, mistake: dict[str, Any]) -> None:
    service = serve()
    pointer = Path(service.settings.index, MANIFEST)
    before = pointer.read_bytes()
    with running(create_app(service)) as client:
        answer = client.post("/items", json=mistake, headers=bearer())
        assert answer.status_code == 422, answer.text
        assert list(answer.json()) == ["error"]
    assert pointer.read_bytes() == before


ELSEWHERE = ["/items/..%2f..%2fetc%2fpasswd", "/items/../../etc/passwd", "/items/1;ls", "/page/..%2fapp.py"]


@pytest.mark.parametrize("path", ELSEWHERE)
def test_paths_that_lead_elsewhere_find_nothing(reading: httpx.Client, path: str) -> None:
    answer = reading.get(path)
    assert answer.status_code in (404, 422)
    assert list(answer.json()) == ["error"]


def test_a_picture_is_kept_where_a_directory_is_given_and_goes_with_its_item(
    client: Client, made: Made, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    asked = client(pictures=kept)
    photo = np.random.default_rng(0).integers(0, 256, (300, 600, 3), np.uint8)
    files = {"image": ("photo.png", png(photo))}
    added = asked.post("/items", files=files, data={"id": "77"}, headers=bearer())
    assert added.json()["id"] == 77
    shown = asked.get("/items/77/thumbnail")
    assert shown.headers["content-type"] == "image/jpeg"
    assert Image.open(io.BytesIO(shown.content)).size == (256, 128)
    assert asked.get("/walk/77").json()["code"] == added.json()["code"]
    asked.post("/items", json={"code": "0000", "id": 77}, headers=bearer())
    assert asked.get("/items/77/thumbnail").status_code == 404
    asked.post("/items", files=files, data={"id": "77"}, headers=bearer())
    again = client(pictures=kept)
    assert again.get("/items/77").json()["thumbnail"] == "/items/77/thumbnail"
    assert again.delete("/items/77", headers=bearer()).status_code == 200
    assert list(kept.iterdir()) == []


def test_a_write_that_fails_is_told_and_leaves_nothing(serve: Serve, made: Made, tmp_path: Path) -> None:
    service = serve(pictures=tmp_path / "kept")
    pointer = Path(service.settings.index, MANIFEST)
    before = pointer.read_bytes()
    with running(create_app(service)) as client, write_lock(Path(service.settings.index)):
        files = {"image": ("mine.png", picture_of(made.others, 0))}
        answer = client.post("/items", files=files, headers=bearer())
        assert answer.status_code == 503
        assert "another process is writing" in answer.json()["error"]
        assert "retry-after" in answer.headers
        assert client.get("/stats").json()["items"] == 240
    assert pointer.read_bytes() == before
    assert list((tmp_path / "kept").iterdir()) == []


def test_writes_at_the_same_time_are_all_done_under_ids_of_their_own(serve: Serve) -> None:
    service = serve()
    app = create_app(service)

    async def all_at_once() -> list[int]:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            asked = [client.post("/items", json={"code": f"{n:04x}"}, headers=bearer()) for n in range(30)]
            return [answer.json()["id"] for answer in await asyncio.gather(*asked)]

    assert sorted(asyncio.run(all_at_once())) == list(range(240, 270))
    with LocalIndex.open(service.settings.index) as index:
        assert len(index) == 270
        packed, _ = index.codes(np.arange(240, 270))
        assert sorted(int(bytes(row).hex(), 16) for row in packed) == list(range(30))


def test_a_thumbnail_of_a_small_picture_is_enlarged_crisply_and_cached(reading: httpx.Client, made: Made) -> None:
    answer = reading.get("/items/5/thumbnail")
    assert answer.headers["content-type"] == "image/png"
    assert "max-age" in answer.headers["cache-control"]
    shown = np.asarray(Image.open(io.BytesIO(answer.content)))
    assert made.dataset.images is not None
    np.testing.assert_array_equal(shown, np.kron(made.dataset.images.read(5), np.ones((12, 12, 1), np.uint8)))
    again = reading.get("/items/5/thumbnail", headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
