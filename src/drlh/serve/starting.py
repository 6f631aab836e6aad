"""From the words on the command line to a running service."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from drlh.core.errors import UserError
from drlh.serve.options import Limits, Options

_SHORTEST_TOKEN = 16


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
    """Serves until a signal; `tell` gets the address once requests are taken."""
    limits = Limits(body_bytes=round(max_megabytes * 1e6), pixels=round(max_megapixels * 1e6), rate=rate)
    options = Options(
        model=model,
        index=index,
        data=data,
        compare=tuple(pair_of(text) for text in compare),
        pictures=pictures,
        token=read_token(token_file),
        host=host,
        port=port,
        allowed_hosts=tuple(allow_host),
        access_log=access_log,
        limits=limits,
    )
    try:
        from drlh.serve.run import listen, serve
    except ImportError as error:
        raise UserError("drlh serve needs FastAPI and uvicorn: pip install 'drlh[serve]'") from error
    with listen(host, port) as listener:
        serve(options, listener, tell)


def read_token(path: Path | None) -> str | None:
    """The token of the file, or of the environment's DRLH_TOKEN; None where there is neither."""
    if path is None:
        token = os.environ.get("DRLH_TOKEN", "").strip()
        where = "DRLH_TOKEN"
    else:
        where = f"--token-file {path}"
        try:
            token = path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"{where} cannot be read: {error}") from error
    if not token and path is None:
        return None
    if len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise UserError(f"{where} must hold one word of at least {_SHORTEST_TOKEN} plain letters, digits or signs")
    return token


def pair_of(text: str) -> tuple[Path, str]:
    """A model and its index, as --compare names them."""
    model, equals, index = text.partition("=")
    if not model or not equals or not index:
        raise UserError(f"--compare takes MODEL=INDEX: got {text!r}")
    return Path(model), index
