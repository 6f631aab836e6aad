"""Several methods side by side."""

import httpx
import pytest
from tests.serve.conftest import Client, Made, picture_of


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
