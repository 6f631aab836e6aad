"""The page, and what the service says of itself."""

import time
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.resources import files
from mimetypes import guess_type

from fastapi import APIRouter, Request, Response

from drlh.serve.answers import json_response, shown
from drlh.serve.refusals import Refusal
from drlh.serve.schemas import ErrorAnswer, HealthAnswer, MapAnswer, ReadyAnswer, StatsAnswer, answers
from drlh.serve.service import service_of

router = APIRouter()
_PAGE = files("drlh.serve") / "page"


@router.get("/", include_in_schema=False)
async def page(request: Request) -> Response:
    return _file("index.html")


@router.get("/page/{name}", include_in_schema=False)
async def page_file(request: Request, name: str) -> Response:
    return _file(name)


def _file(name: str) -> Response:
    # Only names that the package's own listing has.
    if name not in {entry.name for entry in _PAGE.iterdir() if entry.is_file()}:
        raise Refusal(404, f"the page has no file {name}")
    kind = guess_type(name)[0] or "application/octet-stream"
    return Response((_PAGE / name).read_bytes(), headers={"Cache-Control": "no-cache"}, media_type=kind)


@router.get("/map", responses=answers(MapAnswer) | {202: {"model": MapAnswer, "description": "It is being made."}})
async def collection_map(request: Request) -> Response:
    """The collection as points, near where codes are alike; 202 while it is being made."""
    answer = await service_of(request).map.answer()
    return json_response(answer, 200 if answer["ready"] else 202)


@router.get("/stats", responses=answers(StatsAnswer))
async def stats(request: Request) -> Response:
    """What is served, and for how long."""
    service = service_of(request)
    model, collection = service.main.model, service.main.collection
    _, _, details = await service.map.sample()
    classes = sorted({shown(label) for detail in details for label in detail.labels} | set(model.classes))
    return json_response(
        {
            "method": model.method,
            "n_bits": model.n_bits,
            "items": await collection.read(len),
            "features": model.extractor.name if model.extractor else None,
            "classes": classes,
            "data": service.pictures.dataset.name if service.pictures.dataset else collection.notes.get("data"),
            "engine": collection.shown,
            "started": datetime.fromtimestamp(service.started, UTC).isoformat(timespec="seconds"),
            "uptime_seconds": round(time.time() - service.started, 1),
            "requests": service.metrics.counts,
            "writable": service.options.token is not None,
            "version": version("drlh"),
        }
    )


@router.get("/healthz", responses=answers(HealthAnswer))
async def healthz(request: Request) -> Response:
    """200 while the process lives."""
    return json_response({"ok": True})


@router.get("/readyz", responses=answers(ReadyAnswer))
async def readyz(request: Request) -> Response:
    """200 while model and index answer."""
    n_items = await service_of(request).main.collection.read(len)
    return json_response({"ready": True, "items": n_items})


@router.get("/metrics", responses=answers(ErrorAnswer) | {200: {"content": {"text/plain": {}}}})
async def metrics(request: Request) -> Response:
    """Numbers for Prometheus."""
    service = service_of(request)
    text = service.metrics.text(await service.main.collection.read(len))
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")
