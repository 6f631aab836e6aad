"""From arrays to what clients read."""

from collections.abc import Callable
from typing import Any

import numpy as np
from fastapi import Response
from numpy.typing import NDArray
from pydantic_core import to_json

from drlh.codes import Packed, to_hex, unpack
from drlh.index.details import Detail
from drlh.serve.collection import Answer

Address = Callable[[int, Detail], str | None]


def json_response(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    body = to_json(content, inf_nan_mode="null")
    return Response(body, status, headers, media_type="application/json")


def bits_of(packed: Packed, n_bits: int) -> list[str]:
    """Each code as a text of 0 and 1, first bit first."""
    return texts_of(unpack(packed, n_bits))


def texts_of(codes: NDArray[np.uint8]) -> list[str]:
    text = (codes + ord("0")).astype(np.uint8).tobytes().decode("ascii")
    n_bits = codes.shape[1]
    return [text[start : start + n_bits] for start in range(0, len(text), n_bits)]


def code_of(packed: Packed, n_bits: int) -> dict[str, Any]:
    """`packed` (1, bytes) as every answer shows a code."""
    return {"code": to_hex(packed[0]), "bits": bits_of(packed, n_bits)[0], "n_bits": n_bits}


def hits_of(answer: Answer, query: Packed, n_bits: int, address: Address) -> list[dict[str, Any]]:
    codes = unpack(answer.packed, n_bits)
    texts = texts_of(codes)
    differ = codes != unpack(query, n_bits)
    hits = []
    for row, (number, distance, detail) in enumerate(
        zip(answer.ids.tolist(), answer.distances.tolist(), answer.details, strict=True)
    ):
        hits.append(
            {
                "rank": row + 1,
                "id": number,
                "name": shown(detail.name),
                "labels": [shown(label) for label in detail.labels],
                "distance": distance,
                "code": to_hex(answer.packed[row]),
                "bits": texts[row],
                "differs": np.flatnonzero(differ[row]).tolist(),
                "thumbnail": address(number, detail),
            }
        )
    return hits


def shown(text: str) -> str:
    """File names may hold bytes that are no text, which no JSON can carry."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
