"""A real `drlh serve` on a small collection, and a real Chromium that looks at its page."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.serve.conftest import N_BITS, Made, fit_and_index, picture_of, process

from drlh.encoding.indexing import load_items
from drlh.index.local.index import LocalIndex

MAP_PATIENCE = 300_000  # milliseconds: the map is made at the lowest priority, and a busy machine lets it wait
# The points of the map where the page puts them.
PLACES = """async () => {
  const [{ loosen }, answer] = await Promise.all([import("./page/loosen.js"), fetch("map")]);
  return loosen((await answer.json()).points);
}"""
# People look at the pictures of these tests, so the agent has learnt more than those of other tests.
LEARNT = {
    "drlh": {"n_epochs": 40, "ensemble_size": 2, "hidden_size": 128},
    "drlh-paper": {"n_epochs": 8, "hidden_size": 128},  # half-taught: some walks stop, others flip to and fro
    "itq": {},
}
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@dataclass(frozen=True)
class Files:
    """What can be served: a model and its index for each method, an index without pictures and an empty one."""

    made: Made
    directory: Path

    def of(self, method: str, index: str | None = None) -> tuple[str, str]:
        """The model and the index for `drlh serve`."""
        return str(self.directory / f"{method}.model"), str(self.directory / f"{index or method}-index")


@pytest.fixture(scope="session")
def made_for_browser(chromium: str, request: pytest.FixtureRequest) -> Made:
    """Asked for only where there is a browser: to fit models for tests that are skipped is a waste."""
    made: Made = request.getfixturevalue("made")
    return made


@pytest.fixture(scope="session")
def files(made_for_browser: Made, tmp_path_factory: pytest.TempPathFactory) -> Files:
    made, directory = made_for_browser, tmp_path_factory.mktemp("served")
    for method, parameters in LEARNT.items():
        codes = fit_and_index(directory, method, made.dataset, method, parameters)
    load_items(LocalIndex.create(directory / "bare-index", N_BITS), codes)  # it does not say where the pictures are
    LocalIndex.create(directory / "empty-index", N_BITS)
    return Files(made, directory)


@contextmanager
def serving(log: Path, model: str, index: str, *options: str) -> Iterator[str]:
    """The address of a server that runs as a process of its own until the end of the block."""
    with process(log, model, index, *options) as (address, _):
        yield f"{address}/"


@pytest.fixture(scope="session")
def server(files: Files) -> Iterator[str]:
    """DRLH with pictures, and ITQ beside it."""
    words = (*files.of("drlh"), "--compare", "=".join(files.of("itq")))
    with serving(files.directory / "server.log", *words) as address:
        yield address


@pytest.fixture(scope="session")
def paper_server(files: Files) -> Iterator[str]:
    """The paper's agent."""
    with serving(files.directory / "paper.log", *files.of("drlh-paper")) as address:
        yield address


@pytest.fixture(scope="session")
def bare_server(files: Files) -> Iterator[str]:
    """A method that does not walk, alone, and items without pictures."""
    words = (*files.of("itq", "bare"), "--max-megabytes", "0.2")
    with serving(files.directory / "bare.log", *words) as address:
        yield address


@pytest.fixture(scope="session")
def chromium() -> str:
    """The browser's path. Without one these tests are skipped, and fail where one was promised."""
    path = os.environ.get("DRLH_CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is not None and find_spec("playwright"):
        return path
    missing = "playwright is not installed" if path else "no Chromium on the PATH; install one, or set DRLH_CHROMIUM"
    give_up = pytest.fail if os.environ.get("DRLH_BROWSER") == "required" else pytest.skip
    give_up(f"the page was not tested in a browser: {missing}")


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Any]:
    """For one module at a time: while it is open, its event loop is in the way of tests with loops of their own."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


def place(page: Any, point: dict[str, Any]) -> tuple[float, float]:
    """Where a point of the map lies on the screen before anything is zoomed."""
    box = page.locator("canvas").bounding_box()
    size = min(box["width"], box["height"]) - 32
    x = box["x"] + box["width"] / 2 + (point["x"] - 0.5) * size
    return x, box["y"] + box["height"] / 2 + (point["y"] - 0.5) * size


@dataclass
class Visits:
    """Opens pages and remembers what went wrong in them."""

    browser: Any
    home: str
    complaints: list[str] = field(default_factory=list)
    tolerated: tuple[str, ...] = ()
    contexts: list[Any] = field(default_factory=list)

    def __call__(self, state: str = "", *, home: str | None = None, **options: Any) -> Any:
        """A page in a fresh profile; `state` is what follows the # of its address."""
        # Most tests want the end of a walk, not its play: those that do not say so.
        wanted = {"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce"} | options
        context = self.browser.new_context(**wanted)
        context.set_default_timeout(15_000)
        self.contexts.append(context)
        page = context.new_page()
        address = home or self.home
        page.on("console", lambda message: self._hear(message.type, message.text))
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("request", lambda request: self._watch(request.url, address))
        page.goto(f"{address}#{state}")
        return page

    def tolerate(self, *words: str) -> None:
        """What the browser may say in this test, such as the status of a request that is meant to fail."""
        self.tolerated = words

    def _hear(self, kind: str, text: str) -> None:
        if kind in ("error", "warning") and not any(word in text for word in self.tolerated):
            self.complaints.append(f"{kind}: {text}")

    def _watch(self, url: str, home: str) -> None:
        if not url.startswith((home, "blob:", "data:")):
            self.complaints.append(f"a request left the origin: {url}")


@pytest.fixture
def visit(browser: Any, server: str) -> Iterator[Visits]:
    """Every test fails when the page complains or asks anybody but its own server."""
    visits = Visits(browser, server)
    yield visits
    for context in visits.contexts:
        context.close()
    assert visits.complaints == []


@pytest.fixture(scope="session")
def keep(pytestconfig: pytest.Config) -> Callable[[Any, str], None]:
    """Keeps a picture of a page for people to look at."""
    directory = pytestconfig.rootpath / "test-artefacts"

    def take(page: Any, name: str) -> None:
        page.evaluate("document.querySelectorAll('img').forEach((image) => { image.loading = 'eager'; })")
        page.wait_for_function("() => [...document.images].every((image) => image.complete)")
        page.screenshot(path=directory / f"{name}.png", full_page=True)

    return take


@pytest.fixture(scope="session")
def drawn_three(files: Files) -> dict[str, Any]:
    """A picture as an upload: a 3 that is not in the collection."""
    others = files.made.others
    row = int(np.flatnonzero(others.labels == 3)[0])
    return {"name": "three.png", "mimeType": "image/png", "buffer": picture_of(others, row)}
