"""The map is made in the background, cached, and puts similar codes close together."""

import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from tests.serve.conftest import Client, Serve

from drlh.serve.map import cache_path
from drlh.serve.tsne import place_codes


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
    cache_path(Path(service.settings.index)).unlink()
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
