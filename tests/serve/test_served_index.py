"""A served index: queries of one batch, hits that vanish, and changes by other processes."""

from typing import Any

import numpy as np
import pytest
from tests.index.brute_force import BruteForce
from tests.serve.conftest import Made, Serve, running

from drlh.core.codes import hamming_distances
from drlh.index.details import Details
from drlh.index.local.index import LocalIndex
from drlh.serve.app import create_app
from drlh.serve.served_index import NeighborQuery, find_neighbors


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
        (answer,) = find_neighbors(index, [NeighborQuery(query, k, label="rare")])
        assert list(zip(answer.distances, answer.ids, strict=True)) == order[:k]


def test_queries_of_one_batch_are_answered_as_if_alone() -> None:
    rng = np.random.default_rng(1)
    packed, truth, index = rng.integers(0, 256, (500, 2), np.uint8), BruteForce(), LocalIndex(16)
    truth.add(packed, np.arange(500))
    index.add(packed, np.arange(500))
    queries = [NeighborQuery(packed[row : row + 1], 1 + row % 3 * 40, (None, 5)[row % 2]) for row in range(20)]
    for query, answer in zip(queries, find_neighbors(index, queries), strict=True):
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
    first, second = find_neighbors(index, [NeighborQuery(packed[:1], 10), NeighborQuery(packed[1:2], 10)])
    assert 0 in first.ids
    assert not any(number % 2 for number in first.ids + second.ids)
    for answer in (first, second):
        lengths = {len(column) for column in (answer.distances, answer.details, answer.codes, answer.bits)}
        assert lengths == {len(answer.ids)}


def test_what_another_process_writes_is_seen_soon(serve: Serve, monkeypatch: pytest.MonkeyPatch, made: Made) -> None:
    monkeypatch.setattr("drlh.serve.served_index._REFRESH_SECONDS", 0.0)
    service = serve()
    with running(create_app(service)) as client:
        assert client.get("/items/5").status_code == 200
        with LocalIndex.open(service.settings.index) as other:
            other.remove([5])
        assert client.get("/items/5").status_code == 404
        LocalIndex.create(service.settings.index, 8)
        answer = client.get("/items/6")
        assert answer.status_code == 503
        assert "now holds codes of another model" in answer.json()["error"]
