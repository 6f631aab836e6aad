"""What responses are made of: JSON, codes as text, and refusals."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from fastapi import Response
from pydantic_core import to_json

from drlh.core.codes import Codes, Packed, unpack


class Refusal(Exception):
    """An HTTP error: a status and one plain sentence, sent as `{"error": sentence}`."""

    def __init__(self, status: int, sentence: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence
        self.headers = dict(headers or {})

    def response(self) -> Response:
        return json_response({"error": self.sentence}, self.status, self.headers)


def json_response(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """`content` as JSON, with null for NaN and infinity."""
    return Response(to_json(content, inf_nan_mode="null"), status, headers, media_type="application/json")


def code_fields(packed: Packed, n_bits: int) -> dict[str, Any]:
    """One packed code (1, bytes) as every response shows it."""
    (code,), (bits,) = code_texts(packed, unpack(packed, n_bits))
    return {"code": code, "bits": bits, "n_bits": n_bits}


def code_texts(packed: Packed, codes: Codes) -> tuple[list[str], list[str]]:
    """The same codes as hex and as 0 and 1; all rows at once, because one call for each row would be slow."""
    all_hex, all_bits = packed.tobytes().hex(), (codes + np.uint8(ord("0"))).tobytes().decode("ascii")
    width, n_bits = 2 * packed.shape[1], codes.shape[1]
    return (
        [all_hex[start : start + width] for start in range(0, len(all_hex), width)],
        [all_bits[start : start + n_bits] for start in range(0, len(all_bits), n_bits)],
    )


def valid_text(text: str) -> str:
    """`text` without lone surrogates: file names may hold bytes that are not UTF-8, which JSON cannot carry."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
