"""The service as a process: many clients, a stop in the middle of writes, a quiet log."""

import asyncio
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.serve.conftest import TOKEN, Made, bearer, picture_of

from drlh.index.local.index import LocalIndex
from drlh.serve.map import kept_at


@contextmanager
def process(log: Path, *words: str) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    """(address, process) of a service that ends with the block."""
    command = [sys.executable, "-m", "drlh", "serve", *words, "--port", "0"]
    with log.open("wb") as written, subprocess.Popen(command, stdout=written, stderr=written) as running:
        try:
            yield _address(log, running), running
        finally:
            running.terminate()
            running.wait(60)


def _address(log: Path, running: "subprocess.Popen[bytes]") -> str:
    for _ in range(1200):
        found = re.search(r"http://[^/\s]+", log.read_text())
        if found:
            return found[0]
        assert running.poll() is None, log.read_text()
        time.sleep(0.1)
    raise AssertionError(log.read_text())


@pytest.fixture
def index(made: Made, tmp_path: Path) -> Path:
    shutil.copy(kept_at(made.index()), kept_at(tmp_path / "index"))
    return Path(shutil.copytree(made.index(), tmp_path / "index"))


def test_two_hundred_clients_get_two_hundred_right_answers(made: Made, index: Path, tmp_path: Path) -> None:
    async def ask(client: httpx.AsyncClient, number: int) -> Any:
        if number % 4 == 0:
            answer = await client.post("/search", files={"image": picture_of(made.others, number % 40)})
        else:
            answer = await client.post("/search", json={"id": number % 240, "k": 5})
        assert answer.status_code == 200, answer.text
        return answer.json()["hits"]

    async def all_clients(address: str) -> tuple[list[Any], list[Any]]:
        limits = httpx.Limits(max_connections=200)
        async with httpx.AsyncClient(base_url=address, limits=limits, timeout=120) as client:
            together = await asyncio.gather(*(ask(client, number) for number in range(200)))
            return list(together), [await ask(client, number) for number in range(0, 200, 20)]

    with process(tmp_path / "log", str(made.model()), str(index)) as (address, _):
        together, alone = asyncio.run(all_clients(address))
    assert together[::20] == alone


def test_a_stop_in_the_middle_of_writes_loses_none_that_was_accepted(
    made: Made, index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRLH_TOKEN", TOKEN)
    accepted: dict[int, str] = {}
    refused: list[int] = []

    def write(address: str, first: int) -> None:
        with httpx.Client(base_url=address, timeout=60) as client:
            for number in range(first, first + 10_000):
                item = {"code": "00ff", "name": f"n{number}", "id": number}
                try:
                    answer = client.post("/items", json=item, headers=bearer())
                except httpx.TransportError:
                    return  # the service has stopped
                if answer.status_code == 201:
                    accepted[number] = f"n{number}"
                else:
                    refused.append(answer.status_code)

    with process(tmp_path / "log", str(made.model()), str(index)) as (address, running):
        writers = [threading.Thread(target=write, args=(address, 10_000 * (1 + n))) for n in range(4)]
        for writer in writers:
            writer.start()
        while len(accepted) < 25:
            time.sleep(0.01)
        running.send_signal(signal.SIGTERM)
        assert running.wait(60) in (0, -signal.SIGTERM)
        for writer in writers:
            writer.join()
    assert refused == []
    with LocalIndex.open(index) as written:
        found = written.describe(list(accepted))
        assert [detail.name if detail else None for detail in found] == list(accepted.values())
        assert len(accepted) + 240 <= len(written) <= len(accepted) + 240 + len(writers)
    assert (tmp_path / "log").read_text().count("\n") == 1


def test_the_log_of_every_request_holds_no_secret(made: Made, index: Path, tmp_path: Path) -> None:
    token, log = tmp_path / "token", tmp_path / "log"
    token.write_text(TOKEN)
    words = (str(made.model()), str(index), "--token-file", str(token), "--access-log")
    with process(log, *words) as (address, _), httpx.Client(base_url=address) as client:
        client.post("/items", json={"code": "zz"}, headers=bearer())
        client.delete("/items/99999", headers=bearer())
    text = log.read_text()
    assert TOKEN not in text
    assert [line.split('"')[1] for line in text.splitlines() if '"' in line] == [
        "POST /items HTTP/1.1",
        "DELETE /items/99999 HTTP/1.1",
    ]
    assert "Traceback" not in text
