"""PostgreSQL with pgvector: one table with `code bit(n)`, exact by a scan, or HNSW on request.

Every change is one transaction that can be repeated without harm, so a connection that breaks is simply made again.
What the index is (length, notes, method) stands in the table's comment, beside the rows and as safe as they are.
"""

import json
from collections.abc import Callable
from functools import partial
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from drlh.codes import Packed, unpack
from drlh.errors import UserError
from drlh.index.details import Detail, Details
from drlh.index.engine import Engine, Found, check_details, check_k, check_packed, check_radius, no_hits
from drlh.index.ids import check_ids
from drlh.index.postgres_connection import Address, Connection, connect, opened, parse_address, retried, sql

FORMAT, VERSION = "drlh-index", 1
_QUERIES = 64  # answered in one statement
_MOST_EF = 1000  # pgvector's limit of hnsw.ef_search

Result = TypeVar("Result")


class PostgresIndex(Engine):
    """`postgresql://user:password@host/database?table=photos`; the table is `drlh_codes` where none is named."""

    def __init__(self, address: Address, connection: Connection, content: dict[str, Any]) -> None:
        self._address, self._connection = address, connection
        self._table = sql.Identifier(address.table)
        self.n_bits = int(content["n_bits"])
        self.notes = dict(content["notes"])
        self.approximate = content["approximate"]

    @classmethod
    def exists(cls, address: str) -> bool:
        place = parse_address(address)
        with connect(place) as connection:
            return _content(connection, place) is not None

    @classmethod
    def create(
        cls, address: str, n_bits: int, *, notes: dict[str, Any] | None = None, approximate: str | None = None
    ) -> Self:
        if approximate not in (None, "hnsw"):
            raise UserError(f"PostgreSQL searches exactly or by hnsw: got {approximate!r}")
        place = parse_address(address)
        content = {"n_bits": n_bits, "notes": notes or {}, "approximate": approximate}
        with opened(place) as connection, connection.transaction():
            _content(connection, place)  # refuses a table that is not ours
            _create_table(connection, place, content)
        return cls(place, connection, content)

    @classmethod
    def open(cls, address: str) -> Self:
        place = parse_address(address)
        with opened(place) as connection:
            content = _content(connection, place)
            if content is None:
                raise UserError(f"{place.shown} holds no index in table {place.table}: make one with `drlh index`")
        return cls(place, connection, content)

    def __len__(self) -> int:
        count = self._ask(lambda cursor: cursor.execute(self._sql("SELECT count(*) FROM {t}")).fetchone())
        return int(count[0])

    def add(self, packed: Packed, ids: ArrayLike, details: Details | None = None) -> None:
        packed = check_packed(packed, self.n_bits)
        numbers = check_ids(ids, len(packed))
        check_details(details, len(packed))
        if len(packed):
            self._ask(lambda cursor: self._copy(cursor, packed, numbers.tolist(), details))

    def _copy(self, cursor: Any, packed: Packed, ids: list[int], details: Details | None) -> None:
        """Rows go into a table of this transaction by COPY and from there over the rows of the same ids."""
        cursor.execute(self._sql("CREATE TEMP TABLE incoming (LIKE {t}) ON COMMIT DROP"))
        with cursor.copy("COPY incoming (id, code, name, labels) FROM STDIN") as copy:
            for row, (number, bits) in enumerate(zip(ids, _texts(packed, self.n_bits), strict=True)):
                name, labels = Detail(str(number), ()) if details is None else details[row]
                copy.write_row((number, bits, _storable(name), [_storable(label) for label in labels]))
        cursor.execute(
            self._sql(
                "INSERT INTO {t} SELECT * FROM incoming ORDER BY id ON CONFLICT (id) DO UPDATE "
                "SET code = excluded.code, name = excluded.name, labels = excluded.labels"
            )
        )

    def remove(self, ids: ArrayLike) -> int:
        numbers = check_ids(ids).tolist()
        delete = self._sql("DELETE FROM {t} WHERE id = ANY(%s)")
        return int(self._ask(lambda cursor: cursor.execute(delete, [numbers]).rowcount))

    def search(self, packed: Packed, k: int, *, exact: bool = False) -> Found:
        packed, k = check_packed(packed, self.n_bits), check_k(k)
        near = "SELECT id, code <~> q.code AS distance FROM {t} ORDER BY {order} LIMIT %s"
        order = "distance, id" if exact or self.approximate is None else "code <~> q.code"
        asked = self._lateral(near.replace("{order}", order))
        answers = [
            self._ask(partial(self._nearest, asked=asked, packed=block, k=k, exact=exact)) for block in _blocks(packed)
        ]
        rows = [row for answer in answers for row in answer]
        width = min((len(row) for row in rows), default=0)
        if not width:
            return no_hits(len(packed))
        found = np.array([row[:width] for row in rows], np.int64)
        return found[:, :, 0], found[:, :, 1]

    def _nearest(self, cursor: Any, asked: Any, packed: Packed, k: int, exact: bool) -> list[list[tuple[int, int]]]:
        if exact or self.approximate is None:
            cursor.execute("SET LOCAL enable_indexscan = off")  # an HNSW index would answer, nearly
        else:
            cursor.execute(f"SET LOCAL hnsw.ef_search = {max(40, min(2 * k, _MOST_EF))}")
            cursor.execute("SET LOCAL hnsw.iterative_scan = relaxed_order")
        return self._grouped(cursor, asked, packed, k)

    def search_radius(self, packed: Packed, radius: int) -> list[Found]:
        packed, radius = check_packed(packed, self.n_bits), check_radius(radius)
        asked = self._lateral("SELECT id, code <~> q.code AS distance FROM {t} WHERE code <~> q.code <= %s")
        found = []
        for block in _blocks(packed):
            answer = self._ask(partial(self._grouped, asked=asked, packed=block, limit=radius))
            found += [np.array(rows, np.int64).reshape(-1, 2) for rows in answer]
        return [(rows[:, 0], rows[:, 1]) for rows in found]

    def _grouped(self, cursor: Any, asked: Any, packed: Packed, limit: int) -> list[list[tuple[int, int]]]:
        """For each query its (distance, id), in order."""
        groups: list[list[tuple[int, int]]] = [[] for _ in packed]
        cursor.execute("SET LOCAL jit = off")  # to compile the statement takes longer than to run it
        cursor.execute(asked, [_texts(packed, self.n_bits), limit])
        for query, distance, number in cursor:
            groups[query - 1].append((int(distance), number))
        return groups

    def describe(self, ids: ArrayLike) -> list[Detail | None]:
        numbers = check_ids(ids).tolist()
        select = self._sql("SELECT id, name, labels FROM {t} WHERE id = ANY(%s)")
        rows = self._ask(lambda cursor: cursor.execute(select, [numbers]).fetchall())
        known = {number: Detail(name, tuple(labels)) for number, name, labels in rows}
        return [known.get(number) for number in numbers]

    def close(self) -> None:
        self._connection.close()

    def _sql(self, text: str) -> Any:
        return sql.SQL(text).format(t=self._table)

    def _lateral(self, one: str) -> Any:
        """`one` query's statement for many queries at once, answers by (query, distance, id)."""
        queries = f"unnest(%s::text[]::bit({self.n_bits})[]) WITH ORDINALITY AS q (code, place)"
        return self._sql(
            f"SELECT q.place, x.distance, x.id FROM {queries}, LATERAL ({one}) AS x ORDER BY q.place, x.distance, x.id"
        )

    def _ask(self, work: Callable[[Any], Result]) -> Result:
        """Runs `work` in a transaction; where the connection breaks, once more on a new one."""

        def attempt() -> Result:
            if self._connection.closed:
                self._connection = connect(self._address)
            with self._connection.transaction(), self._connection.cursor() as cursor:
                return work(cursor)

        return retried(attempt, self._address)


