"""Starts the server: the port first, then models and index, then requests."""

import logging
import socket
from collections.abc import Callable

import uvicorn

from drlh.errors import UserError
from drlh.serve.app import create_app
from drlh.serve.options import Options
from drlh.serve.service import Service


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


def serve(options: Options, listener: socket.socket, tell: Callable[[str], None]) -> None:
    """Answers requests on `listener` until a signal ends it; what was begun is finished first."""
    service = Service(options)
    logging.basicConfig(
        level=logging.INFO if options.access_log else logging.WARNING, format="%(levelname)s %(message)s"
    )
    config = uvicorn.Config(
        create_app(service),
        access_log=options.access_log,
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=30,
    )
    name = f"[{options.host}]" if ":" in options.host else options.host
    tell(f"drlh serves http://{name}:{listener.getsockname()[1]}/ (stop with Ctrl-C)")
    uvicorn.Server(config).run(sockets=[listener])
