"""Starts the server: it binds the port first, then loads models and indexes, then accepts requests.

FastAPI and uvicorn are imported when a server is started, so that a missing package is one sentence.
"""

import gc
import logging
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from drlh.core.errors import UserError
from drlh.serve.settings import Limits, ServiceSettings, parse_pair, read_token

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp

_GRACE_SECONDS = 30  # for requests in progress, once the server is asked to stop


def start(
    model: Path,
    index: str,
    *,
    data: str | None,
    compare: Sequence[str],
    host: str,
    port: int,
    token_file: Path | None,
    pictures: Path | None,
    allow_host: Sequence[str],
    rate: float,
    max_megabytes: float,
    max_megapixels: float,
    access_log: bool,
    tell: Callable[[str], None],
) -> None:
    """Serves until a signal; `tell` is called with the address once requests are accepted."""
    settings = ServiceSettings(
        model=model,
        index=index,
        data=data,
        compare=tuple(parse_pair(text) for text in compare),
        pictures=pictures,
        token=read_token(token_file),
        host=host,
        port=port,
        allowed_hosts=tuple(allow_host),
        access_log=access_log,
        limits=Limits(max_body_bytes=round(max_megabytes * 1e6), max_pixels=round(max_megapixels * 1e6), rate=rate),
    )
    with listen(host, port) as listener:
        serve(settings, listener, tell)


def listen(host: str, port: int) -> socket.socket:
    """The port, bound before anything slow is done."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(2048)
    except OSError as error:
        listener.close()
        why = error.strerror or str(error)
        raise UserError(f"port {port} of {host} cannot be taken: {why}; choose another port") from error
    return listener


def serve(settings: ServiceSettings, listener: socket.socket, tell: Callable[[str], None]) -> None:
    """Answers requests on `listener` until a signal ends it."""
    try:
        import uvicorn  # noqa: F401

        from drlh.serve.app import create_app
        from drlh.serve.service import Service
    except ImportError as error:
        raise UserError("drlh serve needs FastAPI and uvicorn: pip install 'drlh[serve]'") from error
    level = logging.INFO if settings.access_log else logging.WARNING
    logging.basicConfig(level=level, format="%(levelname)s %(message)s")
    logging.getLogger("python_multipart").setLevel(logging.ERROR)  # it warns of every broken form
    app = create_app(Service(settings))
    # What exists by now stays: traversing all of it in every garbage collection would delay requests.
    gc.collect()
    gc.freeze()
    name = f"[{settings.host}]" if ":" in settings.host else settings.host
    tell(f"drlh serves http://{name}:{listener.getsockname()[1]}/ (stop with Ctrl-C)")
    make_server(app, access_log=settings.access_log).run(sockets=[listener])


def make_server(app: "ASGIApp", *, access_log: bool = False) -> "uvicorn.Server":
    """A server that finishes requests in progress when it is asked to stop, and by default logs only problems."""
    import uvicorn

    config = uvicorn.Config(
        app, access_log=access_log, log_config=None, server_header=False, timeout_graceful_shutdown=_GRACE_SECONDS
    )
    return uvicorn.Server(config)
