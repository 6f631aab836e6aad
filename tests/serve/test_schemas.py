"""Requests made from `openapi.json`, right ones and wrong ones: no answer is a fault of the service."""

import shutil
from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_schema_conformance,
    status_code_conformance,
)
from tests.serve.conftest import TOKEN, Made, bearer, png, running

from drlh.serve.app import create_app
from drlh.serve.inputs import FORMATS
from drlh.serve.map import cache_path
from drlh.serve.service import Service
from drlh.serve.settings import Limits, ServiceSettings

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
OPERATIONS = [
    "POST /search", "POST /encode", "POST /walk", "GET /walk/{id}", "POST /compare", "GET /methods",
    "GET /items/{id}", "GET /items/{id}/thumbnail", "POST /items", "DELETE /items/{id}", "GET /samples",
    "GET /map", "GET /stats", "GET /healthz", "GET /readyz", "GET /metrics",
]  # fmt: skip


RULES: dict[str, Any] = {
    "max_examples": 15,
    "deadline": None,
    "derandomize": True,
    "database": None,
    "phases": [Phase.generate],
    "suppress_health_check": list(HealthCheck),
}


@pytest.fixture(scope="module")
def api(made: Made, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    directory = tmp_path_factory.mktemp("schema")
    shutil.copytree(made.index(), directory / "index")
    shutil.copy(cache_path(made.index()), cache_path(directory / "index"))
    index, kept = str(directory / "index"), directory / "kept"
    options = ServiceSettings(made.model(), index, token=TOKEN, pictures=kept, limits=Limits(body_timeout=2))
    with running(create_app(Service(options))) as client:
        yield schemathesis.openapi.from_url(f"{client.base_url}/openapi.json")


def test_every_operation_is_tried(api: Any) -> None:
    paths = api.raw_schema["paths"]
    assert sorted(OPERATIONS) == sorted(f"{verb.upper()} {path}" for path, verbs in paths.items() for verb in verbs)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_no_request_of_the_schema_or_against_it_is_a_fault(api: Any, operation: str) -> None:
    verb, path = operation.split()
    described = api.raw_schema["paths"][path][verb.lower()]
    has_input = "requestBody" in described or "parameters" in described
    for mode in GenerationMode if has_input else [GenerationMode.POSITIVE]:
        cases = api[path][verb].as_strategy(generation_mode=mode)

        @settings(**RULES)
        @given(case=cases)
        def attempt(case: Any) -> None:
            case.call_and_validate(headers=bearer(), checks=CHECKS)

        attempt()


@settings(**RULES)
@given(data=st.data())
def test_a_picture_with_changed_bytes_is_never_a_fault(reading: httpx.Client, data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(FORMATS))
    raw = bytearray(png(np.random.default_rng(0).integers(0, 256, (12, 16, 3), np.uint8), kind))
    for place, value in data.draw(st.lists(st.tuples(st.integers(0, len(raw) - 1), st.integers(0, 255)), max_size=6)):
        raw[place] = value
    end = data.draw(st.integers(1, len(raw)))
    answer = reading.post("/encode", files={"image": bytes(raw[:end])})
    assert answer.status_code in (200, 413, 415, 422)
