"""The slow, plain index that every engine is compared with, and codes to try them on."""

import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import pack


def random_codes(n: int, n_bits: int, seed: int = 0) -> NDArray[np.uint8]:
    """Packed codes that hardly repeat."""
    return pack(np.random.default_rng(seed).integers(0, 2, (n, n_bits), np.uint8))


def repeated_codes(n: int, n_bits: int, seed: int = 0, n_distinct: int = 5) -> NDArray[np.uint8]:
    """Packed codes of which few are distinct, as learned ones are."""
    rng = np.random.default_rng(seed)
    return pack(rng.integers(0, 2, (n_distinct, n_bits), np.uint8))[rng.integers(0, n_distinct, n)]


class BruteForce:
    """A dict from id to code, sorted anew for every query."""

    def __init__(self) -> None:
        self.codes: dict[int, bytes] = {}

    def add(self, packed: NDArray[np.uint8], ids: NDArray[np.int64]) -> None:
        self.codes |= {int(number): bytes(code) for number, code in zip(ids, packed, strict=True)}

    def remove(self, ids: NDArray[np.int64]) -> int:
        return sum(self.codes.pop(int(number), None) is not None for number in ids)

    def ranking(self, query: NDArray[np.uint8]) -> list[tuple[int, int]]:
        whole = int.from_bytes(bytes(query))
        return sorted(((whole ^ int.from_bytes(code)).bit_count(), number) for number, code in self.codes.items())

    def search(self, packed: NDArray[np.uint8], k: int) -> list[list[tuple[int, int]]]:
        return [self.ranking(query)[:k] for query in packed]

    def search_radius(self, packed: NDArray[np.uint8], radius: int) -> list[list[tuple[int, int]]]:
        return [[hit for hit in self.ranking(query) if hit[0] <= radius] for query in packed]
