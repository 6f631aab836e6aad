"""Where an index lives, as people write it: a directory, `postgresql://…`, `milvus://…`, or a Milvus file `….db`."""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from drlh.core.errors import UserError
from drlh.index.base import Index

_MILVUS_FILE = ".db"


def shown(address: str) -> str:
    """The address without its password, fit for messages and logs."""
    if "://" not in address:
        return address
    parts = urlsplit(address)
    user, at, host = parts.netloc.rpartition("@")
    name, colon, _ = user.partition(":")
    # A password may also stand in the query: postgresql://host/db?password=…
    query = "&".join(_hidden(pair) for pair in parts.query.split("&"))
    return urlunsplit(parts._replace(netloc=name + (":***" if colon else "") + at + host, query=query))


def _hidden(pair: str) -> str:
    name, equals, _ = pair.partition("=")
    return f"{name}=***" if equals and name in ("password", "token", "sslpassword") else pair


def open_index(address: str) -> Index:
    """The index at `address`, which must be there."""
    return _engine(address).open(address)


def create_index(
    address: str,
    n_bits: int,
    *,
    notes: dict[str, Any] | None = None,
    approximate: str | None = None,
    replace: bool = False,
) -> Index:
    """The index at `address`; an empty one where there is none, or where `replace` says to begin anew."""
    engine = _engine(address)
    if replace or not engine.exists(address):
        return engine.create(address, n_bits, notes=notes, approximate=approximate)
    found = engine.open(address)
    if notes and found.notes != notes:
        found.close()
        raise UserError(
            f"{shown(address)} holds codes of another model; choose another place, or pass --replace to begin anew"
        )
    if approximate is not None and found.approximate != approximate:
        found.close()
        raise UserError(f"{shown(address)} was not made for {approximate}; pass --replace to begin anew")
    return found


def _engine(address: str) -> type[Index]:
    """Engines are loaded when they are named: each needs packages of its own."""
    if address.startswith(("postgresql://", "postgres://")):
        from drlh.index.postgres.index import PostgresIndex

        return PostgresIndex
    if address.startswith("milvus://") or (address.endswith(_MILVUS_FILE) and not Path(address).is_dir()):
        from drlh.index.milvus.index import MilvusIndex

        return MilvusIndex
    if "://" in address:
        raise UserError(
            f"no engine answers to {shown(address)}: give a directory, postgresql://…, milvus://… or FILE{_MILVUS_FILE}"
        )
    from drlh.index.local.index import LocalIndex

    return LocalIndex
