import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drlh.core.errors import UserError
from drlh.hashers.codebook.bch import (
    PRIMITIVE_POLYNOMIALS,
    BchCode,
    all_messages,
    bch_codes,
    codewords,
    cyclotomic_coset,
    extend,
    field_tables,
    generator_matrix,
    minimal_polynomial,
    multiply,
    polynomial_product,
    polynomial_remainder,
)

ALL_M = sorted(PRIMITIVE_POLYNOMIALS)
# Made by galois; make_bch_known_answers.py is the script.
KNOWN = json.loads(Path(__file__).with_name("bch_known_answers.json").read_text(encoding="utf-8"))["codes"]


def bits(text: str, width: int) -> list[int]:
    return [int(bit) for bit in f"{int(text, 16):0{width}b}"]


def find(n: int, k: int) -> BchCode:
    return next(code for code in bch_codes(n.bit_length()) if (code.n, code.k) == (n, k))


def minimum_weight(words: np.ndarray) -> int:
    return int(words[1:].sum(axis=1).min())


@pytest.mark.parametrize("m", range(3, 9))
def test_all_codes_of_a_length_are_those_galois_finds(m: int) -> None:
    expected = [(row["n"], row["k"], row["d"], int(row["generator"], 16)) for row in KNOWN if row["n"] == 2**m - 1]
    assert len(expected) >= 2
    assert [(code.n, code.k, code.d, code.generator) for code in bch_codes(m)] == expected


def test_codewords_equal_those_of_galois() -> None:
    for row in KNOWN:
        message = np.array([bits(row["message"], row["k"])], np.uint8)
        word = codewords(find(row["n"], row["k"]), message)
        assert word.tolist() == [bits(row["codeword"], row["n"])]


def test_whole_codes_are_bit_identical_to_galois() -> None:
    galois = pytest.importorskip("galois")
    for code in bch_codes(4):  # compiling a field takes galois seconds, so one length here and the others above
        other = galois.BCH(code.n, code.k)
        assert int(other.generator_poly) == code.generator
        assert other.d == code.d
        np.testing.assert_array_equal(codewords(code), np.asarray(other.encode(all_messages(code.k))))


@pytest.mark.parametrize("m", ALL_M)
def test_powers_of_alpha_reach_every_nonzero_element(m: int) -> None:
    antilog, log = field_tables(m)
    n = 2**m - 1
    assert sorted(antilog[:n]) == list(range(1, n + 1))
    np.testing.assert_array_equal(log[antilog[:n]], np.arange(n))


@given(st.sampled_from(ALL_M), st.data())
def test_field_products_follow_the_laws_of_a_field(m: int, data: st.DataObject) -> None:
    element = st.integers(0, 2**m - 1)
    a, b, c = (np.array([data.draw(element)]) for _ in range(3))
    assert multiply(m, a, b) == multiply(m, b, a)
    assert multiply(m, a, multiply(m, b, c)) == multiply(m, multiply(m, a, b), c)
    assert multiply(m, a, b ^ c) == multiply(m, a, b) ^ multiply(m, a, c)
    assert multiply(m, a, np.array([1])) == a


@given(st.sampled_from(ALL_M), st.data())
def test_field_products_are_polynomial_products_modulo_the_primitive_polynomial(m: int, data: st.DataObject) -> None:
    a, b = (data.draw(st.integers(0, 2**m - 1)) for _ in range(2))
    expected = polynomial_remainder(polynomial_product(a, b), PRIMITIVE_POLYNOMIALS[m])
    assert multiply(m, np.array([a]), np.array([b]))[0] == expected


@pytest.mark.parametrize("m", ALL_M[:6])
def test_a_minimal_polynomial_vanishes_at_all_conjugates_and_nowhere_else(m: int) -> None:
    antilog, _ = field_tables(m)
    n = 2**m - 1
    for power in (1, 3, 5, n - 1):
        polynomial = minimal_polynomial(m, power)
        values = np.zeros(n, np.int64)
        for place in range(polynomial.bit_length()):
            if polynomial >> place & 1:
                values ^= antilog[np.arange(n) * place % n]
        assert sorted(np.flatnonzero(values == 0)) == sorted(cyclotomic_coset(m, power))


@pytest.mark.parametrize("m", ALL_M[:8])
def test_every_generator_divides_x_to_the_n_plus_one(m: int) -> None:
    n = 2**m - 1
    for code in bch_codes(m):
        assert polynomial_remainder(1 << n | 1, code.generator) == 0
        assert code.generator.bit_length() - 1 == n - code.k


@pytest.mark.parametrize("m", [3, 4, 5, 6])
def test_no_code_falls_below_its_design_distance(m: int) -> None:
    for code in bch_codes(m):
        if code.k <= 16:
            assert minimum_weight(codewords(code)) >= code.d


def test_words_begin_with_their_message_and_shifts_of_words_are_words() -> None:
    code = find(31, 6)
    words = codewords(code)
    np.testing.assert_array_equal(words[:, :6], all_messages(6))
    assert {bytes(word) for word in np.roll(words, 1, axis=1)} == {bytes(word) for word in words}
    np.testing.assert_array_equal(generator_matrix(code), words[[32, 16, 8, 4, 2, 1]])


@pytest.mark.parametrize(("n", "k", "distance"), [(15, 5, 8), (31, 6, 16), (63, 7, 32), (63, 10, 28), (127, 8, 64)])
def test_the_parity_bit_adds_one_to_the_distance(n: int, k: int, distance: int) -> None:
    words = codewords(find(n, k))
    assert minimum_weight(words) == distance - 1
    extended = extend(words)
    assert extended.shape == (2**k, n + 1)
    assert minimum_weight(extended) == distance
    assert not (extended.sum(axis=1) % 2).any()


def test_mistakes_are_told_in_one_sentence() -> None:
    for m in (2, 13):
        with pytest.raises(UserError, match=rf"3\.\.12.*m={m}"):
            bch_codes(m)
    with pytest.raises(UserError, match=r"at most 20: got k=57"):
        codewords(find(63, 57))
    with pytest.raises(UserError, match=r"rows of 5 bits: got shape \(1, 4\)"):
        codewords(find(15, 5), np.zeros((1, 4), np.uint8))
