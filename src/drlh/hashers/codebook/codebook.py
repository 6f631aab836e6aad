"""The codebook: one codeword for each class, as far apart as possible.

Kinds: `bch` starts at an extended BCH code and searches on; `bch-paper` is the paper's own recipe; `hadamard` takes
rows of a Hadamard matrix; `random` takes fair coins; an array is taken as it is.
"""

from dataclasses import dataclass
from functools import cached_property
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray

from drlh.core.codes import Codes, check_codes, signs
from drlh.core.errors import UserError
from drlh.hashers.codebook.bch import PRIMITIVE_POLYNOMIALS, all_messages, bch_codes, codewords
from drlh.hashers.codebook.search import distance_matrix, distance_quality, search_codewords

KINDS = ("bch", "bch-paper", "hadamard", "random")
_HADAMARD_TRIES = 32


@dataclass(frozen=True, eq=False)
class Codebook:
    """`codewords` (n_classes, n_bits) of 0/1: row `c` is the target of class `c`."""

    codewords: Codes
    kind: str
    source: str  # what the codewords were made from, in words

    def __post_init__(self) -> None:
        if self.distance == 0:
            first, second = np.argwhere(np.triu(self.distances == 0, 1))[0]
            raise UserError(
                f"every class needs a codeword of its own: in the {self.kind} codebook of "
                f"{self.n_bits} bits, classes {first} and {second} share one; take more bits or another kind"
            )
        self.codewords.setflags(write=False)

    @property
    def n_classes(self) -> int:
        return len(self.codewords)

    @property
    def n_bits(self) -> int:
        return int(self.codewords.shape[1])

    @cached_property
    def signs(self) -> NDArray[np.int8]:
        """The codewords as -1/+1."""
        return signs(self.codewords)

    @cached_property
    def distances(self) -> NDArray[np.int64]:
        """(n_classes, n_classes) Hamming distances."""
        return distance_matrix(self.codewords)

    @cached_property
    def distance(self) -> int:
        """D: the minimum distance of two codewords."""
        return distance_quality(self.codewords)[0]

    @cached_property
    def mean_distance(self) -> float:
        return distance_quality(self.codewords)[1]

    @property
    def paper_radius(self) -> float:
        """R = (D - 1) / 2 as the paper writes it: half a bit more than `radius` where D is even."""
        return (self.distance - 1) / 2

    @property
    def radius(self) -> int:
        """The largest whole r whose balls around the codewords do not meet: (D - 1) // 2."""
        return (self.distance - 1) // 2


def make_codebook(
    n_classes: int,
    n_bits: int,
    *,
    kind: str | ArrayLike = "bch",
    random_state: int | np.random.Generator | None = 0,
) -> Codebook:
    """A codebook for `n_classes` classes of `n_bits` bits; equal seeds give equal codebooks."""
    n_classes, n_bits = int(n_classes), int(n_bits)
    if n_classes < 2:
        raise UserError(f"a codebook needs at least 2 classes to tell apart: got n_classes={n_classes}")
    if not isinstance(kind, str):
        return _given_codebook(n_classes, n_bits, kind)
    if n_bits < 1 or n_bits < (n_classes - 1).bit_length():
        raise UserError(
            f"{n_classes} classes need at least {(n_classes - 1).bit_length()} bits to differ: got n_bits={n_bits}"
        )
    rng = np.random.default_rng(random_state)
    if kind == "bch":
        words, source = search_codewords(n_classes, n_bits, distance_bound(n_classes, n_bits), rng)
    elif kind == "bch-paper":
        words, source = _paper_codewords(n_classes, n_bits, rng)
    elif kind == "hadamard":
        words, source = _hadamard_codewords(n_classes, n_bits, rng)
    elif kind == "random":
        words, source = _random_codewords(n_classes, n_bits, rng), "fair coins"
    else:
        raise UserError(f"kind must be one of {', '.join(KINDS)} or an array of codewords: got {kind!r}")
    return Codebook(words, kind, source)


def _given_codebook(n_classes: int, n_bits: int, given: ArrayLike) -> Codebook:
    words = check_codes(given, "the codebook").copy()
    if words.shape != (n_classes, n_bits):
        raise UserError(
            f"the codebook must have one row for each of {n_classes} classes and {n_bits} bits a row: "
            f"got shape {words.shape}"
        )
    return Codebook(words, "given", "given codewords")


