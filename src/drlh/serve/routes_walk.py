"""The walk of an image across the cube, step by step."""

from typing import TYPE_CHECKING, Any

import numpy as np
from fastapi import APIRouter, Request, Response

from drlh.core.codes import Codes, pack
from drlh.model import Model
from drlh.serve.batching import FeatureRow
from drlh.serve.inputs import EncodeForm, EncodeQuery, ItemId, read_input
from drlh.serve.responses import Refusal, code_texts, json_response
from drlh.serve.schemas import WalkAnswer, answers, request_body
from drlh.serve.service import Service, service_of

if TYPE_CHECKING:
    from drlh.hashers.training.agents import Trace

router = APIRouter()


@router.post(
    "/walk",
    openapi_extra=request_body(EncodeQuery, EncodeForm),
    responses=answers(WalkAnswer, 408, 409, 415),
)
async def walk(request: Request) -> Response:
    """The walk of an image or of a feature vector."""
    service = service_of(request)
    model, inference = service.main.model, service.main.inference
    _check_walks(model)
    given = await read_input(request, EncodeForm, EncodeQuery, service.settings.limits)
    if given.image is None:
        features = inference.feature_row(given.fields.features)
    else:
        _, picture = await service.decode(given.image)
        features = (await inference.encode_picture(picture)).features
    return json_response(await inference.run(lambda: walk_fields(model, features)))


@router.get("/walk/{id}", responses=answers(WalkAnswer, 404, 409))
async def walk_of_item(request: Request, number: ItemId) -> Response:
    """The walk of an item whose picture or features the service has."""
    service = service_of(request)
    model = service.main.model
    _check_walks(model)
    features = await _item_features(service, number)
    return json_response(await service.main.inference.run(lambda: walk_fields(model, features)))


def _check_walks(model: Model) -> None:
    if not model.walks:
        raise Refusal(409, f"{model.method} makes its codes in one go: only DRLH walks")


async def _item_features(service: Service, number: int) -> FeatureRow:
    _, detail = await service.main.index.item(number)
    model, pictures = service.main.model, service.pictures
    features = pictures.features(detail.name, model)
    if features is not None:
        return features
    picture = await service.run_decoding(lambda: pictures.picture(number, detail.name))
    if picture is None:
        raise Refusal(404, f"the service has no picture of item {number}, so it cannot show its walk")
    return (await service.main.inference.encode_picture(picture)).features


def walk_fields(model: Model, features: FeatureRow) -> dict[str, Any]:
    """The walk of one feature row, as JSON shows it."""
    trace = model.walk(features)
    walker: Any = model.hasher
    codewords = (np.asarray(walker.codewords_) > 0).astype(np.uint8)
    classes = model.classes or tuple(str(number) for number in range(len(codewords)))
    actions = _actions(model.n_bits, trace.values.shape[1])
    hexes, texts = code_texts(pack(trace.codes), trace.codes)
    steps = []
    for step, (bits, code) in enumerate(zip(texts, hexes, strict=True)):
        action = trace.actions[step] if step < len(trace.actions) else None
        flipped = _flipped(trace.codes, step)
        about = {"step": step, "flipped": flipped, "bits": bits, "code": code, "q": trace.values[step].tolist()}
        seen = _history(trace, step, actions)
        steps.append(about | {"distances": trace.distances[step].tolist(), "action": action, "history": seen})
    nearest = int(trace.distances[-1].argmin())
    return {
        "method": model.method,
        "n_bits": model.n_bits,
        "code": hexes[-1],
        "bits": texts[-1],
        "classes": list(classes),
        "codewords": code_texts(pack(codewords), codewords)[1],
        "actions": actions,
        "steps": steps,
        "stopped": len(trace.actions) == len(trace.codes),
        "max_steps": trace.max_steps,
        "history_length": 0 if trace.history is None else trace.history.shape[1],
        "gamma": walker.gamma,
        "stop_reward": _stop_reward(walker),
        "nearest": {"class": classes[nearest], "distance": int(trace.distances[-1][nearest])},
    }


def _flipped(codes: Codes, step: int) -> list[int]:
    return np.flatnonzero(codes[step] != codes[step - 1]).tolist() if step else []


def _history(trace: "Trace", step: int, actions: list[list[int]]) -> list[list[int]] | None:
    """The bits of the flips that the agent sees, newest first."""
    return None if trace.history is None else [actions[flip] for flip in trace.history[step] if flip >= 0]


def _stop_reward(walker: Any) -> dict[str, float] | None:
    """What the paper's agent was paid for a stop; the default agent's stops earn nothing."""
    return {"sigma": walker.sigma, "eta": walker.stop_radius} if hasattr(walker, "sigma") else None


def _actions(n_bits: int, n_actions: int) -> list[list[int]]:
    """The bits each action flips: single ones, then pairs if the agent has them, then none, which stops."""
    singles = [[bit] for bit in range(n_bits)]
    pairs = [[low, high] for low in range(n_bits) for high in range(low + 1, n_bits)]
    return [*singles, *(pairs if n_actions > n_bits + 1 else []), []]
