"""What cannot be served is one sentence before anything is started."""

import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.serve.conftest import Made

from drlh.core.errors import UserError
from drlh.index.local.index import LocalIndex
from drlh.serve.starting import read_token, start


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
        ({"compare": ["itq.model"]}, "--compare takes MODEL=INDEX: got 'itq.model'"),
        ({"compare": [f"{made.model('itq')}={made.index()}"]}, "were not made with"),
        ({"token_file": tmp_path / "none"}, "--token-file .*none cannot be read"),
        ({"pictures": made.model()}, "--pictures .* cannot be made"),
        ({"host": "no.such.host.invalid"}, "cannot be taken"),
    ]
    for given, sentence in options:
        with pytest.raises(UserError, match=sentence):
            begin(made.model(), made.index(), **given)


def test_a_port_in_use_is_one_sentence_and_exit_code_2(made: Made) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "drlh", "serve", str(made.model()), str(made.index()), "--port", port]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stderr == f"drlh: port {port} of 127.0.0.1 cannot be taken: Address already in use; " + (
        "choose another with --port\n"
    )


def test_a_missing_package_is_told_with_the_way_to_get_it(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "drlh.serve.run", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(UserError, match=r"pip install 'drlh\[serve\]'"):
        begin(made.model(), made.index())


def test_a_token_is_one_long_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DRLH_TOKEN", raising=False)
    assert read_token(None) is None
    monkeypatch.setenv("DRLH_TOKEN", "from-the-environment")
    assert read_token(None) == "from-the-environment"
    file = tmp_path / "token"
    file.write_text("from-the-file-itself\n")
    assert read_token(file) == "from-the-file-itself"
    for text in ("", "short", "two words of some length", "ünïcödé-ünïcödé-ünïcödé"):
        file.write_text(text)
        with pytest.raises(UserError, match="at least 16") as caught:
            read_token(file)
        assert not text or text not in str(caught.value)
