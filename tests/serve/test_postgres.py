"""The service on PostgreSQL: the same answers, and changes that stay."""

import httpx
from tests.serve.conftest import Client, Made, bearer, encode, picture_of

from drlh.encoding.indexing import load_items, notes_of
from drlh.index.opening import create_index


def test_a_service_on_postgresql_answers_as_one_on_a_directory(
    reading: httpx.Client, client: Client, made: Made, postgres_address: str
) -> None:
    codes = encode(made.model(), made.dataset, made.directory / "for-postgres.npz")
    with create_index(postgres_address, codes.n_bits, notes=notes_of(codes)) as engine:
        load_items(engine, codes)
    asked = client(index=postgres_address)
    for query in ({"id": 4, "k": 60}, {"id": 4, "radius": 5}, {"id": 4, "label": "7", "k": 9}):
        assert asked.post("/search", json=query).json()["hits"] == reading.post("/search", json=query).json()["hits"]
    files = {"image": ("new.png", picture_of(made.others, 3))}
    added = asked.post("/items", files=files, data={"labels": "3"}, headers=bearer()).json()
    assert added["id"] == 240
    assert asked.get("/items/240").json()["name"] == "new.png"
    assert asked.get("/stats").json()["items"] == 241
    assert asked.delete("/items/240", headers=bearer()).json() == {"removed": 1}
    assert len(asked.get("/samples").json()["items"]) == 12
