"""Counts by grade and distance: every engine counts what a loop counts."""

import numpy as np
import pytest
from tests.index.brute_force import random_codes

from drlh.core.codes import hamming_distances
from drlh.hamming.counting import Marks, add_counts
from drlh.hamming.engine import using
from drlh.hamming.scan import pad


@pytest.mark.parametrize("shared", [False, True])
def test_counts_add_up_to_those_of_a_loop(engine_name: str, shared: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drlh.hamming.counting._CHUNK", 70)
    rng = np.random.default_rng(0)
    queries, codes = random_codes(6, 48, 1), random_codes(300, 48)
    words = [rng.integers(0, 8, (n, 2 if shared else 1)).astype(np.uint64) for n in (6, 300)]
    counts = np.zeros((6, 4, 49), np.int64)
    add_counts(counts, pad(queries), pad(codes), Marks(words[0], shared), Marks(words[1], shared))
    truth = np.zeros_like(counts)
    for row, apart in enumerate(hamming_distances(queries, codes)):
        common = np.bitwise_count(words[1] & words[0][row]).sum(axis=1)
        grades = np.minimum(common, 3) if shared else (words[1][:, 0] == words[0][row, 0]).astype(int)
        np.add.at(truth[row], (grades, apart), 1)
    np.testing.assert_array_equal(counts, truth)


def test_threads_change_nothing(engine_name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drlh.hamming.engine._LITTLE", 100)
    queries, codes = pad(random_codes(9, 48, 1)), pad(random_codes(200, 48))
    marks = (
        Marks(np.arange(9, dtype=np.uint64)[:, None], False),
        Marks((np.arange(200) % 9).astype(np.uint64)[:, None], False),
    )
    found = []
    for threads in (1, 4):
        counts = np.zeros((9, 2, 65), np.int64)
        with using(threads=threads):
            add_counts(counts, queries, codes, *marks)
        found.append(counts)
    np.testing.assert_array_equal(*found)
    assert found[0].sum() == 9 * 200
