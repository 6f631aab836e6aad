"""The API as a page of its own, made from `openapi.json`; nothing is fetched from elsewhere."""

import html
import json
from importlib.resources import files
from typing import Any

from fastapi import APIRouter, Request, Response

router = APIRouter()
_STYLE = files("drlh.serve") / "docs.css"


@router.get("/docs", include_in_schema=False)
async def docs(request: Request) -> Response:
    return Response(docs_page(request.app.openapi()), media_type="text/html; charset=utf-8")


@router.get("/docs.css", include_in_schema=False)
async def style(request: Request) -> Response:
    return Response(_STYLE.read_bytes(), media_type="text/css; charset=utf-8")


def docs_page(schema: dict[str, Any]) -> str:
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
    """A type in a few letters, with its range."""
    if "$ref" in field:
        name = field["$ref"].rsplit("/", 1)[1]
        return f'<a href="#{name}">{name}</a>'
    if "anyOf" in field:
        return " or ".join(_kind(option) for option in field["anyOf"])
    if field.get("type") == "array":
        return f"list of {_kind(field.get('items', {}))}"
    limits = {key: field[key] for key in ("minimum", "maximum", "maxLength", "format") if key in field}
    told = f" <small>{html.escape(json.dumps(limits)[1:-1])}</small>" if limits else ""
    return html.escape(str(field.get("type", "anything"))) + told


def _link(answer: dict[str, Any]) -> str:
    return ", ".join(
        _kind(content["schema"]) for content in answer.get("content", {}).values() if content.get("schema")
    )
