"""The walk over HTTP is the walk of the model."""

import json
from itertools import combinations
from typing import Any

import httpx
import numpy as np
import pytest
from tests.serve.conftest import Client, Made, bearer, picture_of

from drlh.hashers.methods import make_hasher
from drlh.model import Model
from drlh.serve.responses import json_response
from drlh.serve.routes_walk import walk_fields
from drlh.serve.schemas import WalkAnswer


def test_a_walk_shows_codes_values_and_distances_step_by_step(reading: httpx.Client, made: Made) -> None:
    answer = reading.post("/walk", files={"image": picture_of(made.others, 4)}).json()
    assert made.others.features is not None
    trace = Model.load(made.model()).walk(made.others.features[4])
    steps = answer["steps"]
    assert [step["bits"] for step in steps] == ["".join(map(str, code)) for code in trace.codes]
    assert [step["distances"] for step in steps] == trace.distances.tolist()
    assert [step["action"] for step in steps] == trace.actions
    np.testing.assert_allclose([step["q"] for step in steps], trace.values, rtol=1e-5)
    assert [step["flipped"] for step in steps] == [[], *([action] for action in trace.actions[:-1])]
    assert answer["actions"] == [*([bit] for bit in range(16)), []]
    assert answer["stopped"] is True
    assert answer["classes"] == [str(digit) for digit in range(10)]
    distances = [sum(a != b for a, b in zip(word, answer["bits"], strict=True)) for word in answer["codewords"]]
    assert distances == steps[-1]["distances"]
    assert answer["nearest"] == {"class": str(int(np.argmin(distances))), "distance": min(distances)}
    assert [step["history"] for step in steps] == [None] * len(steps)  # this agent sees no past flips
    assert (answer["history_length"], answer["max_steps"], answer["gamma"]) == (0, 16, 0.5)
    assert answer["stop_reward"] is None
    assert answer["code"] == reading.post("/encode", files={"image": picture_of(made.others, 4)}).json()["code"]


def test_the_walk_of_an_item_is_that_of_its_picture(reading: httpx.Client, made: Made) -> None:
    assert reading.get("/walk/9").json() == reading.post("/walk", files={"image": picture_of(made.dataset, 9)}).json()


def test_features_of_the_data_set_serve_where_there_are_no_pictures(client: Client, made: Made) -> None:
    assert made.dataset.features is not None
    asked = client("unknown")
    features = made.directory / "features.npz"
    names = np.array([made.dataset.name_of(row) for row in range(len(made.dataset))])
    np.savez(features, x=made.dataset.features, y=made.dataset.labels, names=names)
    asked = client("unknown", data=str(features))
    wanted = asked.post("/walk", json={"features": made.dataset.features[9].tolist()})
    assert asked.get("/walk/9").json() == wanted.json()


def test_the_walk_of_an_item_without_a_picture_is_404_and_says_why(client: Client) -> None:
    asked = client()
    added = asked.post("/items", json={"code": "0000"}, headers=bearer()).json()
    answer = asked.get(f"/walk/{added['id']}")
    assert answer.status_code == 404
    assert answer.json()["error"] == f"the service has no picture of item {added['id']}, so it cannot show its walk"


def test_other_methods_do_not_walk(client: Client, made: Made) -> None:
    asked = client("itq")
    for answer in (asked.get("/walk/9"), asked.post("/walk", files={"image": picture_of(made.others, 4)})):
        assert answer.status_code == 409
        assert "only DRLH walks" in answer.json()["error"]


@pytest.mark.parametrize("parameters", [{"max_steps": 1, "ensemble_size": 1}, {"max_flips": 2, "hidden_size": 8}])
def test_a_step_limit_is_told_and_pairs_of_bits_are_listed(made: Made, parameters: dict[str, object]) -> None:
    method = "drlh-paper" if "max_flips" in parameters else "drlh"
    assert made.dataset.features is not None
    hasher = make_hasher(method, 8, random_state=0, n_epochs=1, **parameters)
    model = Model(hasher.fit(made.dataset.features, made.dataset.labels))
    for row in range(20):
        features = made.dataset.features[row]
        answer = walk_fields(model, features)
        pairs = 28 if "max_flips" in parameters else 0
        assert len(answer["actions"]) == len(answer["steps"][0]["q"]) == 8 + pairs + 1
        for before, after in zip(answer["steps"], answer["steps"][1:], strict=False):
            assert after["flipped"] == answer["actions"][before["action"]]
        if not answer["stopped"]:
            assert answer["steps"][-1]["action"] is None
            assert b"NaN" not in json_response(answer).body
            assert b"null" in json_response(answer).body
    assert answer["classes"] == [str(number) for number in range(10)]


def papers_walks(made: Made, stop: float, **parameters: object) -> list[dict[str, Any]]:
    """Walks of the paper's agent, as the service answers them; `stop` is added to what it expects of a stop."""
    assert made.dataset.features is not None
    hasher: Any = make_hasher("drlh-paper", 16, random_state=0, n_epochs=1, hidden_size=8, **parameters)
    hasher.fit(made.dataset.features, made.dataset.labels)
    hasher.weights_["layers.1.bias"][-1] += stop
    model = Model(hasher)
    answers = [json.loads(bytes(json_response(walk_fields(model, row)).body)) for row in made.dataset.features[:20]]
    for answer in answers:
        WalkAnswer.model_validate(answer)
    return answers


@pytest.mark.parametrize("max_flips", [1, 2])
def test_the_papers_agent_sees_its_last_ten_flips_newest_first(made: Made, max_flips: int) -> None:
    for answer in papers_walks(made, stop=-100, max_flips=max_flips):
        flips = [step["flipped"] for step in answer["steps"][1:]]
        for number, step in enumerate(answer["steps"]):
            assert step["history"] == flips[:number][::-1][:10]
        assert answer["history_length"] == 10
        assert len(flips) == 16  # so that some were forgotten


def test_the_papers_agent_without_its_history_is_said_to_see_none(made: Made) -> None:
    for answer in papers_walks(made, stop=-100, use_history=False):
        assert answer["history_length"] == 0
        assert {step["history"] for step in answer["steps"]} == {None}


@pytest.mark.parametrize(("stop", "given"), [(-100, {"eta": 2.0, "sigma": 3.0}), (100, {})])
def test_a_walk_carries_what_explains_its_end(made: Made, stop: float, given: dict[str, float]) -> None:
    for answer in papers_walks(made, stop, max_steps=5, gamma=0.8, **given):
        assert (answer["max_steps"], answer["gamma"], answer["stopped"]) == (5, 0.8, stop > 0)
        words = [int(word, 2) for word in answer["codewords"]]
        apart = min((one ^ other).bit_count() for one, other in combinations(words, 2))
        assert answer["stop_reward"] == {"sigma": 5.0, "eta": (apart - 1) / 4} | given
        *asked, last = answer["steps"]
        for step in asked:
            assert step["q"][step["action"]] == max(step["q"]) > step["q"][-1]
        if answer["stopped"]:
            assert last["q"][-1] == max(last["q"])
            assert last["action"] == len(answer["actions"]) - 1
        else:
            assert len(asked) == answer["max_steps"]
            assert set(last["q"]) == {None}
