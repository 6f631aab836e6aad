"""PostgreSQL with pgvector: a table of rows with `code bit(n)`, one of distinct codes; exact, or HNSW on request.

Learned codes repeat, so a search ranks the distinct codes and takes rows from an index by (code, id) until it has k;
where codes hardly repeat, it ranks the rows. A code whose rows are all removed stays, and finds nothing.

Every change is one transaction that can be repeated without harm, so a connection that breaks is simply made again.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from drlh.core.codes import Packed, pack, unpack
from drlh.core.errors import UserError
from drlh.index.base import Hits, Ids, Index, check_details, check_ids, check_k, check_packed, check_radius, no_hits
from drlh.index.details import Detail, Details
from drlh.index.postgres.connection import (
    Address,
    Connection,
    connect,
    open_connection,
    parse_address,
    sql,
    with_retries,
)
from drlh.index.postgres.schema import codes_table, create_tables, read_content

_QUERIES = 64  # answered in one statement
_MOST_EF = 1000  # pgvector's limit of hnsw.ef_search
_ROWS_PER_CODE = 4  # from that many on, distinct codes are ranked

# What one query `q` finds: rows of codes that are ranked before. The sum keeps an HNSW index from answering, nearly.
_NEAREST = (
    "SELECT c.distance, r.id FROM ({ranked}) AS c, "
    "LATERAL (SELECT id FROM {t} WHERE {t}.code = c.code ORDER BY id LIMIT {limit}) AS r "
    "ORDER BY c.distance, r.id LIMIT {limit}"
)
_RANKED = "SELECT code, (code <~> q.code) + 0 AS distance FROM {codes} ORDER BY distance"
_RANKED_NEARLY = "SELECT code, code <~> q.code AS distance FROM {codes} ORDER BY code <~> q.code LIMIT {limit}"
_NEAREST_ROWS = "SELECT code <~> q.code AS distance, id FROM {t} ORDER BY distance, id LIMIT {limit}"
_WITHIN = (
    "SELECT c.distance, {t}.id FROM (SELECT code, code <~> q.code AS distance FROM {codes}) AS c "
    "JOIN {t} USING (code) WHERE c.distance <= {limit}"
)
_WITHIN_ROWS = "SELECT code <~> q.code AS distance, id FROM {t} WHERE code <~> q.code <= {limit}"

Result = TypeVar("Result")
_SIZES = "SELECT relname, reltuples FROM pg_class WHERE oid IN (to_regclass(%(t)s), to_regclass(%(codes)s))"


class PostgresIndex(Index):
    """`postgresql://user:password@host/database?table=photos`; the table is `drlh_codes` where none is named."""

    def __init__(self, address: Address, connection: Connection, content: dict[str, Any]) -> None:
        self._address, self._connection = address, connection
        self._table = sql.Identifier(address.table)
        self.n_bits = int(content["n_bits"])
        self.notes = dict(content["notes"])
        self.approximate = content["approximate"]
        self._added = False

    @classmethod
    def exists(cls, url: str | Path) -> bool:
        place = parse_address(url)
        with connect(place) as connection:
            return read_content(connection, place) is not None

    @classmethod
    def create(
        cls, url: str | Path, n_bits: int, *, notes: dict[str, Any] | None = None, approximate: str | None = None
    ) -> Self:
        if approximate not in (None, "hnsw"):
            raise UserError(f"PostgreSQL searches exactly or by hnsw: got {approximate!r}")
        place = parse_address(url)
        content = {"n_bits": n_bits, "notes": notes or {}, "approximate": approximate}
        with open_connection(place) as connection, connection.transaction():
            read_content(connection, place)  # refuses a foreign table
            create_tables(connection, place, content)
        return cls(place, connection, content)

    @classmethod
    def open(cls, url: str | Path) -> Self:
        place = parse_address(url)
        with open_connection(place) as connection:
            content = read_content(connection, place)
            if content is None:
                raise UserError(f"{place.redacted} holds no index in table {place.table}: make one with `drlh index`")
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
        # In one order, so that two who load at once do not wait for each other.
        cursor.execute(
            self._sql("INSERT INTO {codes} SELECT DISTINCT code FROM incoming ORDER BY code ON CONFLICT DO NOTHING")
        )
        self._added = True

    def remove(self, ids: ArrayLike) -> int:
        numbers = check_ids(ids).tolist()
        delete = self._sql("DELETE FROM {t} WHERE id = ANY(%s)")
        return int(self._ask(lambda cursor: cursor.execute(delete, [numbers]).rowcount))

    def search(self, packed: Packed, k: int, *, exact: bool = False) -> Hits:
        packed, k = check_packed(packed, self.n_bits), check_k(k)
        nearly = self.approximate is not None and not exact
        if nearly:
            one = _NEAREST.replace("{ranked}", _RANKED_NEARLY)
        else:
            one = _NEAREST.replace("{ranked}", _RANKED) if self._codes_repeat() else _NEAREST_ROWS
        rows = [row for block in _blocks(packed) for row in self._answers(block, one, k, nearly)]
        width = min((len(row) for row in rows), default=0)
        if not width:
            return no_hits(len(packed))
        found = np.array([row[:width] for row in rows], np.int64)
        return Hits(found[:, :, 0], found[:, :, 1])

    def search_radius(self, packed: Packed, radius: int) -> list[Hits]:
        packed, radius = check_packed(packed, self.n_bits), check_radius(radius)
        one = _WITHIN if self._codes_repeat() else _WITHIN_ROWS
        answers = [row for block in _blocks(packed) for row in self._answers(block, one, radius)]
        found = [np.array(rows, np.int64).reshape(-1, 2) for rows in answers]
        return [Hits(rows[:, 0], rows[:, 1]) for rows in found]

    def _codes_repeat(self) -> bool:
        """By the server's own estimates, which are there once it has analysed the tables; both ways are exact."""
        sizes = self._ask(lambda cursor: cursor.execute(_SIZES, self._quoted()).fetchall())
        known = {name: size for name, size in sizes if size >= 0}
        if len(known) < 2:
            return True
        return bool(_ROWS_PER_CODE * known[codes_table(self._address)] <= known[self._address.table])

    def _quoted(self) -> dict[str, str]:
        return {"t": f'"{self._address.table}"', "codes": f'"{codes_table(self._address)}"'}

    def _answers(self, packed: Packed, one: str, limit: int, nearly: bool = False) -> list[list[tuple[int, int]]]:
        """For each query its (distance, id) by the statement for `one`, in order."""
        queries = f"unnest(%s::text[]::bit({self.n_bits})[]) WITH ORDINALITY AS q (code, place)"
        asked = self._sql(
            f"SELECT q.place, x.distance, x.id FROM {queries}, LATERAL ({one}) AS x ORDER BY q.place, x.distance, x.id",
            limit=limit,
        )

        def work(cursor: Any) -> list[list[tuple[int, int]]]:
            cursor.execute("SET LOCAL jit = off")  # to compile the statement takes longer than to run it
            if nearly:
                cursor.execute(f"SET LOCAL hnsw.ef_search = {max(40, min(2 * limit, _MOST_EF))}")
                cursor.execute("SET LOCAL hnsw.iterative_scan = relaxed_order")
            groups: list[list[tuple[int, int]]] = [[] for _ in packed]
            for query, distance, number in cursor.execute(asked, [_texts(packed, self.n_bits)]):
                groups[query - 1].append((int(distance), number))
            return groups

        return self._ask(work)

    def describe(self, ids: ArrayLike) -> list[Detail | None]:
        numbers = check_ids(ids).tolist()
        select = self._sql("SELECT id, name, labels FROM {t} WHERE id = ANY(%s)")
        rows = self._ask(lambda cursor: cursor.execute(select, [numbers]).fetchall())
        known = {number: Detail(name, tuple(labels)) for number, name, labels in rows}
        return [known.get(number) for number in numbers]

    def codes(self, ids: ArrayLike) -> tuple[Packed, NDArray[np.bool_]]:
        numbers = check_ids(ids).tolist()
        select = self._sql("SELECT id, code::text FROM {t} WHERE id = ANY(%s)")
        known = dict(self._ask(lambda cursor: cursor.execute(select, [numbers]).fetchall()))
        texts = "".join(known.get(number, "0" * self.n_bits) for number in numbers)
        bits = np.frombuffer(texts.encode(), np.uint8).reshape(len(numbers), self.n_bits) - ord("0")
        return pack(bits), np.array([number in known for number in numbers], np.bool_)

    def sample(self, n: int) -> Ids:
        # A hash mixes the ids, and the same ones come whenever asked.
        select = self._sql("SELECT id FROM {t} ORDER BY hashint8extended(id, 1) LIMIT {limit}", limit=n)
        rows = self._ask(lambda cursor: cursor.execute(select).fetchall())
        return np.sort(np.array([number for (number,) in rows], np.int64))

    def highest_id(self) -> int:
        (highest,) = self._ask(lambda cursor: cursor.execute(self._sql("SELECT max(id) FROM {t}")).fetchone())
        return -1 if highest is None else int(highest)

    def close(self) -> None:
        """Lets the server update its row estimates where rows were added, and disconnects."""
        if self._added and not self._connection.closed:
            self._ask(lambda cursor: cursor.execute(self._sql("ANALYZE {t}, {codes}")))
        self._connection.close()

    def _sql(self, text: str, limit: int = 0) -> Any:
        codes = sql.Identifier(codes_table(self._address))
        return sql.SQL(text).format(t=self._table, codes=codes, limit=sql.Literal(limit))

    def _ask(self, work: Callable[[Any], Result]) -> Result:
        """Runs `work` in a transaction; where the connection breaks, once more on a new one."""

        def attempt() -> Result:
            if self._connection.closed:
                self._connection = connect(self._address)
            with self._connection.transaction(), self._connection.cursor() as cursor:
                return work(cursor)

        return with_retries(attempt, self._address)


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
