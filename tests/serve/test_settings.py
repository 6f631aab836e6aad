"""Tokens and pairs as people give them."""

from pathlib import Path

import pytest

from drlh.core.errors import UserError
from drlh.serve.settings import parse_pair, read_token


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


def test_a_pair_is_a_model_and_its_index() -> None:
    assert parse_pair("a.model=postgresql://x/y?table=t") == (Path("a.model"), "postgresql://x/y?table=t")
    for text in ("a.model", "=index", "a.model="):
        with pytest.raises(UserError, match="compare takes MODEL=INDEX"):
            parse_pair(text)
