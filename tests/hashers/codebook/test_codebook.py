import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drlh.core.errors import UserError
from drlh.hashers.codebook.bch import bch_codes, codewords, extend
from drlh.hashers.codebook.codebook import KINDS, distance_bound, hadamard_matrix, make_codebook, plotkin_bound

# (classes, {bits: minimum distance}); docs/codebooks.md shows the bounds beside them.
REACHED = [
    (10, {8: 4, 12: 6, 16: 8, 24: 12, 32: 17, 48: 26, 64: 35, 128: 70}),
    (21, {8: 2, 12: 6, 16: 8, 24: 12, 32: 16, 48: 24, 64: 32, 128: 66}),
    (100, {8: 2, 12: 4, 16: 6, 24: 10, 48: 22, 64: 32, 128: 64}),
]


def as_set(words: np.ndarray) -> set[bytes]:
    return {bytes(word) for word in words}


def test_the_plotkin_bound_gives_the_published_numbers() -> None:
    assert [plotkin_bound(10, n_bits) for n_bits in (12, 24, 32, 48)] == [6, 13, 17, 26]
    assert [plotkin_bound(21, n_bits) for n_bits in (12, 24, 32, 48)] == [6, 12, 16, 25]
    assert plotkin_bound(2, 9) == 9


def test_the_sharper_bound_never_excludes_a_code_known_to_exist() -> None:
    # A(n, d), the largest number of words of n bits at distance d, from the tables of coding theory.
    largest = {(6, 3): 8, (7, 3): 16, (8, 3): 20, (8, 4): 16, (9, 4): 20, (10, 5): 12, (12, 6): 24, (16, 6): 256}
    largest |= {(23, 7): 4096, (24, 8): 4096, (24, 12): 48, (32, 16): 64, (20, 10): 40}
    for (n_bits, distance), n_classes in largest.items():
        assert distance <= distance_bound(n_classes, n_bits) <= plotkin_bound(n_classes, n_bits)
    assert distance_bound(4097, 23) < 7  # the Golay code is perfect: one word more is too many
    assert distance_bound(10, 24) == 12  # distance 13 would be 14 of 25 bits, which averaging forbids


@pytest.mark.parametrize(("n_classes", "reached"), REACHED)
def test_bch_codebooks_reach_these_distances(n_classes: int, reached: dict[int, int]) -> None:
    found = {n_bits: make_codebook(n_classes, n_bits).distance for n_bits in reached}
    assert all(found[n_bits] >= distance for n_bits, distance in reached.items()), found


@pytest.mark.parametrize(("n_classes", "n_bits"), [(10, 16), (21, 16), (21, 32), (64, 32), (100, 64), (200, 128)])
def test_lengths_of_extended_bch_codes_use_their_words_unchanged(n_classes: int, n_bits: int) -> None:
    code = next(code for code in bch_codes((n_bits - 1).bit_length()) if code.k == n_bits.bit_length())
    book = make_codebook(n_classes, n_bits)
    assert as_set(book.codewords) <= as_set(extend(codewords(code)))
    assert book.distance == n_bits // 2
    assert book.source == f"extended BCH [{n_bits}, {code.k}, {n_bits // 2}]"


@pytest.mark.parametrize(
    ("n_classes", "n_bits"),
    [(2, 1), (2, 8), (2, 65), (3, 2), (3, 9), (16, 4), (33, 13), (256, 8), (257, 9), (500, 20), (1000, 10)],
)
def test_any_number_of_classes_at_any_length_gets_different_codewords(n_classes: int, n_bits: int) -> None:
    book = make_codebook(n_classes, n_bits)
    assert book.codewords.shape == (n_classes, n_bits)
    assert book.codewords.dtype == np.uint8
    assert len(as_set(book.codewords)) == n_classes


@given(st.integers(2, 40), st.integers(6, 40), st.sampled_from(["bch", "random"]), st.integers(0, 99))
@settings(max_examples=12, deadline=None)
def test_a_codebook_tells_the_truth_about_itself(n_classes: int, n_bits: int, kind: str, seed: int) -> None:
    book = make_codebook(n_classes, n_bits, kind=kind, random_state=seed)
    pairs = [
        int((book.codewords[first] != book.codewords[second]).sum())
        for first in range(n_classes)
        for second in range(first)
    ]
    assert book.distance == min(pairs) <= distance_bound(n_classes, n_bits)
    assert book.mean_distance == pytest.approx(np.mean(pairs))
    np.testing.assert_array_equal(book.signs > 0, book.codewords == 1)
    assert 2 * book.radius + 1 <= book.distance <= 2 * book.radius + 2
    assert book.paper_radius == (book.distance - 1) / 2


