"""From a URL to a PostgreSQL connection: retries where they help, and clear errors where they do not."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from drlh.core.errors import UserError
from drlh.index.urls import redacted

try:
    import psycopg
    from psycopg import sql
except ImportError as error:
    raise UserError("PostgreSQL needs psycopg: pip install 'drlh[postgres]'") from error

__all__ = ["Address", "Connection", "connect", "open_connection", "parse_address", "sql", "with_retries"]

Connection = psycopg.Connection[tuple[Any, ...]]
Result = TypeVar("Result")

_WAITS = (0.2, 0.8)  # seconds before the second and third attempt
_NEEDED = (0, 7)  # the pgvector with distances of bits


@dataclass(frozen=True)
class Address:
    url: str = field(repr=False)  # what libpq takes
    table: str
    redacted: str  # without the password
    password: str = field(repr=False)


def parse_address(url: str | Path) -> Address:
    """Splits `?table=` off, which is ours, from what is libpq's."""
    parts = urlsplit(str(url))
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    table = options.pop("table", "drlh_codes")
    if not re.fullmatch(r"[a-z_][a-z0-9_]{0,49}", table):
        raise UserError(f"a table is named by small letters, digits and _, at most 50: got {table!r}")
    password = unquote(parts.password or "") or options.get("password", "")
    libpq_url = urlunsplit(parts._replace(query=urlencode(options)))
    return Address(libpq_url, table, redacted(urlunsplit(parts)), password)


def connect(address: Address) -> Connection:
    """A connection that commits each statement unless a transaction is opened, on a database with pgvector."""
    connection = with_retries(lambda: psycopg.connect(address.url, autocommit=True, connect_timeout=10), address)
    try:
        _need_pgvector(connection, address)
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def open_connection(address: Address) -> Iterator[Connection]:
    """A connection that stays open unless the block fails."""
    connection = connect(address)
    try:
        yield connection
    except BaseException as error:
        connection.close()
        if isinstance(error, psycopg.Error):
            raise UserError(f"PostgreSQL at {address.redacted} refused: {_reason(error, address)}") from error
        raise


def with_retries(work: Callable[[], Result], address: Address) -> Result:
    """`work`, tried again after a pause where the server did not answer; its other errors are raised at once."""
    for wait in (*_WAITS, None):
        try:
            return work()
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            if wait is None:
                raise UserError(
                    f"no answer from PostgreSQL at {address.redacted}: {_reason(error, address)}"
                ) from error
            time.sleep(wait)
        except psycopg.Error as error:
            raise UserError(f"PostgreSQL at {address.redacted} refused: {_reason(error, address)}") from error
    raise AssertionError("unreachable")


def _need_pgvector(connection: Connection, address: Address) -> None:
    if _pgvector_version(connection) is None:
        try:
            connection.execute("CREATE EXTENSION vector")
        except psycopg.errors.UniqueViolation:  # another process has just done it
            pass
        except psycopg.Error as error:
            why = _reason(error, address)
            raise UserError(f"PostgreSQL at {address.redacted} has no pgvector, install it: {why}") from error
    version = _pgvector_version(connection) or "0"
    if tuple(int(part) for part in version.split(".")[:2]) < _NEEDED:
        raise UserError(f"PostgreSQL at {address.redacted} has pgvector {version}: 0.7 or newer is needed; update it")


def _pgvector_version(connection: Connection) -> str | None:
    found = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
    return None if found is None else str(found[0])


def _reason(error: psycopg.Error, address: Address) -> str:
    """The server's message on one line; libpq repeats parts of a mistyped URL, so the password is taken out."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text.replace(address.password, "***") if address.password else text
