"""Starting and stopping: errors before anything is served, many clients, a stop in the middle of writes, the log."""

import asyncio
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.serve.conftest import TOKEN, Made, bearer, picture_of, process, serve_command

from drlh.core.errors import UserError
from drlh.index.local.index import LocalIndex
from drlh.serve.map import cache_path
from drlh.serve.server import start


def begin(model: Path | str, index: Path | str, **options: Any) -> None:
    words: dict[str, Any] = {
        "data": None, "compare": [], "host": "127.0.0.1", "port": 0, "token_file": None, "pictures": None,
        "allow_host": [], "rate": 50.0, "max_megabytes": 20.0, "max_megapixels": 40.0, "access_log": False,
        "tell": lambda text: pytest.fail(f"it started: {text}"),
    }  # fmt: skip
    start(Path(model), str(index), **words | options)


def test_what_is_missing_or_does_not_belong_together_is_told(made: Made, tmp_path: Path) -> None:
    LocalIndex.create(tmp_path / "short", 8)
    mistakes: list[tuple[Any, str]] = [
        ((tmp_path / "no.model", made.index()), "no.model is not a file"),
        ((made.model(), tmp_path / "nowhere"), "nowhere is not a directory"),
        ((made.model(), made.index("itq")), "were not made with .*drlh.model"),
        ((made.model(), tmp_path / "short"), "were not made with"),
        ((made.model(), "ftp://x/y"), "no engine answers"),
    ]
    for (model, index), sentence in mistakes:
        with pytest.raises(UserError, match=sentence) as caught:
            begin(model, index)
        assert "\n" not in str(caught.value)
    options: list[tuple[dict[str, Any], str]] = [
        ({"data": "no such set"}, "neither an existing path nor"),
        ({"compare": ["itq.model"]}, "compare takes MODEL=INDEX: got 'itq.model'"),
        ({"compare": [f"{made.model('itq')}={made.index()}"]}, "were not made with"),
        ({"token_file": tmp_path / "none"}, "token_file .*none cannot be read"),
        ({"pictures": made.model()}, "for pictures cannot be made"),
        ({"host": "no.such.host.invalid"}, "cannot be taken"),
    ]
    for given, sentence in options:
        with pytest.raises(UserError, match=sentence):
            begin(made.model(), made.index(), **given)


def test_a_port_in_use_is_one_sentence_and_exit_code_2(made: Made) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = serve_command(made.model(), made.index(), "--port", port)
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "cannot be taken: Address already in use" in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_missing_package_is_told_with_the_way_to_get_it(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(UserError, match=r"pip install 'drlh\[serve\]'"):
        begin(made.model(), made.index())


@pytest.fixture
def index(made: Made, tmp_path: Path) -> Path:
    shutil.copy(cache_path(made.index()), cache_path(tmp_path / "index"))
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

    with process(tmp_path / "log", made.model(), index) as (address, _):
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

    with process(tmp_path / "log", made.model(), index) as (address, running):
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
    options = ("--token-file", str(token), "--access-log")
    with process(log, made.model(), index, *options) as (address, _), httpx.Client(base_url=address) as client:
        client.post("/items", json={"code": "zz"}, headers=bearer())
        client.delete("/items/99999", headers=bearer())
    text = log.read_text()
    assert TOKEN not in text
    assert [line.split('"')[1] for line in text.splitlines() if '"' in line] == [
        "POST /items HTTP/1.1",
        "DELETE /items/99999 HTTP/1.1",
    ]
    assert "Traceback" not in text
