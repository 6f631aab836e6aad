"""What is special about PostgreSQL: broken connections, odd names, foreign tables, HNSW."""

import select
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import psycopg
import pytest
from tests.index.brute_force import BruteForce, random_codes, repeated_codes

from drlh.core.errors import UserError
from drlh.encoding.codes_file import CodeSet
from drlh.encoding.indexing import load_items
from drlh.index.details import Detail, Details
from drlh.index.postgres.index import PostgresIndex


def table_of(address: str) -> str:
    return address.split("table=")[1]


def end_other_connections(server: str) -> None:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")


def test_a_connection_that_breaks_is_made_again_and_nothing_is_lost_or_doubled(
    postgres_server: str, postgres_address: str
) -> None:
    packed, ids = random_codes(100, 32), np.arange(100)
    with PostgresIndex.create(postgres_address, 32) as index:
        for start in range(0, 100, 20):
            index.add(packed[start : start + 20], ids[start : start + 20])
            end_other_connections(postgres_server)
        assert len(index) == 100
        end_other_connections(postgres_server)
        assert index.search(packed[:1], 1)[1].tolist() == [[0]]


def test_a_load_that_broke_off_is_completed_by_the_next(postgres_address: str) -> None:
    class Stopped(Exception):
        pass

    def stop(done: int, total: int, what: str, /) -> None:
        if done == 60:
            raise Stopped

    names = np.array([f"{row}.jpg" for row in range(100)])
    items = CodeSet(random_codes(100, 32), 32, np.zeros(100, np.int64), ("any",), names)
    with PostgresIndex.create(postgres_address, 32) as index:
        index.block = 20
        with pytest.raises(Stopped):
            load_items(index, items, progress=stop)
        assert len(index) == 60
        load_items(index, items)
        assert len(index) == 100


def test_a_server_that_cannot_be_reached_is_one_sentence_without_the_password(tmp_path: Path) -> None:
    for address in (
        "postgresql://anna:geheim@127.0.0.1:1/photos",
        f"postgresql://anna@/photos?host={tmp_path}&password=geheim",
        "postgresql://anna:geheim@127.0.0.1:port/photos",
    ):
        with pytest.raises(UserError, match="no answer from PostgreSQL at postgresql://anna") as caught:
            PostgresIndex.open(address)
        assert "geheim" not in str(caught.value)
        assert "\n" not in str(caught.value)


def forward_later(socket_path: str, port: int, delay: float) -> None:
    """After a while, carries one connection from `port` to the server's own socket."""
    time.sleep(delay)
    with socket.create_server(("127.0.0.1", port)) as listener:
        client, _ = listener.accept()
    server = socket.socket(socket.AF_UNIX)
    server.connect(socket_path)
    with client, server:
        while True:
            ready, _, _ = select.select([client, server], [], [])
            for end in ready:
                data = end.recv(1 << 16)
                if not data:
                    return
                (server if end is client else client).sendall(data)


def test_a_server_that_is_still_starting_is_waited_for(postgres_server: str, postgres_address: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    socket_path = f"{parse_qs(urlsplit(postgres_server).query)['host'][0]}/.s.PGSQL.5432"
    PostgresIndex.create(postgres_address, 8).close()
    forwarder = threading.Thread(target=forward_later, args=(socket_path, port, 0.5))
    forwarder.start()
    with PostgresIndex.open(
        f"postgresql://postgres@127.0.0.1:{port}/postgres?table={table_of(postgres_address)}"
    ) as index:
        assert len(index) == 0
    forwarder.join()


def test_a_missing_database_and_a_missing_index_are_told(postgres_server: str, postgres_address: str) -> None:
    with pytest.raises(UserError, match=r'database "nowhere" does not exist'):
        PostgresIndex.open(urlsplit(postgres_server)._replace(path="/nowhere").geturl())
    with pytest.raises(UserError, match="holds no index in table t_"):
        PostgresIndex.open(postgres_address)
    assert not PostgresIndex.exists(postgres_address)
    with pytest.raises(UserError, match="small letters"):
        PostgresIndex.open(f"{postgres_server}&table=Robert'); DROP TABLE students")


def test_a_table_of_somebody_else_is_left_alone(postgres_server: str, postgres_address: str) -> None:
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        for table in (f"{table_of(postgres_address)}_codes", table_of(postgres_address)):
            connection.execute(f"CREATE TABLE {table} (secret text)")
            for attempt in (PostgresIndex.open, lambda address: PostgresIndex.create(address, 8)):
                with pytest.raises(UserError, match="is not an index"):
                    attempt(postgres_address)
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


def test_odd_names_come_back_as_they_were(postgres_address: str) -> None:
    names = ["tab\there", "line\nbreak", "back\\slash \\N", "quote\"'", "", "日本.jpg", "{a,b}"]
    details = Details(np.array(names), np.zeros(7, np.int64), ('a, "b" {c} \\',))
    with PostgresIndex.create(postgres_address, 16) as index:
        index.add(random_codes(7, 16), np.arange(7), details)
        assert index.describe(np.arange(7)) == [Detail(name, details.classes) for name in names]
        index.add(random_codes(1, 16), [8], Details(np.array(["nul\0 \udcff"], object), np.array([0]), ("a",)))
        assert index.describe([8]) == [Detail("nul\N{REPLACEMENT CHARACTER} ?", ("a",))]


@pytest.mark.parametrize(("codes", "repeat"), [(repeated_codes, True), (random_codes, False)])
def test_the_way_of_searching_follows_the_codes_and_both_ways_are_exact(
    postgres_address: str, codes: Callable[..., np.ndarray], repeat: bool
) -> None:
    truth, packed, queries = BruteForce(), codes(600, 48), random_codes(3, 48, 1)
    truth.add(packed, np.arange(600))
    with PostgresIndex.create(postgres_address, 48) as index:
        index.add(packed, np.arange(600))
    with PostgresIndex.open(postgres_address) as index:
        assert index._codes_repeat() is repeat
        found = [list(zip(d.tolist(), i.tolist(), strict=True)) for d, i in zip(*index.search(queries, 50))]
        assert found == truth.search(queries, 50)
        found = [list(zip(d.tolist(), i.tolist(), strict=True)) for d, i in index.search_radius(queries, 22)]
        assert found == truth.search_radius(queries, 22)


def test_hnsw_answers_nearly_and_exact_search_beside_it_exactly(postgres_address: str) -> None:
    truth, queries = BruteForce(), random_codes(5, 48, 9)
    packed = np.vstack([random_codes(1500, 48), repeated_codes(500, 48)])
    truth.add(packed, np.arange(2000))
    with PostgresIndex.create(postgres_address, 48, approximate="hnsw") as index:
        index.add(packed, np.arange(2000))
        exact = index.search(queries, 20, exact=True)
        found = [list(zip(d.tolist(), i.tolist(), strict=True)) for d, i in zip(*exact, strict=True)]
        assert found == truth.search(queries, 20)
        distances, ids = index.search(queries, 20)
        assert ids.shape == (5, 20)
        assert (distances <= exact[0][:, -1:]).mean() > 0.8
    with PostgresIndex.open(postgres_address) as again:
        assert again.approximate == "hnsw"
    with pytest.raises(UserError, match="exactly or by hnsw"):
        PostgresIndex.create(postgres_address, 48, approximate="ivf")