def _create_table(connection: Connection, place: Address, content: dict[str, Any]) -> None:
    table = sql.Identifier(place.table)
    connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(table))
    connection.execute(
        sql.SQL(
            "CREATE TABLE {} (id bigint PRIMARY KEY, code bit({}) NOT NULL, name text NOT NULL, labels text[] NOT NULL)"
        ).format(table, sql.Literal(content["n_bits"]))
    )
    if content["approximate"] == "hnsw":
        connection.execute(sql.SQL("CREATE INDEX ON {} USING hnsw (code bit_hamming_ops)").format(table))
    comment = json.dumps({"format": FORMAT, "version": VERSION} | content)
    connection.execute(sql.SQL("COMMENT ON TABLE {} IS {}").format(table, sql.Literal(comment)))


def _content(connection: Connection, place: Address) -> dict[str, Any] | None:
    """What the table's comment says, None where there is no table; a table of somebody else is refused."""
    found = connection.execute(
        "SELECT obj_description(c.oid) FROM pg_class c WHERE c.oid = to_regclass(%s)", [f'"{place.table}"']
    ).fetchone()
    if found is None:
        return None
    try:
        content = json.loads(found[0] or "")
    except ValueError:
        content = {}
    if not isinstance(content, dict) or content.get("format") != FORMAT or content.get("version", 0) > VERSION:
        raise UserError(
            f"the table {place.table} of {place.shown} is not an index this drlh can read: name another with ?table="
        )
    return content


def _texts(packed: Packed, n_bits: int) -> list[str]:
    """Codes as PostgreSQL writes them, first bit first."""
    letters: NDArray[np.uint8] = unpack(packed, n_bits) + ord("0")
    text = letters.tobytes().decode("ascii")
    return [text[start : start + n_bits] for start in range(0, len(text), n_bits)]


def _storable(text: str) -> str:
    """PostgreSQL's text holds everything but the zero character and lone surrogates of undecodable file names."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode("utf-8")


def _blocks(packed: Packed) -> list[Packed]:
    return [packed[start : start + _QUERIES] for start in range(0, len(packed), _QUERIES)]
