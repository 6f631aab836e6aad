"""From codes and hits to what clients read."""

from collections.abc import Callable
from typing import Any

from fastapi import Response
from pydantic_core import to_json

from drlh.core.codes import Packed, to_hex
from drlh.index.details import Detail
from drlh.serve.codes_text import bits_of
from drlh.serve.searching import Answer

Address = Callable[[int, Detail], str | None]


def json_response(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Numbers that are none become null."""
    return Response(to_json(content, inf_nan_mode="null"), status, headers, media_type="application/json")


def code_of(packed: Packed, n_bits: int) -> dict[str, Any]:
    """`packed` (1, bytes) as every answer shows a code."""
    return {"code": to_hex(packed[0]), "bits": bits_of(packed, n_bits)[0], "n_bits": n_bits}


def hits_of(answer: Answer, address: Address) -> list[dict[str, Any]]:
    return [
        {
            "rank": row + 1,
            "id": number,
            "name": shown(detail.name),
            "labels": [shown(label) for label in detail.labels],
            "distance": answer.distances[row],
            "code": answer.codes[row],
            "bits": answer.bits[row],
            "differs": answer.differs[row],
            "thumbnail": address(number, detail),
        }
        for row, (number, detail) in enumerate(zip(answer.ids, answer.details, strict=True))
    ]


def shown(text: str) -> str:
    """File names may hold bytes that are no text, which JSON cannot carry."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
