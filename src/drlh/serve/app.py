"""The application: routes, the guard around them, and one shape for every error."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from drlh.core.codes import bytes_per_code
from drlh.core.errors import UserError
from drlh.model import Model
from drlh.serve import routes_about, routes_items, routes_search, routes_walk
from drlh.serve.guard import Guard
from drlh.serve.responses import Refusal, json_response
from drlh.serve.service import Service


def create_app(service: Service) -> ASGIApp:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.map.start()
        yield
        await service.map.stop()
        service.close()

    app = FastAPI(
        title="drlh",
        description="Codes, neighbours and walks of images.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
    )
    app.state.service = service
    plain = app.openapi
    app.openapi = lambda: _fit_schema(plain(), service.main.model)  # type: ignore[method-assign]
    for routes in (routes_search, routes_walk, routes_items, routes_about):
        app.include_router(routes.router)
    app.add_exception_handler(Refusal, _on_refusal)
    app.add_exception_handler(UserError, _on_user_error)
    app.add_exception_handler(HTTPException, _on_http_error)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(Exception, _on_failure)
    return Guard(app, service.settings, service.telemetry)


async def _on_refusal(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return error.response()


async def _on_user_error(_: Request, error: Exception) -> Response:
    return json_response({"error": str(error)}, 422)


async def _on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    sentences = {
        404: f"there is nothing at {request.url.path}",
        405: f"{request.url.path} does not take {request.method}",
    }
    sentence = sentences.get(error.status_code, str(error.detail))
    return json_response({"error": sentence}, error.status_code, dict(error.headers or {}))


async def _on_invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:])
    return json_response({"error": f"{where}: {first['msg']}"}, 422)


async def _on_failure(_: Request, error: Exception) -> Response:
    return json_response({"error": "something went wrong in the service; its log says what"}, 500)


def _fit_schema(schema: dict[str, Any], model: Model) -> dict[str, Any]:
    """`schema` with the lengths of features and codes that the model takes."""
    for verbs in schema["paths"].values():
        for operation in verbs.values():
            content = operation.get("requestBody", {}).get("content", {})
            for name, field in content.get("application/json", {}).get("schema", {}).get("properties", {}).items():
                if name == "features":
                    field |= {"minItems": model.n_features, "maxItems": model.n_features}
                elif name == "code":
                    field |= dict.fromkeys(("minLength", "maxLength"), 2 * bytes_per_code(model.n_bits))
    return schema
