"""What is special about Milvus: its limit of hits, its files and servers, addresses."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.index.brute_force import BruteForce, repeated_codes

from drlh.core.errors import UserError
from drlh.index.milvus.connection import connect, disconnect, parse_address
from drlh.index.milvus.index import MilvusIndex


def test_more_ties_than_milvus_returns_are_settled_by_id(milvus_address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MilvusIndex, "most", 25)
    monkeypatch.setattr("drlh.index.milvus.index._TIES", 20)
    truth, queries = BruteForce(), repeated_codes(4, 16, n_distinct=3)
    packed, ids = repeated_codes(400, 16, n_distinct=3), np.random.default_rng(0).permutation(10**6)[:400]
    truth.add(packed, ids)
    with MilvusIndex.create(milvus_address, 16) as index:
        index.add(packed, ids)
        for k in (1, 24, 25):
            found = [list(zip(d.tolist(), i.tolist(), strict=True)) for d, i in zip(*index.search(queries, k))]
            assert found == truth.search(queries, k)
        found = [list(zip(d.tolist(), i.tolist(), strict=True)) for d, i in index.search_radius(queries, 9)]
        assert found == truth.search_radius(queries, 9)
        with pytest.raises(UserError, match="at most 25 nearest: got k = 26"):
            index.search(queries, 26)


@pytest.mark.parametrize("address", ["milvus://anna:geheim@127.0.0.1:1/photos", "milvus://anna:geheim@127.0.0.1:x"])
def test_a_server_that_cannot_be_reached_is_one_sentence_without_the_password(address: str) -> None:
    with pytest.raises(UserError, match=r"milvus://anna:\*\*\*@127") as caught:
        MilvusIndex.open(address)
    assert "geheim" not in str(caught.value) + repr(caught.value)
    assert "\n" not in str(caught.value)


def test_an_address_names_server_collection_and_database() -> None:
    address = parse_address("milvus://anna:ge%40heim@host/photos?database=pictures&tls=1")
    assert (address.uri, address.token) == ("https://host:19530", "anna:ge@heim")
    assert (address.collection, address.database) == ("photos", "pictures")
    assert "heim" not in repr(address)
    with pytest.raises(UserError, match="named by letters"):
        parse_address("milvus://host/no-hyphens")


def test_mistakes_with_files_are_told(tmp_path: Path, milvus_address: str) -> None:
    with pytest.raises(UserError, match="does not exist"):
        MilvusIndex.open(str(tmp_path / "none.db"))
    assert not MilvusIndex.exists(str(tmp_path / "none.db"))
    with pytest.raises(UserError, match="holds no collection"):
        MilvusIndex.open(milvus_address)
    with pytest.raises(UserError, match="at most 35 letters"):
        MilvusIndex.create(str(tmp_path / "my photos.db"), 8)
    with pytest.raises(UserError, match="on a server, by ivf"):
        MilvusIndex.create(milvus_address, 8, approximate="ivf")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "text.db").write_text("no file of Milvus" * 1000)
    with pytest.raises(UserError, match="cannot be opened by Milvus"):
        MilvusIndex.open(str(tmp_path / "text.db"))


def test_a_collection_of_somebody_else_is_left_alone(milvus_address: str) -> None:
    address = parse_address(milvus_address)
    client = connect(address)
    client.create_collection(address.collection, dimension=8)
    for attempt in (MilvusIndex.open, lambda place: MilvusIndex.create(place, 8)):
        with pytest.raises(UserError, match="is not an index"):
            attempt(milvus_address)
    assert client.has_collection(address.collection)
    disconnect(client, address)


OPEN_AND_SHUT = """
import sys
from pathlib import Path
import numpy as np
from drlh.core.errors import UserError
from drlh.index.milvus.index import MilvusIndex
def servers():
    found = 0
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            program, *arguments = path.read_bytes().decode().split("\\0")
        except OSError:  # it has just ended
            continue
        found += program.endswith("/milvus") and sys.argv[1] in arguments
    return found

with MilvusIndex.create(sys.argv[1], 16) as index:
    index.add(np.zeros((3, 2), np.uint8), [1, 2, 3])
    print(servers())
with MilvusIndex.open(sys.argv[1]) as again:
    print(len(again))
print(servers())
for _ in range(2):
    try:
        MilvusIndex.open(sys.argv[2])
    except UserError as error:
        print(error)
"""


def test_an_embedded_server_ends_with_its_last_user_and_a_file_has_one_process(
    tmp_path: Path, milvus_address: str
) -> None:
    arguments = [sys.executable, "-c", OPEN_AND_SHUT, str(tmp_path / "own.db"), milvus_address]
    result = subprocess.run(arguments, capture_output=True, text=True, check=True)
    lines = result.stdout.splitlines()
    assert lines[:3] == ["1", "3", "0"]
    assert len(lines) == 5
    assert all("is open in another process" in line for line in lines[3:])
