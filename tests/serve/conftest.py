"""Small models and indexes of digits, and services on them."""

import io
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import numpy as np
import pytest
from PIL import Image
from starlette.types import ASGIApp

from drlh.core.files import write_npz
from drlh.data import DataSet, load, subset
from drlh.encoding.codes_file import CodeSet, load_codes
from drlh.encoding.encoding import Encoding
from drlh.encoding.indexing import load_items, notes_of
from drlh.encoding.outputs import to_npz
from drlh.features import make_extractor, with_features
from drlh.index.local.index import LocalIndex
from drlh.model import Model
from drlh.serve.app import create_app
from drlh.serve.map import cache_key, cache_path
from drlh.serve.server import listen, make_server
from drlh.serve.service import Service
from drlh.serve.settings import Limits, ServiceSettings

N_ITEMS, N_BITS, TOKEN = 240, 16, "a-token-for-the-tests"
QUICK = {"drlh": {"n_epochs": 4, "ensemble_size": 1, "hidden_size": 32}, "itq": {}}


@dataclass(frozen=True)
class Made:
    """Model and index of each method in one directory; `dataset` are the digits in them, `others` some that are not."""

    directory: Path
    dataset: DataSet
    others: DataSet

    def model(self, method: str = "drlh") -> Path:
        return self.directory / f"{method}.model"

    def index(self, method: str = "drlh") -> Path:
        return self.directory / f"{method}-index"


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    directory = tmp_path_factory.mktemp("made")
    digits = with_features(load("digits"), make_extractor("gray8"))
    dataset, others = subset(digits, np.arange(N_ITEMS)), subset(digits, np.arange(N_ITEMS, N_ITEMS + 40))
    made = Made(directory, dataset, others)
    for method, parameters in QUICK.items():
        store_map(made.index(method), fit_and_index(directory, method, dataset, method, parameters))
    unknown = replace(dataset, extractor=None, images=None)
    store_map(made.index("unknown"), fit_and_index(directory, "unknown", unknown, "drlh", QUICK["drlh"]))
    return made


def fit_and_index(directory: Path, name: str, dataset: DataSet, method: str, parameters: dict[str, Any]) -> CodeSet:
    """Makes NAME.model and NAME-index, and returns the codes in it."""
    model, index = directory / f"{name}.model", directory / f"{name}-index"
    Model.fit(dataset, method, N_BITS, **parameters).save(model)
    codes = encode(model, dataset, directory / f"{name}-codes.npz")
    load_items(LocalIndex.create(index, N_BITS, notes=notes_of(codes)), codes)
    return codes


def encode(model: Path, dataset: DataSet, path: Path) -> CodeSet:
    to_npz(Encoding(model, dataset), path)
    return load_codes(path)


def store_map(index: Path, codes: CodeSet) -> None:
    """A map beside the index, so that not every service makes one."""
    ids = np.arange(len(codes))
    places = np.random.default_rng(0).random((len(codes), 2), np.float32)
    write_npz(cache_path(index), {"key": np.array(cache_key(ids, codes.packed)), "places": places})


Serve = Callable[..., Service]


@pytest.fixture
def serve(made: Made, tmp_path: Path) -> Iterator[Serve]:
    """Makes services on a copy of the index, so that tests may change it."""
    with ExitStack() as stack:

        def start(method: str = "drlh", *, limits: Limits | None = None, **options: Any) -> Service:
            index = tmp_path / f"{method}-index"
            if not index.exists():
                shutil.copytree(made.index(method), index)
                shutil.copy(cache_path(made.index(method)), cache_path(index))
            given = {"model": made.model(method), "index": str(index), "token": TOKEN} | options
            service = Service(ServiceSettings(**given, limits=limits or Limits()))
            stack.callback(service.close)
            return service

        yield start


@contextmanager
def running(app: ASGIApp) -> Iterator[httpx.Client]:
    """A client of a real server, which ends with the block."""
    server = make_server(app)
    with listen("127.0.0.1", 0) as listener:
        thread = Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            address = f"http://127.0.0.1:{listener.getsockname()[1]}"
            with httpx.Client(base_url=address, timeout=60) as client:
                yield client
        finally:
            server.should_exit = True
            thread.join()


Client = Callable[..., httpx.Client]


@pytest.fixture
def client(serve: Serve) -> Iterator[Client]:
    """Clients of new services."""
    with ExitStack() as stack:
        yield lambda *words, **options: stack.enter_context(running(create_app(serve(*words, **options))))


@pytest.fixture(scope="session")
def reading(made: Made) -> Iterator[httpx.Client]:
    """One client for the tests that change nothing."""
    itq = (made.model("itq"), str(made.index("itq")))
    with running(create_app(Service(ServiceSettings(made.model(), str(made.index()), compare=(itq,))))) as client:
        yield client


def serve_command(model: Path | str, index: Path | str, *options: str) -> list[str]:
    """The command line of a service that is a process of its own."""
    return [sys.executable, "-m", "drlh", "serve", str(model), "--index", str(index), *options]


@contextmanager
def process(
    log: Path, model: Path | str, index: Path | str, *options: str
) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    """(address, process) of a service, by default on a free port, which ends with the block."""
    command = serve_command(model, index, "--port", "0", *options)
    with log.open("wb") as written, subprocess.Popen(command, stdout=written, stderr=written) as running:
        try:
            yield _address_in(log, running), running
        finally:
            running.terminate()
            running.wait(60)


def _address_in(log: Path, running: "subprocess.Popen[bytes]") -> str:
    for _ in range(1200):
        found = re.search(r"http://[^/\s]+", log.read_text())
        if found:
            return found[0]
        assert running.poll() is None, log.read_text()
        time.sleep(0.1)
    raise AssertionError(f"drlh serve did not start: {log.read_text()}")


def png(picture: np.ndarray, kind: str = "PNG") -> bytes:
    stream = io.BytesIO()
    Image.fromarray(picture).save(stream, kind)
    return stream.getvalue()


def picture_of(dataset: DataSet, row: int) -> bytes:
    assert dataset.images is not None
    return png(dataset.images.read(row))


def bearer(token: str = TOKEN) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}
