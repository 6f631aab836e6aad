"""From an address to a Milvus client: a cluster's, or that of an embedded server which ends with its last user."""

import logging
import re
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from drlh.errors import UserError
from drlh.index.addresses import shown

try:
    from pymilvus import DataType, MilvusClient, MilvusException
except ImportError as error:
    raise UserError("Milvus needs pymilvus: pip install 'drlh[milvus]'") from error

__all__ = ["TIMEOUT", "Address", "Client", "DataType", "connect", "disconnect", "parse_address", "told"]

Client = Any  # pymilvus has no types
Result = TypeVar("Result")

TIMEOUT = 60.0  # seconds for one request; within them pymilvus tries again by itself
_WAITS = (0.2, 0.8)  # seconds before the second and third attempt to connect
_users: Counter[Path] = Counter()  # of each embedded server of this process


@dataclass(frozen=True)
class Address:
    shown: str
    collection: str
    uri: str = ""
    token: str = field(default="", repr=False)
    database: str = ""
    file: Path | None = None


def parse_address(address: str) -> Address:
    """`milvus://user:password@host:19530/collection?database=…&tls=1`, or a file `photos.db`."""
    if not address.startswith("milvus://"):
        return Address(address, "drlh_codes", file=_check_file(Path(address).absolute()))
    parts = urlsplit(address)
    options = dict(parse_qsl(parts.query))
    collection = parts.path.strip("/") or "drlh_codes"
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,200}", collection):
        raise UserError(f"a collection is named by letters, digits and _: got {collection!r}")
    try:
        port = parts.port or 19530
    except ValueError as error:
        raise UserError(f"{shown(address)} has no whole number for a port") from error
    uri = f"{'https' if options.get('tls') else 'http'}://{parts.hostname or 'localhost'}:{port}"
    token = f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else ""
    return Address(shown(address), collection, uri, token, options.get("database", ""))


def _check_file(path: Path) -> Path:
    if not re.fullmatch(r"[a-zA-Z0-9.\-_]{1,35}", path.name):
        raise UserError(f"a Milvus file is named by at most 35 letters, digits, dots, - and _: got {path.name!r}")
    return path


def connect(address: Address) -> Client:
    # pymilvus logs every error with a traceback; they are told in one sentence here.
    logging.getLogger("pymilvus").setLevel(logging.CRITICAL + 1)
    if address.file is not None:
        return _open_file(address, address.file)
    for wait in (*_WAITS, None):
        try:
            return MilvusClient(address.uri, token=address.token, db_name=address.database, timeout=5)
        except MilvusException as error:
            if wait is None:
                raise UserError(f"no answer from Milvus at {address.shown}: {error.message}") from error
            time.sleep(wait)
    raise AssertionError("unreachable")


def _open_file(address: Address, path: Path) -> Client:
    path.parent.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the embedded edition reads its version in a way setuptools frowns upon
        try:
            client = MilvusClient(str(path))
        except (MilvusException, RuntimeError) as error:
            why = "it may be open in another process or be no Milvus file"
            raise UserError(f"the Milvus file {address.shown} cannot be opened: {why}") from error
    _users[path] += 1
    return client


def disconnect(client: Client, address: Address) -> None:
    """Closes the client; an embedded server ends with its last user, for it would not by itself."""
    client.close()
    if address.file is None:
        return
    _users[address.file] -= 1
    if not _users[address.file]:
        from milvus_lite.server_manager import server_manager_instance

        server_manager_instance.release_server(str(address.file))


def told(work: Callable[[], Result], address: Address) -> Result:
    """`work`; what Milvus complains of becomes one sentence."""
    try:
        return work()
    except MilvusException as error:
        why = " ".join(str(error.message).split())
        raise UserError(f"Milvus at {address.shown} did not do what was asked: {why}") from error
