"""Starts the server: the port first, then models and index, then requests."""

import gc
import logging
import socket
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp

from drlh.core.errors import UserError
from drlh.serve.app import create_app
from drlh.serve.options import Options
from drlh.serve.service import Service

_PATIENCE = 30  # seconds for requests that were begun, once the server is asked to stop


def listen(host: str, port: int) -> socket.socket:
    """The port, taken before anything slow is done."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(2048)
    except OSError as error:
        listener.close()
        why = error.strerror or str(error)
        raise UserError(f"port {port} of {host} cannot be taken: {why}; choose another with --port") from error
    return listener


def server_of(app: ASGIApp, *, access_log: bool = False) -> uvicorn.Server:
    """A server that finishes what was begun when it is asked to stop, and logs nothing but trouble by default."""
    config = uvicorn.Config(
        app, access_log=access_log, log_config=None, server_header=False, timeout_graceful_shutdown=_PATIENCE
    )
    return uvicorn.Server(config)


def serve(options: Options, listener: socket.socket, tell: Callable[[str], None]) -> None:
    """Answers requests on `listener` until a signal ends it."""
    level = logging.INFO if options.access_log else logging.WARNING
    logging.basicConfig(level=level, format="%(levelname)s %(message)s")
    logging.getLogger("python_multipart").setLevel(logging.ERROR)  # it warns of every broken form
    app = create_app(Service(options))
    # What was made until here stays: going through all of it again and again would hold up requests.
    gc.collect()
    gc.freeze()
    name = f"[{options.host}]" if ":" in options.host else options.host
    tell(f"drlh serves http://{name}:{listener.getsockname()[1]}/ (stop with Ctrl-C)")
    server_of(app, access_log=options.access_log).run(sockets=[listener])
