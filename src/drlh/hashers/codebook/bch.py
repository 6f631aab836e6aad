"""Binary BCH codes [n, k, d] from the arithmetic of GF(2^m): narrow-sense, primitive, n = 2^m - 1.

A polynomial over GF(2) is a Python integer whose bit `i` is the coefficient of x^i: x^3 + x + 1 is 0b1011.
A codeword lists its coefficients from the highest power down, so a systematic one begins with its message.
"""

from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from drlh.core.errors import UserError

Bits = NDArray[np.uint8]  # rows of 0/1

# One primitive polynomial for every m; its root alpha generates the field.
PRIMITIVE_POLYNOMIALS = {
    3: 0b1011,
    4: 0b10011,
    5: 0b100101,
    6: 0b1000011,
    7: 0b10001001,
    8: 0b100011101,
    9: 0b1000010001,
    10: 0b10000001001,
    11: 0b100000000101,
    12: 0b1000001010011,
}
_LARGEST_LISTED_DIMENSION = 20  # 2^20 words: past this nobody wants them all


@dataclass(frozen=True)
class BchCode:
    """The code [n, k, d]: `d` is the design distance, never above the true minimum distance."""

    n: int
    k: int
    d: int
    generator: int  # polynomial of degree n - k


@cache
def field_tables(m: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """`antilog[i]` = alpha^i for i < 2(2^m - 1), and its inverse `log` (log[0] means nothing)."""
    if m not in PRIMITIVE_POLYNOMIALS:
        raise UserError(f"m must lie in 3..12 for a BCH code of length 2^m - 1: got m={m}")
    n = (1 << m) - 1
    antilog, log = np.zeros(2 * n, np.int64), np.zeros(n + 1, np.int64)
    element = 1
    for power in range(n):
        antilog[power] = antilog[power + n] = element
        log[element] = power
        element <<= 1
        if element > n:
            element ^= PRIMITIVE_POLYNOMIALS[m]
    return antilog, log


def multiply(m: int, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
    """Products in GF(2^m), element by element."""
    antilog, log = field_tables(m)
    return np.where((left == 0) | (right == 0), 0, antilog[log[left] + log[right]])


def cyclotomic_coset(m: int, power: int) -> list[int]:
    """The powers of alpha that share a minimal polynomial with alpha^power: power * 2^i mod 2^m - 1."""
    n = (1 << m) - 1
    coset = [power % n]
    while (following := coset[-1] * 2 % n) != coset[0]:
        coset.append(following)
    return coset


@cache
def minimal_polynomial(m: int, power: int) -> int:
    """The polynomial over GF(2) of least degree with root alpha^power: the product of (x + each conjugate)."""
    antilog, _ = field_tables(m)
    coefficients = np.ones(1, np.int64)  # lowest power first, elements of GF(2^m)
    for conjugate in cyclotomic_coset(m, power):
        shifted = np.append(0, coefficients)
        scaled = np.append(multiply(m, coefficients, antilog[conjugate]), 0)
        coefficients = shifted ^ scaled
    return sum(int(bit) << place for place, bit in enumerate(coefficients))


def polynomial_product(left: int, right: int) -> int:
    """left * right over GF(2)."""
    product = 0
    while right:
        if right & 1:
            product ^= left
        left, right = left << 1, right >> 1
    return product


def polynomial_remainder(dividend: int, divisor: int) -> int:
    """dividend mod divisor over GF(2)."""
    while (shift := dividend.bit_length() - divisor.bit_length()) >= 0:
        dividend ^= divisor << shift
    return dividend


@cache
def bch_codes(m: int) -> tuple[BchCode, ...]:
    """All codes of length 2^m - 1, from the largest dimension to the repetition code [n, 1, n].

    The generator of design distance d has the roots alpha^1 .. alpha^(d-1).
    """
    field_tables(m)  # refuses an m without a field
    n = (1 << m) - 1
    # A new generator begins at each power that no earlier power brought along: the first of its coset.
    leaders = [power for power in range(1, n) if min(cyclotomic_coset(m, power)) == power]
    codes, generator = [], 1
    for leader, following in pairwise([*leaders, n]):
        generator = polynomial_product(generator, minimal_polynomial(m, leader))
        codes.append(BchCode(n, n + 1 - generator.bit_length(), following, generator))
    return tuple(codes)


def generator_matrix(code: BchCode) -> Bits:
    """(k, n) of 0/1, systematic: the identity, then the parity bits of each unit message."""
    powers = range(code.n - 1, code.n - code.k - 1, -1)
    words = [1 << power ^ polynomial_remainder(1 << power, code.generator) for power in powers]
    return np.array([[word >> place & 1 for place in range(code.n - 1, -1, -1)] for word in words], np.uint8)


def all_messages(k: int) -> Bits:
    """(2^k, k): every message in counting order, most significant bit first."""
    if k > _LARGEST_LISTED_DIMENSION:
        raise UserError(
            f"listing all codewords needs a dimension of at most {_LARGEST_LISTED_DIMENSION}: got k={k}; "
            "pass the messages you want"
        )
    counts = np.arange(1 << k, dtype=np.int64)
    return (counts[:, None] >> np.arange(k - 1, -1, -1) & 1).astype(np.uint8)


def codewords(code: BchCode, messages: Bits | None = None) -> Bits:
    """(n_messages, n): the systematic codewords of the given (n_messages, k) messages, or of all 2^k."""
    messages = all_messages(code.k) if messages is None else messages
    if messages.ndim != 2 or messages.shape[1] != code.k:
        raise UserError(f"messages of [{code.n}, {code.k}] must be rows of {code.k} bits: got shape {messages.shape}")
    sums = messages @ generator_matrix(code)  # bytes wrap at 256, which keeps parity
    return (sums % 2).astype(np.uint8)


def extend(words: Bits) -> Bits:
    """Appends the bit that makes every weight even: an odd minimum distance grows by one."""
    return np.concatenate([words, words.sum(axis=1, dtype=np.uint8, keepdims=True) & 1], axis=1)
