"""A small HTTP server with ranges, and small pictures."""

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from PIL import Image


class FileServer(ThreadingHTTPServer):
    """Serves `files`; `cut` ends the next answer after so many bytes, `ranges` says whether it knows them."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.cut: int | None = None
        self.ranges = True
        self.asked: list[str | None] = []  # the Range header of each request

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: FileServer

    def do_GET(self) -> None:
        wanted = self.headers.get("Range")
        self.server.asked.append(wanted)
        content = self.server.files.get(self.path)
        if content is None:
            self.send_error(404)
            return
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and self.server.ranges else 0
        if start and start >= len(content):
            self.send_error(416)
            return
        self.send_response(206 if wanted and self.server.ranges else 200)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        cut, self.server.cut = self.server.cut, None
        self.wfile.write(content[start : len(content) if cut is None else start + cut])

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with FileServer() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def write_picture() -> Callable[[Path, int], Path]:
    """Writes a 4x4 picture of one grey value in the format that its name says."""

    def write(path: Path, grey: int = 100) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((4, 4, 3), grey, np.uint8)).save(path)
        return path

    return write
