"""Codes and neighbours: /encode, /search, /compare, /methods."""

import asyncio
import time
from typing import Any

from fastapi import APIRouter, Request, Response

from drlh.core.codes import Packed
from drlh.serve.answers import code_of, hits_of, json_response
from drlh.serve.inputs import (
    CompareQuery,
    CompareSettings,
    EncodeQuery,
    EncodeSettings,
    Input,
    SearchQuery,
    SearchSettings,
    read_input,
)
from drlh.serve.openapi import body
from drlh.serve.schemas import CodeAnswer, CompareAnswer, MethodsAnswer, SearchAnswer, answers
from drlh.serve.searching import Query
from drlh.serve.service import Service, Station, service_of

router = APIRouter()
_K = 20  # hits where no number is asked for


@router.post(
    "/search",
    openapi_extra=body(SearchQuery, SearchSettings),
    responses=answers(SearchAnswer, 404, 408, 415),
)
async def search(request: Request) -> Response:
    """The nearest items of an image, a feature vector, a code or an item: k of them, or those within a radius."""
    service = service_of(request)
    given = await read_input(request, SearchSettings, SearchQuery, service.options.limits)
    start = time.perf_counter()
    packed = await service.code_of(service.main, given)
    asked = given.settings
    k = asked.k or (_K if asked.radius is None else service.options.limits.hits)
    answer = await service.main.collection.search(Query(packed, k, asked.radius, asked.label))
    shown = code_of(packed, service.main.n_bits)
    shown["hits"] = hits_of(answer, service.pictures.address)
    shown["more"] = asked.radius is not None and len(answer.ids) == k
    shown["milliseconds"] = _since(start)
    return json_response(shown)


@router.post("/encode", openapi_extra=body(EncodeQuery, EncodeSettings), responses=answers(CodeAnswer, 408, 415))
async def encode(request: Request) -> Response:
    """The code of an image or of a feature vector."""
    service = service_of(request)
    given = await read_input(request, EncodeSettings, EncodeQuery, service.options.limits)
    packed = await service.code_of(service.main, given)
    return json_response(code_of(packed, service.main.n_bits))


@router.get("/methods", responses=answers(MethodsAnswer))
async def methods(request: Request) -> Response:
    """The methods that can be compared, the service's own first."""
    service = service_of(request)
    rows = []
    for station in service.stations:
        about = {"name": station.model.method, "n_bits": station.n_bits, "walks": station.model.walks}
        rows.append(about | {"items": await station.collection.read(len), "main": station is service.main})
    return json_response({"methods": rows})


@router.post(
    "/compare",
    openapi_extra=body(CompareQuery, CompareSettings),
    responses=answers(CompareAnswer, 404, 408, 415),
)
async def compare(request: Request) -> Response:
    """The same query under every method, with the share of hits that share a label with it."""
    service = service_of(request)
    given = await read_input(request, CompareSettings, CompareQuery, service.options.limits)
    k, labels = given.settings.k or _K, await _labels(service, given)
    picture = None if given.image is None else (await service.decode(given.image))[1]

    async def one(station: Station) -> dict[str, Any]:
        start = time.perf_counter()
        if picture is None:
            packed = await service.code_of(station, given)
        else:
            packed = (await service.encode(station, picture)).packed
        return await _compared(service, station, packed, k, labels, getattr(given.settings, "id", None), start)

    rows = await asyncio.gather(*(one(station) for station in service.stations))
    return json_response({"k": k, "label": labels, "methods": rows})


async def _labels(service: Service, given: Input) -> list[str] | None:
    """What the query shows, where that is known."""
    if given.settings.label is not None:
        return [given.settings.label]
    if getattr(given.settings, "id", None) is None:
        return None
    _, detail = await service.main.collection.item(given.settings.id)
    return list(detail.labels) or None


async def _compared(
    service: Service, station: Station, packed: Packed, k: int, labels: list[str] | None, own: int | None, start: float
) -> dict[str, Any]:
    # An item finds itself, which says nothing about the method.
    answer = await station.collection.search(Query(packed, k if own is None else k + 1))
    hits = [hit for hit in hits_of(answer, service.pictures.address) if hit["id"] != own][:k]
    for rank, hit in enumerate(hits, 1):
        hit["rank"] = rank
    precision = None
    if labels and hits:
        precision = sum(bool(set(labels) & set(hit["labels"])) for hit in hits) / len(hits)
    shown = {"name": station.model.method} | code_of(packed, station.n_bits)
    return shown | {"hits": hits, "precision": precision, "milliseconds": _since(start)}


def _since(start: float) -> float:
    return round((time.perf_counter() - start) * 1000, 2)
