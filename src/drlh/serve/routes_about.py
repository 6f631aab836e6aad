"""The page, the documentation of the API, and what the service reports about itself."""

import html
import json
import time
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.resources import files
from mimetypes import guess_type
from typing import Any

from fastapi import APIRouter, Request, Response

from drlh.serve.responses import Refusal, json_response, valid_text
from drlh.serve.schemas import ErrorAnswer, HealthAnswer, MapAnswer, ReadyAnswer, StatsAnswer, answers
from drlh.serve.service import service_of

router = APIRouter()
_PAGE = files("drlh.serve") / "page"
_DOCS_STYLE = files("drlh.serve") / "docs.css"


@router.get("/", include_in_schema=False)
async def page(request: Request) -> Response:
    return _file("index.html")


@router.get("/page/{name}", include_in_schema=False)
async def page_file(request: Request, name: str) -> Response:
    return _file(name)


def _file(name: str) -> Response:
    # Only names in the package's own listing.
    if name not in {entry.name for entry in _PAGE.iterdir() if entry.is_file()}:
        raise Refusal(404, f"the page has no file {name}")
    kind = guess_type(name)[0] or "application/octet-stream"
    return Response((_PAGE / name).read_bytes(), headers={"Cache-Control": "no-cache"}, media_type=kind)


@router.get("/map", responses=answers(MapAnswer) | {202: {"model": MapAnswer, "description": "It is being made."}})
async def index_map(request: Request) -> Response:
    """The items as points, close together where their codes are similar; 202 while it is being made."""
    answer = await service_of(request).map.response()
    return json_response(answer, 200 if answer["ready"] else 202)


@router.get("/stats", responses=answers(StatsAnswer))
async def stats(request: Request) -> Response:
    """What is served, and since when."""
    service = service_of(request)
    model, index = service.main.model, service.main.index
    _, _, details = await service.map.sample()
    classes = sorted({valid_text(label) for detail in details for label in detail.labels} | set(model.classes))
    return json_response(
        {
            "method": model.method,
            "n_bits": model.n_bits,
            "items": await index.read(len),
            "features": model.extractor.name if model.reads_pictures else None,
            "classes": classes,
            "data": service.pictures.dataset.name if service.pictures.dataset else index.notes.get("data"),
            "engine": index.shown_url,
            "started": datetime.fromtimestamp(service.started, UTC).isoformat(timespec="seconds"),
            "uptime_seconds": round(time.time() - service.started, 1),
            "requests": service.telemetry.counts,
            "writable": service.settings.token is not None,
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
    n_items = await service_of(request).main.index.read(len)
    return json_response({"ready": True, "items": n_items})


@router.get("/metrics", responses=answers(ErrorAnswer) | {200: {"content": {"text/plain": {}}}})
async def metrics(request: Request) -> Response:
    """Metrics for Prometheus."""
    service = service_of(request)
    text = service.telemetry.exposition(await service.main.index.read(len))
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


@router.get("/docs", include_in_schema=False)
async def docs(request: Request) -> Response:
    return Response(docs_page(request.app.openapi()), media_type="text/html; charset=utf-8")


@router.get("/docs.css", include_in_schema=False)
async def docs_style(request: Request) -> Response:
    return Response(_DOCS_STYLE.read_bytes(), media_type="text/css; charset=utf-8")


def docs_page(schema: dict[str, Any]) -> str:
    """The API as a page made from `openapi.json`; nothing is fetched from elsewhere."""
    parts = [
        _operation(verb, path, operation)
        for path, verbs in schema["paths"].items()
        for verb, operation in verbs.items()
    ]
    known = schema.get("components", {}).get("schemas", {})
    shapes = [f'<h3 id="{name}">{name}</h3>{_fields(shape)}' for name, shape in known.items() if "properties" in shape]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>drlh: the API</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="stylesheet" href="docs.css"></head><body><main>'
        f"<h1>drlh: the API</h1><p>{html.escape(schema['info']['description'])} "
        'The same for programs: <a href="openapi.json">openapi.json</a>. <a href="./">Back to the page</a>.</p>'
        f"{''.join(parts)}<h2>Shapes</h2>{''.join(shapes)}</main></body></html>\n"
    )


def _operation(verb: str, path: str, operation: dict[str, Any]) -> str:
    inputs = "".join(_parameter(one) for one in operation.get("parameters", []))
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        inputs += f"<h4>{html.escape(kind)}</h4>{_fields(content['schema'])}"
    rows = "".join(
        f"<tr><td>{code}</td><td>{html.escape(answer['description'])}</td><td>{_link(answer)}</td></tr>"
        for code, answer in operation["responses"].items()
    )
    return (
        f"<section><h2><code><b>{verb.upper()}</b> {html.escape(path)}</code></h2>"
        f"<p>{html.escape(operation.get('description', ''))}</p>{inputs}"
        f"<h4>Answers</h4><table>{rows}</table></section>"
    )


def _parameter(one: dict[str, Any]) -> str:
    return f"<p><code>{html.escape(one['name'])}</code> in the {one['in']}: {_kind(one['schema'])}</p>"


def _fields(shape: dict[str, Any]) -> str:
    rows = "".join(
        f"<tr><td><code>{html.escape(name)}</code></td><td>{_kind(field)}</td>"
        f"<td>{html.escape(field.get('description', ''))}</td></tr>"
        for name, field in shape.get("properties", {}).items()
    )
    about = html.escape(" ".join(shape.get("description", "").split()))
    return f"<p>{about}</p><table>{rows}</table>" if rows else f"<p>{about}</p>"


def _kind(field: dict[str, Any]) -> str:
    """A type in a few words, with its range."""
    if "$ref" in field:
        name = field["$ref"].rsplit("/", 1)[1]
        return f'<a href="#{name}">{name}</a>'
    if "anyOf" in field:
        return " or ".join(_kind(option) for option in field["anyOf"])
    if field.get("type") == "array":
        return f"list of {_kind(field.get('items', {}))}"
    limits = {key: field[key] for key in ("minimum", "maximum", "maxLength", "format") if key in field}
    shown_limits = f" <small>{html.escape(json.dumps(limits)[1:-1])}</small>" if limits else ""
    return html.escape(str(field.get("type", "anything"))) + shown_limits


def _link(answer: dict[str, Any]) -> str:
    return ", ".join(
        _kind(content["schema"]) for content in answer.get("content", {}).values() if content.get("schema")
    )
