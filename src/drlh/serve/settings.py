"""The settings of a service: what it serves, who may change it, and the limits for clients."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from drlh.core.errors import UserError

LOOPBACK = ("127.0.0.1", "localhost", "::1")
MAX_ID = 2**53 - 1  # the largest integer that every JSON parser keeps exact
_MIN_TOKEN_LENGTH = 16


@dataclass(frozen=True)
class Limits:
    """What one client may ask for."""

    max_body_bytes: int = 20_000_000
    max_pixels: int = 40_000_000
    rate: float = 50.0  # requests a second from one address, 0 for no limit; loopback addresses are exempt
    body_timeout: float = 30.0  # seconds for a request to arrive
    max_hits: int = 1000
    max_queue: int = 2000  # requests waiting for the model or the index


@dataclass(frozen=True)
class ServiceSettings:
    """Everything a service is started with.

    Parameters
    ----------
    model : Path
        The model that made the codes of `index`.
    index : str
        URL or directory of the index.
    data : str, optional
        The data set that was encoded, where items get their pictures from.
    compare : tuple of (Path, str)
        Further models with their indexes over the same items.
    pictures : Path, optional
        Directory for the pictures of added items.
    token : str, optional
        Bearer token that changes need; without one nothing can be changed.
    host, port : str, int
        Where the service listens.
    allowed_hosts : tuple of str
        Host names it answers to beside those of the loopback interface.
    access_log : bool
        Whether every request is logged.
    limits : Limits
        What one client may ask for.
    """

    model: Path
    index: str
    data: str | None = None
    compare: tuple[tuple[Path, str], ...] = ()
    pictures: Path | None = None
    token: str | None = field(default=None, repr=False)
    host: str = "127.0.0.1"
    port: int = 8000
    allowed_hosts: tuple[str, ...] = ()
    access_log: bool = False
    limits: Limits = Limits()


def read_token(path: Path | None) -> str | None:
    """The token in the file, or in the environment variable DRLH_TOKEN; None if there is neither."""
    if path is None:
        source, token = "DRLH_TOKEN", os.environ.get("DRLH_TOKEN", "").strip()
        if not token:
            return None
    else:
        source = f"token_file {path}"
        try:
            token = path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"{source} cannot be read: {error}") from error
    if len(token) < _MIN_TOKEN_LENGTH or not token.isascii() or not token.isprintable() or " " in token:
        raise UserError(
            f"{source} must hold one word of at least {_MIN_TOKEN_LENGTH} ASCII letters, digits or punctuation marks"
        )
    return token


def parse_pair(text: str) -> tuple[Path, str]:
    """A model and its index, written as MODEL=INDEX."""
    model, equals, index = text.partition("=")
    if not model or not equals or not index:
        raise UserError(f"compare takes MODEL=INDEX: got {text!r}")
    return Path(model), index
