"""All pairs within a radius: those of two nested loops, whatever the block."""

import numpy as np
import pytest
from tests.index.brute_force import random_codes, repeated_codes

from drlh.core.codes import hamming_distances
from drlh.core.errors import UserError
from drlh.hamming.pairs import pairs_within


@pytest.mark.parametrize("radius", [0, 3, 6])
@pytest.mark.parametrize("max_pairs", [1, 50, 10**6])
def test_the_pairs_are_those_of_two_loops(engine_name: str, radius: int, max_pairs: int) -> None:
    codes = np.vstack([random_codes(60, 16), repeated_codes(40, 16)])
    truth = hamming_distances(codes, codes)
    wanted = [(i, j, int(truth[i, j])) for i in range(100) for j in range(i + 1, 100) if truth[i, j] <= radius]
    blocks = list(pairs_within(codes, radius, max_pairs=max_pairs))
    found = [pair for block in blocks for pair in zip(*(column.tolist() for column in block), strict=True)]
    assert found == wanted


def test_a_block_holds_no_more_pairs_than_asked(engine_name: str) -> None:
    codes = repeated_codes(600, 16, n_distinct=2)
    blocks = [len(block.first) for block in pairs_within(codes, 0, max_pairs=5000)]
    assert max(blocks) <= 5000
    assert len(blocks) > 10
    counts = np.unique(codes, axis=0, return_counts=True)[1]
    assert sum(blocks) == int((counts * (counts - 1) // 2).sum())


@pytest.mark.parametrize("n", [0, 1])
def test_fewer_than_two_codes_have_no_pairs(n: int) -> None:
    assert sum(len(block.first) for block in pairs_within(random_codes(n, 16), 16)) == 0


def test_a_negative_radius_is_refused() -> None:
    with pytest.raises(UserError, match="radius must be at least 0"):
        next(pairs_within(random_codes(3, 16), -1))
