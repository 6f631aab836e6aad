"""Addresses: which engine answers, and no password in what people see."""

import pytest

from drlh.core.errors import UserError
from drlh.index.opening import open_index
from drlh.index.urls import redacted


@pytest.mark.parametrize(
    ("url", "public"),
    [
        ("photos-index", "photos-index"),
        ("postgresql://anna:geheim@host:5432/db?table=t", "postgresql://anna:***@host:5432/db?table=t"),
        ("postgresql://anna:ge:he@im@host/db", "postgresql://anna:***@host/db"),
        (
            "postgresql://host/db?user=anna&password=geheim&table=t",
            "postgresql://host/db?user=anna&password=***&table=t",
        ),
        ("milvus://anna:geheim@host/photos", "milvus://anna:***@host/photos"),
        ("milvus://host:19530", "milvus://host:19530"),
    ],
)
def test_a_password_is_never_shown(url: str, public: str) -> None:
    assert redacted(url) == public


def test_an_unknown_scheme_is_told_without_the_password() -> None:
    with pytest.raises(UserError, match=r"no engine answers to redis://anna:\*\*\*@host: give a directory"):
        open_index("redis://anna:geheim@host")