def test_a_thousand_classes_and_ten_take_no_more_than_their_time() -> None:
    start = time.process_time()
    make_codebook(10, 64)
    ten = time.process_time()
    book = make_codebook(1000, 64)
    thousand = time.process_time()
    assert ten - start < 2
    assert thousand - ten < 20
    assert book.distance == 28  # that of extended BCH [64, 10, 28]


@pytest.mark.parametrize("kind", KINDS)
def test_equal_seeds_give_equal_codebooks_in_a_fresh_process(kind: str) -> None:
    script = f"""
from drlh.hashers.codebook.codebook import make_codebook
print(make_codebook(12, 20, kind={kind!r}, random_state=3).codewords.tobytes().hex())
"""
    fresh = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert make_codebook(12, 20, kind=kind, random_state=3).codewords.tobytes().hex() == fresh.stdout.strip()


@pytest.mark.parametrize(("n_bits", "k", "radius"), [(16, 5, 3), (32, 6, 7), (64, 7, 15)])
def test_the_paper_kind_pads_the_first_bch_words_with_a_random_bit(n_bits: int, k: int, radius: int) -> None:
    code = next(code for code in bch_codes(n_bits.bit_length() - 1) if code.k == k)
    book = make_codebook(10, n_bits, kind="bch-paper", random_state=0)
    np.testing.assert_array_equal(book.codewords[:, :-1], codewords(code)[:10])
    others = [make_codebook(10, n_bits, kind="bch-paper", random_state=seed) for seed in range(8)]
    assert len({bytes(other.codewords[:, -1]) for other in others}) > 1
    assert book.radius == radius  # the radii behind the paper's table of eta


def test_the_paper_kind_cuts_a_longer_code_at_its_end() -> None:
    code = next(code for code in bch_codes(5) if code.k == 6)
    book = make_codebook(10, 24, kind="bch-paper")
    np.testing.assert_array_equal(book.codewords, codewords(code)[:10, :24])
    assert book.source == "BCH [31, 6, 15] cut by 7 bits"


def test_choosing_codewords_is_worth_bits_of_margin_over_the_paper_kind() -> None:
    for n_bits, worth in ((12, 2), (24, 2), (32, 2), (48, 5)):
        paper = make_codebook(10, n_bits, kind="bch-paper").distance
        assert make_codebook(10, n_bits).distance >= paper + worth


@pytest.mark.parametrize("order", [1, 2, 4, 8, 12, 16, 20, 24, 32, 40, 44, 48, 60, 64, 128])
def test_hadamard_matrices_have_orthogonal_rows(order: int) -> None:
    matrix = hadamard_matrix(order)
    assert matrix is not None
    np.testing.assert_array_equal(matrix.astype(int) @ matrix.T.astype(int), order * np.eye(order))


def test_hadamard_codebooks_of_their_own_order_have_half_the_bits_as_distance() -> None:
    assert hadamard_matrix(6) is None
    for n_classes, n_bits in ((10, 12), (24, 12), (21, 24), (100, 64)):
        assert make_codebook(n_classes, n_bits, kind="hadamard").distance == n_bits // 2
    assert make_codebook(10, 30, kind="hadamard").codewords.shape == (10, 30)


def test_random_codebooks_can_use_up_all_words() -> None:
    assert len(as_set(make_codebook(16, 4, kind="random").codewords)) == 16


def test_given_codewords_are_copied_and_kept() -> None:
    words = np.array([[0, 0, 1], [1, 1, 0]])
    book = make_codebook(2, 3, kind=words)
    words[0, 0] = 1
    assert book.codewords.tolist() == [[0, 0, 1], [1, 1, 0]]
    assert (book.kind, book.distance) == ("given", 3)
    with pytest.raises(ValueError, match="read-only"):
        book.codewords[0, 0] = 1


def test_mistakes_are_told_in_one_sentence() -> None:
    with pytest.raises(UserError, match="at least 2 classes"):
        make_codebook(1, 8)
    with pytest.raises(UserError, match="300 classes need at least 9 bits to differ: got n_bits=8"):
        make_codebook(300, 8)
    with pytest.raises(UserError, match=r"one of bch, bch-paper, hadamard, random or an array.*'golay'"):
        make_codebook(3, 8, kind="golay")
    with pytest.raises(UserError, match=r"3 classes and 4 bits a row: got shape \(2, 4\)"):
        make_codebook(3, 4, kind=np.eye(2, 4))
    with pytest.raises(UserError, match="classes 0 and 2 share one"):
        make_codebook(3, 2, kind=[[0, 1], [1, 1], [0, 1]])
    with pytest.raises(UserError, match="only 0 and 1"):
        make_codebook(2, 2, kind=[[-1, 1], [1, 1]])
    with pytest.raises(UserError, match="no BCH code has 2 to 3 message bits"):
        make_codebook(4, 3, kind="bch-paper")
