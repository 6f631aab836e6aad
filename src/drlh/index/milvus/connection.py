"""From a URL to a Milvus client: a cluster's, or that of an embedded server which ends with its last user."""

import fcntl
import logging
import re
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from drlh.core.errors import UserError
from drlh.index.urls import redacted

try:
    from pymilvus import DataType, MilvusClient, MilvusException
except ImportError as error:
    raise UserError("Milvus needs pymilvus: pip install 'drlh[milvus]'") from error

__all__ = ["TIMEOUT", "Address", "Client", "DataType", "connect", "disconnect", "errors_as_user_error", "parse_address"]

Client = Any  # pymilvus has no types

TIMEOUT = 60.0  # seconds for one request; within them pymilvus tries again by itself
_WAITS = (0.2, 0.8)  # seconds before the second and third attempt to connect
# pymilvus asks every ten seconds whether the server is there; the embedded one hangs up on who asks so often.
_SELDOM_PINGED = {"grpc.keepalive_time_ms": 3_600_000, "grpc.keepalive_permit_without_calls": False}
_users: Counter[Path] = Counter()  # of each embedded server of this process
_locks: dict[Path, IO[bytes]] = {}


@dataclass(frozen=True)
class Address:
    redacted: str  # without the password
    collection: str
    uri: str = ""
    token: str = field(default="", repr=False)
    database: str = ""
    file: Path | None = None


def parse_address(url: str | Path) -> Address:
    """`milvus://user:password@host:19530/collection?database=…&tls=1`, or a file `photos.db`."""
    url = str(url)
    if not url.startswith("milvus://"):
        return Address(url, "drlh_codes", file=_check_file(Path(url).absolute()))
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query))
    collection = parts.path.strip("/") or "drlh_codes"
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,200}", collection):
        raise UserError(f"a collection is named by letters, digits and _: got {collection!r}")
    try:
        port = parts.port or 19530
    except ValueError as error:
        raise UserError(f"{redacted(url)} has no whole number for a port") from error
    uri = f"{'https' if options.get('tls') else 'http'}://{parts.hostname or 'localhost'}:{port}"
    token = f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else ""
    return Address(redacted(url), collection, uri, token, options.get("database", ""))


def _check_file(path: Path) -> Path:
    if not re.fullmatch(r"[a-zA-Z0-9.\-_]{1,35}", path.name):
        raise UserError(f"a Milvus file is named by at most 35 letters, digits, dots, - and _: got {path.name!r}")
    return path


def connect(address: Address) -> Client:
    # pymilvus logs every error with a traceback; here they become one sentence.
    logging.getLogger("pymilvus").setLevel(logging.CRITICAL + 1)
    if address.file is not None:
        return _open_file(address.file)
    try:
        return _patiently(lambda: MilvusClient(address.uri, token=address.token, db_name=address.database, timeout=5))
    except MilvusException as error:
        raise UserError(f"no answer from Milvus at {address.redacted}: {error.message}") from error


def _open_file(path: Path) -> Client:
    if not _users[path]:
        _locks[path] = _lock(path)
    _users[path] += 1
    try:  # now and then the embedded server is not there yet when it is first spoken to
        return _patiently(lambda: _embedded(path), lambda: _end_server(path) if _users[path] == 1 else None)
    except (MilvusException, RuntimeError) as error:
        _leave_file(path)
        raise UserError(f"{path} cannot be opened by Milvus, perhaps it is no file of Milvus: {error}") from error


def _patiently(attempt: Callable[[], Client], between: Callable[[], None] = lambda: None) -> Client:
    """What the first attempt gives that does not fail; the last one's failure is raised."""
    for wait in _WAITS:
        try:
            return attempt()
        except (MilvusException, RuntimeError):
            between()
            time.sleep(wait)
    return attempt()


def _embedded(path: Path) -> Client:
    with warnings.catch_warnings():
        # The embedded edition reads its version in a way setuptools frowns upon.
        warnings.simplefilter("ignore")
        return MilvusClient(str(path), grpc_options=_SELDOM_PINGED)


def _lock(path: Path) -> IO[bytes]:
    """One process for a file. Milvus has a lock of its own, but whoever meets it deletes it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = open(path.with_name(f".{path.name}.drlh-lock"), "wb")  # noqa: SIM115 - closed by the last user
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise UserError(f"the Milvus file {path} is open in another process: try again when it is done") from error
    return file


def disconnect(client: Client, address: Address) -> None:
    """Closes the client; an embedded server ends with its last user, for it would not by itself."""
    client.close()
    if address.file is not None:
        _leave_file(address.file)


def _leave_file(path: Path) -> None:
    _users[path] -= 1
    if not _users[path]:
        _end_server(path)
        _locks.pop(path).close()


def _end_server(path: Path) -> None:
    from milvus_lite.server_manager import server_manager_instance

    server_manager_instance.release_server(str(path))


@contextmanager
def errors_as_user_error(address: Address) -> Iterator[None]:
    """Errors of Milvus become one sentence."""
    try:
        yield
    except MilvusException as error:
        why = " ".join(str(error.message).split())
        raise UserError(f"Milvus at {address.redacted} refused: {why}") from error
