"""The application: routes, the door around them, and one shape for every error."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from drlh.core.errors import UserError
from drlh.serve import routes_about, routes_docs, routes_items, routes_search, routes_walk
from drlh.serve.answers import json_response
from drlh.serve.guard import Guard
from drlh.serve.openapi import fit_to
from drlh.serve.refusals import Refusal
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
    app.openapi = lambda: fit_to(plain(), service.main.model)  # type: ignore[method-assign]
    for routes in (routes_search, routes_walk, routes_items, routes_about, routes_docs):
        app.include_router(routes.router)
    app.add_exception_handler(Refusal, _refused)
    app.add_exception_handler(UserError, _mistaken)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(Exception, _failed)
    return Guard(app, service.options, service.metrics)


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return json_response({"error": error.sentence}, error.status, error.headers)


async def _mistaken(_: Request, error: Exception) -> Response:
    return json_response({"error": str(error)}, 422)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    sentences = {
        404: f"there is nothing at {request.url.path}",
        405: f"{request.url.path} does not take {request.method}",
    }
    sentence = sentences.get(error.status_code, str(error.detail))
    return json_response({"error": sentence}, error.status_code, dict(error.headers or {}))


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:])
    return json_response({"error": f"{where}: {first['msg']}"}, 422)


async def _failed(_: Request, error: Exception) -> Response:
    return json_response({"error": "something went wrong in the service; its log says what"}, 500)