def _paper_codewords(n_classes: int, n_bits: int, rng: np.random.Generator) -> tuple[Codes, str]:
    """The first C words of the BCH code of nearest length, cut at the end or padded with random bits.

    Of that length the smallest dimension that suffices is taken: it has the largest distance. Words begin with
    their message, so cutting the end leaves them different.
    """
    needed = (n_classes - 1).bit_length()
    usable = [code for m in PRIMITIVE_POLYNOMIALS for code in bch_codes(m) if needed <= code.k <= n_bits]
    if not usable:
        raise UserError(f"no BCH code has {needed} to {n_bits} message bits for {n_classes} classes; take more bits")
    code = min(usable, key=lambda code: (abs(code.n - n_bits), -code.n, code.k))
    words = codewords(code, all_messages(code.k)[:n_classes])[:, :n_bits]
    pad = rng.integers(0, 2, (n_classes, n_bits - words.shape[1]), np.uint8)
    change = f"padded with {pad.shape[1]} random bits" if pad.size else f"cut by {code.n - n_bits} bits"
    return np.hstack([words, pad]), f"BCH [{code.n}, {code.k}, {code.d}] {change}"


def _random_codewords(n_classes: int, n_bits: int, rng: np.random.Generator) -> Codes:
    """Fair coins, drawn without putting a word back: all words differ."""
    words = np.empty((0, n_bits), np.uint8)
    while len(words) < n_classes:
        drawn = rng.integers(0, 2, (n_classes, n_bits), np.uint8)
        words = np.vstack([words, drawn])
        words = words[np.sort(np.unique(words, axis=0, return_index=True)[1])]
    return words[:n_classes]


def _hadamard_codewords(n_classes: int, n_bits: int, rng: np.random.Generator) -> tuple[Codes, str]:
    """Rows of a Hadamard matrix, each followed by its complement; of a larger one the best columns of a few draws."""
    order = max(n_bits, -(-n_classes // 2))
    while (matrix := hadamard_matrix(order)) is None:
        order += 1
    rows = (np.stack([matrix, -matrix], axis=1).reshape(-1, order)[:n_classes] > 0).astype(np.uint8)
    draws = [rows[:, np.sort(rng.permutation(order)[:n_bits])] for _ in range(_HADAMARD_TRIES)]
    return max(draws, key=distance_quality), f"Hadamard matrix of order {order}"


def hadamard_matrix(order: int) -> NDArray[np.int8] | None:
    """(order, order) of -1/+1 with orthogonal rows, by doubling or Paley's first rule; None where both fail."""
    if order == 1:
        return np.ones((1, 1), np.int8)
    if order % 4 == 0 and all((order - 1) % divisor for divisor in range(2, int(order**0.5) + 1)):
        return _paley_matrix(order - 1)
    half = hadamard_matrix(order // 2) if order % 2 == 0 else None
    return None if half is None else np.kron(np.array([[1, 1], [1, -1]], np.int8), half)


def _paley_matrix(prime: int) -> NDArray[np.int8]:
    """(prime + 1)^2 for a prime of the form 4i + 3: entry (i, j) says whether i - j is a square."""
    residues = np.arange(prime)
    is_square = np.isin(residues, residues**2 % prime)  # 0 included: it puts +1 on the diagonal
    matrix = np.ones((prime + 1, prime + 1), np.int8)
    matrix[1:, 0] = -1
    matrix[1:, 1:] = np.where(is_square, 1, -1)[np.subtract.outer(residues, residues) % prime]
    return matrix


def plotkin_bound(n_classes: int, n_bits: int) -> int:
    """The largest minimum distance that averaging allows.

    A bit separates at most floor(C/2) * ceil(C/2) of the C(C-1)/2 pairs, and no minimum passes the mean.
    """
    separated = (n_classes // 2) * (n_classes - n_classes // 2)
    return n_bits * separated // comb(n_classes, 2)


def distance_bound(n_classes: int, n_bits: int) -> int:
    """A sharper bound on the minimum distance: Plotkin with the parity bit, and sphere packing.

    A parity bit turns an odd distance d of b bits into d + 1 of b + 1 bits, and dropping a bit turns an even d
    into d - 1 of b - 1 bits, so either test may be made where it is stricter.
    """
    distance = plotkin_bound(n_classes, n_bits)
    while not _may_exist(n_classes, n_bits, distance):
        distance -= 1
    return distance


def _may_exist(n_classes: int, n_bits: int, distance: int) -> bool:
    odd = distance % 2
    if odd and plotkin_bound(n_classes, n_bits + 1) < distance + 1:
        return False
    length, radius = n_bits - 1 + odd, (distance - 1) // 2
    ball = sum(comb(length, weight) for weight in range(radius + 1))
    return n_classes * ball <= 1 << length
