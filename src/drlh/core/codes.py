"""Binary codes: 0/1 rows, packed bytes, machine words, distances. The only file that knows bit order.

Bit `k` of a code is bit `k % 8` (least significant first) of byte `k // 8`; bits past the last are zero.
Eight bytes read as a little-endian word then hold bit `k` at place `k % 64`.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.core.errors import UserError

Codes = NDArray[np.uint8]  # (n, n_bits) of 0/1
Packed = NDArray[np.uint8]  # (n, ceil(n_bits / 8))
Words = NDArray[np.uint64]  # (n, ceil(n_bits / 64))
Distances = NDArray[np.uint16]


def check_codes(codes: object, name: str = "codes") -> Codes:
    """`codes` as a (n, n_bits) uint8 matrix of 0/1, or a UserError that says what is wrong with it."""
    array = np.asarray(codes)
    if array.ndim != 2 or array.shape[1] == 0:
        raise UserError(f"{name} must be a matrix (rows, bits) with at least one bit: got shape {array.shape}")
    if array.dtype == np.bool_:
        return array.view(np.uint8)
    if array.dtype.kind not in "iuf":
        raise UserError(f"{name} must hold the numbers 0 and 1: got values of type {array.dtype}")
    wrong = (array != 0) & (array != 1)
    if wrong.any():
        row, bit = np.argwhere(wrong)[0]
        raise UserError(
            f"{name} must hold only 0 and 1: row {row}, bit {bit} is {array[row, bit]}; "
            "codes of -1 and +1 become 0 and 1 by (codes > 0)"
        )
    return array.astype(np.uint8, copy=False)


def round_to_codes(values: NDArray[np.floating[Any]]) -> Codes:
    """Real values → the code of their signs; zero counts as negative."""
    return np.asarray(values > 0, np.uint8)


def signs(codes: Codes) -> NDArray[np.int8]:
    """0/1 codes as -1/+1."""
    return (2 * codes.astype(np.int8) - 1).astype(np.int8)


def bytes_per_code(n_bits: int) -> int:
    return (n_bits + 7) // 8


def pack(codes: Codes) -> Packed:
    """(n, n_bits) of 0/1 → (n, ceil(n_bits / 8)) bytes."""
    return np.packbits(codes, axis=1, bitorder="little")


def unpack(packed: Packed, n_bits: int) -> Codes:
    """The inverse of `pack`."""
    if packed.ndim != 2 or packed.shape[1] != bytes_per_code(n_bits):
        raise UserError(
            f"packed codes of {n_bits} bits take {bytes_per_code(n_bits)} bytes a row: got shape {packed.shape}"
        )
    return np.unpackbits(packed, axis=1, count=n_bits, bitorder="little")


def to_words(packed: Packed) -> Words:
    """Packed bytes as little-endian 64-bit words, zero-filled at the end."""
    n, width = packed.shape
    n_words = (width + 7) // 8
    padded = np.zeros((n, 8 * n_words), np.uint8)
    padded[:, :width] = packed
    return padded.view("<u8").astype(np.uint64, copy=False)


def to_hex(packed_row: NDArray[np.uint8]) -> str:
    """One packed code as text, first byte first."""
    return packed_row.tobytes().hex()


def from_hex(text: str, n_bits: int) -> Packed:
    """The inverse of `to_hex`: one packed row (1, bytes)."""
    try:
        row = np.frombuffer(bytes.fromhex(text), np.uint8)[None]
    except ValueError as error:
        raise UserError(f"a code in hex holds pairs of 0-9 and a-f: got {text!r}") from error
    if not np.array_equal(pack(unpack(row, n_bits)), row):
        raise UserError(f"the hex code {text!r} has bits set past bit {n_bits - 1}: it belongs to longer codes")
    return row


def hamming_distances(left: Packed, right: Packed) -> Distances:
    """All distances between two packed sets, (n_left, n_right). For big sets use `distance_blocks`."""
    return words_distances(to_words(left), to_words(right))


def words_distances(left: Words, right: Words) -> Distances:
    distances = np.zeros((len(left), len(right)), np.uint16)
    for word in range(left.shape[1]):
        distances += np.bitwise_count(left[:, word, None] ^ right[None, :, word])
    return distances


def distance_blocks(left: Packed, right: Packed, *, max_bytes: int = 64 << 20) -> Iterator[tuple[slice, Distances]]:
    """Yields (rows of left, their distances to all of right) in blocks of bounded memory."""
    left_words, right_words = to_words(left), to_words(right)
    step = max(1, max_bytes // max(1, 16 * len(right)))
    for start in range(0, len(left), step):
        rows = slice(start, min(start + step, len(left)))
        yield rows, words_distances(left_words[rows], right_words)
