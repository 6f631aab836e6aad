"""Codes and nearest neighbors: /encode, /search, /compare, /methods."""

import asyncio
import time
from typing import Any

from fastapi import APIRouter, Request, Response

from drlh.core.codes import Packed
from drlh.serve.inputs import (
    CompareForm,
    CompareQuery,
    EncodeForm,
    EncodeQuery,
    Input,
    SearchForm,
    SearchQuery,
    read_input,
)
from drlh.serve.responses import code_fields, json_response
from drlh.serve.schemas import CodeAnswer, CompareAnswer, MethodsAnswer, SearchAnswer, answers, request_body
from drlh.serve.served_index import NeighborQuery, Neighbors
from drlh.serve.service import Deployment, Service, service_of

router = APIRouter()
_DEFAULT_K = 20


@router.post(
    "/search",
    openapi_extra=request_body(SearchQuery, SearchForm),
    responses=answers(SearchAnswer, 404, 408, 415),
)
async def search(request: Request) -> Response:
    """The nearest items of an image, a feature vector, a code or an item: k of them, or those within a radius."""
    service = service_of(request)
    given = await read_input(request, SearchForm, SearchQuery, service.settings.limits)
    start = time.perf_counter()
    packed = await service.code_of(service.main, given)
    asked = given.fields
    k = asked.k or (_DEFAULT_K if asked.radius is None else service.settings.limits.max_hits)
    neighbors = await service.main.index.search(NeighborQuery(packed, k, asked.radius, asked.label))
    answer = code_fields(packed, service.main.model.n_bits)
    answer["hits"] = _hits(service, neighbors)
    answer["more"] = asked.radius is not None and len(neighbors.ids) == k
    answer["milliseconds"] = _since(start)
    return json_response(answer)


@router.post("/encode", openapi_extra=request_body(EncodeQuery, EncodeForm), responses=answers(CodeAnswer, 408, 415))
async def encode(request: Request) -> Response:
    """The code of an image or of a feature vector."""
    service = service_of(request)
    given = await read_input(request, EncodeForm, EncodeQuery, service.settings.limits)
    packed = await service.code_of(service.main, given)
    return json_response(code_fields(packed, service.main.model.n_bits))


@router.get("/methods", responses=answers(MethodsAnswer))
async def methods(request: Request) -> Response:
    """The methods that can be compared, the service's own first."""
    service = service_of(request)
    rows = []
    for deployment in service.deployments:
        model, n_items = deployment.model, await deployment.index.read(len)
        about = {"name": model.method, "n_bits": model.n_bits, "walks": model.walks}
        rows.append(about | {"items": n_items, "main": deployment is service.main})
    return json_response({"methods": rows})


@router.post(
    "/compare",
    openapi_extra=request_body(CompareQuery, CompareForm),
    responses=answers(CompareAnswer, 404, 408, 415),
)
async def compare(request: Request) -> Response:
    """The same query under every method, with the share of hits that share a label with it."""
    service = service_of(request)
    given = await read_input(request, CompareForm, CompareQuery, service.settings.limits)
    k, labels = given.fields.k or _DEFAULT_K, await _labels(service, given)
    picture = None if given.image is None else (await service.decode(given.image))[1]

    async def one(deployment: Deployment) -> dict[str, Any]:
        start = time.perf_counter()
        if picture is None:
            packed = await service.code_of(deployment, given)
        else:
            packed = (await deployment.inference.encode_picture(picture)).packed
        return await _compared(service, deployment, packed, k, labels, getattr(given.fields, "id", None), start)

    rows = await asyncio.gather(*(one(deployment) for deployment in service.deployments))
    return json_response({"k": k, "label": labels, "methods": rows})


async def _labels(service: Service, given: Input) -> list[str] | None:
    """The labels of the query, if they are known."""
    if given.fields.label is not None:
        return [given.fields.label]
    if getattr(given.fields, "id", None) is None:
        return None
    _, detail = await service.main.index.item(given.fields.id)
    return list(detail.labels) or None


async def _compared(
    service: Service,
    deployment: Deployment,
    packed: Packed,
    k: int,
    labels: list[str] | None,
    own_id: int | None,
    start: float,
) -> dict[str, Any]:
    # An item always finds itself, which says nothing about the method.
    neighbors = await deployment.index.search(NeighborQuery(packed, k if own_id is None else k + 1))
    hits = [hit for hit in _hits(service, neighbors) if hit["id"] != own_id][:k]
    for rank, hit in enumerate(hits, 1):
        hit["rank"] = rank
    precision = None
    if labels and hits:
        precision = sum(bool(set(labels) & set(hit["labels"])) for hit in hits) / len(hits)
    about = {"name": deployment.model.method} | code_fields(packed, deployment.model.n_bits)
    return about | {"hits": hits, "precision": precision, "milliseconds": _since(start)}


def _hits(service: Service, found: Neighbors) -> list[dict[str, Any]]:
    columns = zip(found.ids, found.details, found.distances, found.codes, found.bits, found.differs, strict=True)
    return [
        service.pictures.item_fields(number, detail)
        | {"rank": rank, "distance": distance, "code": code, "bits": bits, "differs": differs}
        for rank, (number, detail, distance, code, bits, differs) in enumerate(columns, 1)
    ]


def _since(start: float) -> float:
    return round((time.perf_counter() - start) * 1000, 2)
