"""Small models and indexes of digits, and services on them."""

import io
import shutil
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
from drlh.encoding.codes_file import CodeSet
from drlh.encoding.indexing import load_items, notes_of
from drlh.features import make_extractor, with_features
from drlh.index.local.index import LocalIndex
from drlh.serve.app import create_app
from drlh.serve.map import kept_at, key_of
from drlh.serve.options import Limits, Options
from drlh.serve.run import listen, server_of
from drlh.serve.service import Service
from drlh.stages import encode_data, fit_model

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
        fit_model(dataset, method, N_BITS, made.model(method), parameters=parameters)
        codes, _ = encode_data(made.model(method), dataset, directory / "codes.npz")
        load_items(LocalIndex.create(made.index(method), N_BITS, notes=notes_of(codes)), codes)
        keep_map(made.index(method), codes)
    unknown = replace(dataset, extractor=None, images=None)
    fit_model(unknown, "drlh", N_BITS, made.model("unknown"), parameters=QUICK["drlh"])
    codes, _ = encode_data(made.model("unknown"), unknown, directory / "codes.npz")
    load_items(LocalIndex.create(made.index("unknown"), N_BITS, notes=notes_of(codes)), codes)
    keep_map(made.index("unknown"), codes)
    return made


def keep_map(index: Path, codes: CodeSet) -> None:
    """A map beside the index, so that not every service makes one."""
    ids = np.arange(len(codes))
    places = np.random.default_rng(0).random((len(codes), 2), np.float32)
    write_npz(kept_at(index), {"key": np.array(key_of(ids, codes.packed)), "places": places})


Serve = Callable[..., Service]


@pytest.fixture
def serve(made: Made, tmp_path: Path) -> Iterator[Serve]:
    """Makes services on a copy of the index, so that tests may change it."""
    with ExitStack() as stack:

        def start(method: str = "drlh", *, limits: Limits | None = None, **options: Any) -> Service:
            index = tmp_path / f"{method}-index"
            if not index.exists():
                shutil.copytree(made.index(method), index)
                shutil.copy(kept_at(made.index(method)), kept_at(index))
            given = {"model": made.model(method), "index": str(index), "token": TOKEN} | options
            service = Service(Options(**given, limits=limits or Limits()))
            stack.callback(service.close)
            return service

        yield start


@contextmanager
def running(app: ASGIApp) -> Iterator[httpx.Client]:
    """A client of a real server, which ends with the block."""
    server = server_of(app)
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
    with running(create_app(Service(Options(made.model(), str(made.index()), compare=(itq,))))) as client:
        yield client


def png(picture: np.ndarray, kind: str = "PNG") -> bytes:
    stream = io.BytesIO()
    Image.fromarray(picture).save(stream, kind)
    return stream.getvalue()


def picture_of(dataset: DataSet, row: int) -> bytes:
    assert dataset.images is not None
    return png(dataset.images.read(row))


def bearer(token: str = TOKEN) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}
