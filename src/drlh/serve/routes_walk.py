"""The walk of an image across the cube, step by step."""

from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Path, Request, Response

from drlh.core.codes import Codes, pack
from drlh.serve.answers import json_response
from drlh.serve.codes_text import hex_texts, texts_of
from drlh.serve.collection import MOST_ID
from drlh.serve.inputs import EncodeQuery, EncodeSettings, read_input
from drlh.serve.model import Model, Row
from drlh.serve.openapi import body
from drlh.serve.refusals import Refusal
from drlh.serve.schemas import WalkAnswer, answers
from drlh.serve.service import Service, service_of

router = APIRouter()
ItemId = Annotated[int, Path(alias="id", ge=0, le=MOST_ID)]


@router.post(
    "/walk",
    openapi_extra=body(EncodeQuery, EncodeSettings),
    responses=answers(WalkAnswer, 408, 409, 415),
)
async def walk(request: Request) -> Response:
    """The walk of an image or of a feature vector."""
    service = service_of(request)
    _refuse_others(service.main.model)
    given = await read_input(request, EncodeSettings, EncodeQuery, service.options.limits)
    model = service.main.model
    if given.image is None:
        features = model.check_features(given.settings.features)
    else:
        _, picture = await service.decode(given.image)
        features = (await service.encode(service.main, picture)).features
    return json_response(await service.thinking(lambda: walk_of(model, features)))


@router.get("/walk/{id}", responses=answers(WalkAnswer, 404, 409))
async def walk_of_item(request: Request, number: ItemId) -> Response:
    """The walk of an item whose picture or features the service has."""
    service = service_of(request)
    model = service.main.model
    _refuse_others(model)
    features = await _item_features(service, number)
    return json_response(await service.thinking(lambda: walk_of(model, features)))


def _refuse_others(model: Model) -> None:
    if not model.walks:
        raise Refusal(409, f"{model.method} makes its codes in one go: only DRLH walks")


async def _item_features(service: Service, number: int) -> Row:
    _, detail = await service.main.collection.item(number)
    model, pictures = service.main.model, service.pictures
    features = pictures.features(detail.name, model)
    if features is not None:
        return features
    picture = await service.decoding(lambda: pictures.picture(number, detail.name))
    if picture is None:
        raise Refusal(404, f"the service has no picture of item {number}: start it with --data to show its walk")
    return (await service.encode(service.main, picture)).features


def walk_of(model: Model, features: Row) -> dict[str, Any]:
    trace = model.walk(features)
    codewords = (np.asarray(model.hasher.codewords_) > 0).astype(np.uint8)
    classes = model.classes or tuple(str(number) for number in range(len(codewords)))
    actions = _actions(model.n_bits, trace.values.shape[1])
    texts, hexes = texts_of(trace.codes), hex_texts(pack(trace.codes))
    steps = []
    for step, (bits, code) in enumerate(zip(texts, hexes, strict=True)):
        action = trace.actions[step] if step < len(trace.actions) else None
        flipped = _flipped(trace.codes, step)
        about = {"step": step, "flipped": flipped, "bits": bits, "code": code, "q": trace.values[step].tolist()}
        steps.append(about | {"distances": trace.distances[step].tolist(), "action": action})
    nearest = int(trace.distances[-1].argmin())
    return {
        "method": model.method,
        "n_bits": model.n_bits,
        "code": hexes[-1],
        "bits": texts[-1],
        "classes": list(classes),
        "codewords": texts_of(codewords),
        "actions": actions,
        "steps": steps,
        "stopped": len(trace.actions) == len(trace.codes),
        "nearest": {"class": classes[nearest], "distance": int(trace.distances[-1][nearest])},
    }


def _flipped(codes: Codes, step: int) -> list[int]:
    return np.flatnonzero(codes[step] != codes[step - 1]).tolist() if step else []


def _actions(n_bits: int, n_actions: int) -> list[list[int]]:
    """The bits each action flips: single ones, then pairs where the agent has them, then the stop."""
    singles = [[bit] for bit in range(n_bits)]
    pairs = [[low, high] for low in range(n_bits) for high in range(low + 1, n_bits)]
    return [*singles, *(pairs if n_actions > n_bits + 1 else []), []]
