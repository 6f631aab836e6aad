import hashlib
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from drlh.core.errors import UserError
from drlh.data.download import download

if TYPE_CHECKING:
    from .conftest import FileServer

CONTENT = bytes(range(256)) * 4000  # about a megabyte
MD5 = hashlib.md5(CONTENT).hexdigest()
OTHERWISE = "put it there by hand"


def test_a_download_arrives_whole_and_leaves_no_part(tmp_path: Path, server: "FileServer") -> None:
    server.files["/set.bin"] = CONTENT
    seen: list[tuple[int, int]] = []
    target = tmp_path / "new" / "set.bin"
    download(
        f"{server.address}/set.bin", target, MD5, otherwise=OTHERWISE,
        progress=lambda done, total, what: seen.append((done, total)),
    )  # fmt: skip
    assert target.read_bytes() == CONTENT
    assert list(target.parent.iterdir()) == [target]
    assert seen[-1] == (len(CONTENT), len(CONTENT))


def test_a_cut_download_goes_on_where_it_stopped(tmp_path: Path, server: "FileServer") -> None:
    server.files["/set.bin"] = CONTENT
    server.cut = 300_000
    target = tmp_path / "set.bin"
    with pytest.raises(UserError, match=r"cut after 300,000 of 1,024,000 bytes.*put it there by hand"):
        download(f"{server.address}/set.bin", target, MD5, otherwise=OTHERWISE)
    assert not target.exists()
    assert (tmp_path / "set.bin.part").stat().st_size == 300_000
    download(f"{server.address}/set.bin", target, MD5, otherwise=OTHERWISE)
    assert target.read_bytes() == CONTENT
    assert server.asked == [None, "bytes=300000-"]


def test_a_server_without_ranges_is_asked_from_the_start(tmp_path: Path, server: "FileServer") -> None:
    server.files["/set.bin"] = CONTENT
    server.ranges = False
    (tmp_path / "set.bin.part").write_bytes(b"stale")
    download(f"{server.address}/set.bin", tmp_path / "set.bin", MD5, otherwise=OTHERWISE)
    assert (tmp_path / "set.bin").read_bytes() == CONTENT


def test_a_part_that_is_already_whole_is_taken(tmp_path: Path, server: "FileServer") -> None:
    server.files["/set.bin"] = CONTENT
    (tmp_path / "set.bin.part").write_bytes(CONTENT)
    download(f"{server.address}/set.bin", tmp_path / "set.bin", MD5, otherwise=OTHERWISE)
    assert (tmp_path / "set.bin").read_bytes() == CONTENT


def test_a_wrong_digest_leaves_nothing_behind(tmp_path: Path, server: "FileServer") -> None:
    server.files["/set.bin"] = CONTENT[:-1] + b"!"
    with pytest.raises(UserError, match=f"where {MD5} is published; try again, or put it there by hand"):
        download(f"{server.address}/set.bin", tmp_path / "set.bin", MD5, otherwise=OTHERWISE)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_is_not_asked_for_again(tmp_path: Path, server: "FileServer") -> None:
    (tmp_path / "set.bin").write_bytes(CONTENT)
    download(f"{server.address}/set.bin", tmp_path / "set.bin", MD5, otherwise=OTHERWISE)
    assert server.asked == []


def test_without_a_network_one_sentence_says_what_to_do(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(UserError, match=r"cannot be fetched: .*refused; put it there by hand"):
        download(f"http://127.0.0.1:{port}/set.bin", tmp_path / "set.bin", MD5, otherwise=OTHERWISE)
    assert list(tmp_path.iterdir()) == []


def test_an_address_without_the_file_is_told(tmp_path: Path, server: "FileServer") -> None:
    with pytest.raises(UserError, match=r"set\.bin cannot be fetched: Not Found"):
        download(f"{server.address}/set.bin", tmp_path / "set.bin", MD5, otherwise=OTHERWISE)


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path, server: "FileServer") -> None:
    server.files["/set.bin"] = CONTENT
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UserError, match=r"cannot write .*choose another directory"):
        download(f"{server.address}/set.bin", tmp_path / "file" / "set.bin", MD5, otherwise=OTHERWISE)
