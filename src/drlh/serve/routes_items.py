"""Items: their names, codes and pictures; adding and removing them."""

import hashlib
import hmac
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from drlh.serve.inputs import ItemForm, ItemId, ItemQuery, read_input
from drlh.serve.item_pictures import thumbnail
from drlh.serve.responses import Refusal, code_fields, json_response
from drlh.serve.schemas import (
    AddedAnswer,
    ErrorAnswer,
    ItemAnswer,
    RemovedAnswer,
    SamplesAnswer,
    answers,
    request_body,
)
from drlh.serve.service import Service, service_of

router = APIRouter()
_PICTURE: dict[int | str, dict[str, Any]] = answers(ErrorAnswer, 404) | {
    200: {"description": "The picture.", "content": {"image/png": {}, "image/jpeg": {}}},
    304: {"description": "The picture has not changed."},
}


@router.get("/items/{id}", responses=answers(ItemAnswer, 404))
async def item(request: Request, number: ItemId) -> Response:
    """An item: its name, labels and code."""
    service = service_of(request)
    packed, detail = await service.main.index.item(number)
    return json_response(service.pictures.item_fields(number, detail) | code_fields(packed, service.main.model.n_bits))


@router.get("/items/{id}/thumbnail", responses=_PICTURE)
async def item_thumbnail(request: Request, number: ItemId) -> Response:
    """A small picture of an item."""
    service = service_of(request)
    _, detail = await service.main.index.item(number)
    picture = await service.run_decoding(lambda: service.pictures.picture(number, detail.name))
    if picture is None:
        raise Refusal(404, f"the service has no picture of item {number}")
    content, kind = await service.run_decoding(lambda: thumbnail(picture))
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {"Cache-Control": "private, max-age=300", "ETag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=kind)


@router.post(
    "/items",
    openapi_extra=request_body(ItemQuery, ItemForm),
    responses=answers(AddedAnswer, 401, 403, 408, 415, status=201),
    status_code=201,
)
async def add_item(request: Request) -> Response:
    """Add an item, or replace the one with the same id. Needs the token."""
    service = service_of(request)
    _check_token(request, service)
    given = await read_input(request, ItemForm, ItemQuery, service.settings.limits)
    raw = None
    if given.image is None:
        packed = await service.code_of(service.main, given)
    else:
        raw, picture = await service.decode(given.image)
        packed = (await service.main.inference.encode_picture(picture)).packed
    asked = given.fields
    number = await service.add(packed, asked.id, asked.name, tuple(dict.fromkeys(asked.labels)), raw)
    return json_response({"id": number} | code_fields(packed, service.main.model.n_bits), 201)


@router.delete("/items/{id}", responses=answers(RemovedAnswer, 401, 403, 404))
async def remove_item(request: Request, number: ItemId) -> Response:
    """Remove an item. Needs the token."""
    service = service_of(request)
    _check_token(request, service)
    if not await service.remove(number):
        raise Refusal(404, f"there is no item {number} in the index")
    return json_response({"removed": 1})


@router.get("/samples", responses=answers(SamplesAnswer))
async def samples(request: Request, n: Annotated[int, Query(ge=1, le=200)] = 12) -> Response:
    """Some items to start from, spread over the classes."""
    service = service_of(request)
    return json_response({"items": await service.samples(n)})


def _check_token(request: Request, service: Service) -> None:
    wanted = service.settings.token
    if wanted is None:
        raise Refusal(403, "this service was started without a token, so nothing can be changed")
    kind, _, given = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), wanted.encode()):
        challenge = {"WWW-Authenticate": "Bearer"}
        raise Refusal(401, "changing the index needs the token in the header Authorization: Bearer TOKEN", challenge)
