"""Codes as the texts that clients read: hex, and bits as 0 and 1."""

import numpy as np

from drlh.core.codes import Codes, Packed, unpack


def texts_of(codes: Codes) -> list[str]:
    """Each code as a text of 0 and 1, first bit first."""
    return _cut((codes + np.uint8(ord("0"))).tobytes().decode("ascii"), codes.shape[1])


def hex_texts(packed: Packed) -> list[str]:
    """Each packed code as `drlh.core.codes.to_hex` writes it."""
    return _cut(packed.tobytes().hex(), 2 * packed.shape[1])


def bits_of(packed: Packed, n_bits: int) -> list[str]:
    return texts_of(unpack(packed, n_bits))


def _cut(text: str, length: int) -> list[str]:
    return [text[start : start + length] for start in range(0, len(text), length)]
