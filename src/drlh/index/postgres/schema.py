"""The tables of an index in PostgreSQL: rows, and the distinct codes among them.

What the index is (length, notes, method) stands in the comment of the table of rows, as durable as the rows.
"""

import json
from typing import Any

from drlh.core.errors import UserError
from drlh.index.postgres.connection import Address, Connection, sql

FORMAT, VERSION = "drlh-index", 1


def create_tables(connection: Connection, place: Address, content: dict[str, Any]) -> None:
    names = {"t": sql.Identifier(place.table), "codes": sql.Identifier(codes_table(place))}
    statements = [
        "DROP TABLE IF EXISTS {t}, {codes}",
        "CREATE TABLE {t} "
        "(id bigint PRIMARY KEY, code bit({n_bits}) NOT NULL, name text NOT NULL, labels text[] NOT NULL)",
        "CREATE INDEX ON {t} (code, id)",
        "CREATE TABLE {codes} (code bit({n_bits}) PRIMARY KEY)",
        "COMMENT ON TABLE {t} IS {about}",
    ]
    if content["approximate"] == "hnsw":
        statements.append("CREATE INDEX ON {codes} USING hnsw (code bit_hamming_ops)")
    about = sql.Literal(json.dumps({"format": FORMAT, "version": VERSION} | content))
    for statement in statements:
        connection.execute(sql.SQL(statement).format(n_bits=sql.Literal(content["n_bits"]), about=about, **names))


def codes_table(place: Address) -> str:
    return f"{place.table}_codes"


def read_content(connection: Connection, place: Address) -> dict[str, Any] | None:
    """What the table's comment says, None where there is no table; a foreign table is refused."""
    content = _comment(connection, place.table)
    if content is None and _comment(connection, codes_table(place)) is None:
        return None
    if content is None or content.get("format") != FORMAT or content.get("version", 0) > VERSION:
        raise UserError(
            f"the table {place.table} of {place.redacted} is not an index this drlh can read: name another with ?table="
        )
    return content


def _comment(connection: Connection, table: str) -> dict[str, Any] | None:
    """The comment of a table as an object, empty where it is none of ours; None where there is no table."""
    asked = "SELECT obj_description(c.oid) FROM pg_class c WHERE c.oid = to_regclass(%s)"
    found = connection.execute(asked, [f'"{table}"']).fetchone()
    if found is None:
        return None
    try:
        content = json.loads(found[0] or "")
    except ValueError:
        content = {}
    return content if isinstance(content, dict) else {}
