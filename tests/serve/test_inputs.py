"""Pictures that are too large, broken or no pictures are refused before they do harm."""

import io
import struct
import zlib
from typing import Any

import httpx
import numpy as np
import pytest
from PIL import Image
from tests.serve.conftest import Client, Made, bearer, picture_of, png

from drlh.serve.settings import Limits


def bomb(width: int, height: int) -> bytes:
    """A PNG of a few hundred bytes that claims to be huge."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    )


def text_bomb() -> bytes:
    """A PNG whose compressed comment unpacks to many times its size."""
    small = png(np.zeros((4, 4, 3), np.uint8))
    data = b"Comment\0\0" + zlib.compress(bytes(5_000_000), 9)
    chunk = struct.pack(">I", len(data)) + b"zTXt" + data + struct.pack(">I", zlib.crc32(b"zTXt" + data))
    return small[:33] + chunk + small[33:]


def cut(kind: str) -> bytes:
    picture = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
    whole = png(picture, kind)
    return whole[: len(whole) // 2]


PICTURES: list[tuple[str, Any, int]] = [
    ("bomb", lambda: bomb(60_000, 60_000), 413),
    ("just too many pixels", lambda: bomb(8_000, 5_001), 413),
    ("a bomb in a comment", text_bomb, 422),
    ("claims more than it has", lambda: bomb(3_000, 3_000), 422),
    ("no pixels", lambda: bomb(0, 10), 415),
    ("a cut PNG", lambda: cut("PNG"), 422),
    ("a cut JPEG", lambda: cut("JPEG"), 422),
    ("a cut TIFF", lambda: cut("TIFF"), 422),
    ("text", lambda: b"<svg onload=alert(1)>", 415),
    ("PostScript, which would run another program", lambda: b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", 415),
    ("nothing", lambda: b"", 422),
    ("a program", lambda: b"\x7fELF" + bytes(100), 415),
]


@pytest.mark.parametrize(("content", "status"), [case[1:] for case in PICTURES], ids=[case[0] for case in PICTURES])
def test_a_bad_picture_is_refused_everywhere_and_changes_nothing(client: Client, content: Any, status: int) -> None:
    asked = client()
    before = asked.get("/stats").json()["items"]
    for path in ("/encode", "/items"):
        answer = asked.post(path, files={"image": content()}, headers=bearer())
        assert answer.status_code == status, answer.text
        assert list(answer.json()) == ["error"]
    assert asked.get("/stats").json()["items"] == before


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "BMP", "GIF", "WEBP", "TIFF", "PPM"])
def test_pictures_of_every_kind_of_an_image_folder_are_read(reading: httpx.Client, kind: str) -> None:
    picture = np.random.default_rng(0).integers(0, 256, (20, 30, 3), np.uint8)
    assert reading.post("/encode", files={"image": png(picture, kind)}).status_code == 200


def test_odd_colour_spaces_are_read(reading: httpx.Client) -> None:
    for mode in ("1", "L", "P", "RGBA", "CMYK", "I;16"):
        stream = io.BytesIO()
        Image.new(mode, (9, 9)).save(stream, "TIFF")
        assert reading.post("/encode", files={"image": stream.getvalue()}).status_code == 200


def test_a_body_past_the_limit_is_413_whether_or_not_it_says_its_length(client: Client, made: Made) -> None:
    asked = client(limits=Limits(max_body_bytes=2000))
    assert asked.post("/encode", files={"image": picture_of(made.others, 0)}).status_code == 200
    large = b'{"features": [' + b"1," * 2000 + b"1]}"
    kind = {"Content-Type": "application/json"}
    assert asked.post("/encode", content=large, headers=kind).status_code == 413
    pieces = (large[start : start + 500] for start in range(0, len(large), 500))
    answer = asked.post("/encode", content=pieces, headers=kind)
    assert (answer.status_code, answer.json()) == (413, {"error": "a request may bring at most 2,000 bytes"})


def test_a_form_brings_one_picture_in_the_part_image(reading: httpx.Client, made: Made) -> None:
    image = picture_of(made.others, 0)
    wrong: list[dict[str, Any]] = [
        {"files": {"picture": image}},
        {"files": [("image", image), ("image", image)]},
        {"files": {"image": image}, "data": {"radius": "x"}},
        {"files": {"image": image}, "data": {"id": "1"}},
        {"files": {"k": image}, "data": {"image": "text"}},
        {"files": {"image": image}, "data": {f"field{number}": "1" for number in range(20)}},
        {"files": {"image": image}, "data": {"label": "x" * 100_000}},
    ]
    for parts in wrong:
        answer = reading.post("/search", **parts)
        assert answer.status_code == 422, answer.text
        assert list(answer.json()) == ["error"]


def test_a_name_of_a_file_is_only_text(client: Client, made: Made) -> None:
    asked = client()
    for name in ("../../x.png", "/etc/passwd", "..\\x.png", "a/../../b.png", "~/x"):
        files = {"image": (name, picture_of(made.others, 0))}
        answer = asked.post("/items", files=files, headers=bearer())
        assert answer.status_code == 422, (name, answer.text)
    assert asked.get("/stats").json()["items"] == 240
