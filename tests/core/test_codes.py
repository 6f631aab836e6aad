"""Bit order, packing and distances."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from drlh.core import codes
from drlh.core.errors import UserError


def any_codes(max_rows: int = 6, max_bits: int = 140) -> st.SearchStrategy[np.ndarray]:
    shapes = st.tuples(st.integers(0, max_rows), st.integers(1, max_bits))
    return shapes.flatmap(lambda shape: arrays(np.uint8, shape, elements=st.integers(0, 1)))


@given(any_codes())
def test_unpack_undoes_pack_for_any_number_of_bits(bits: np.ndarray) -> None:
    np.testing.assert_array_equal(codes.unpack(codes.pack(bits), bits.shape[1]), bits)


def test_bit_k_is_bit_k_mod_8_of_byte_k_div_8() -> None:
    code = np.zeros((1, 20), np.uint8)
    code[0, [0, 9, 19]] = 1
    assert codes.pack(code).tolist() == [[1, 2, 8]]


def test_bit_k_is_bit_k_of_the_word() -> None:
    code = np.zeros((1, 70), np.uint8)
    code[0, [3, 63, 64]] = 1
    assert codes.to_words(codes.pack(code)).tolist() == [[(1 << 3) | (1 << 63), 1]]


@given(any_codes(4), st.integers(0, 2**32 - 1))
def test_distances_of_packed_codes_count_differing_bits(bits: np.ndarray, seed: int) -> None:
    other = np.random.default_rng(seed).integers(0, 2, (5, bits.shape[1]), np.uint8)
    expected = (bits[:, None] != other[None]).sum(axis=2)
    np.testing.assert_array_equal(codes.hamming_distances(codes.pack(bits), codes.pack(other)), expected)


def test_distance_blocks_cover_all_rows_in_order_and_agree_with_the_whole() -> None:
    rng = np.random.default_rng(0)
    left, right = (codes.pack(rng.integers(0, 2, (n, 48), np.uint8)) for n in (37, 50))
    blocks = list(codes.distance_blocks(left, right, max_bytes=16 * 50 * 10))
    assert [rows.start for rows, _ in blocks] == [0, 10, 20, 30]
    np.testing.assert_array_equal(np.concatenate([part for _, part in blocks]), codes.hamming_distances(left, right))


def test_hex_round_trip_and_its_errors() -> None:
    packed = codes.pack(np.array([[1, 0, 1, 1, 0, 0, 0, 0, 1, 1]], np.uint8))
    assert codes.to_hex(packed[0]) == "0d03"
    np.testing.assert_array_equal(codes.from_hex("0d03", 10), packed)
    for text, complaint in (("xy", "pairs of"), ("0d", "take 2 bytes"), ("0dff", "past bit 9")):
        with pytest.raises(UserError, match=complaint):
            codes.from_hex(text, 10)


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        (np.zeros(3), "matrix"),
        (np.zeros((2, 0)), "at least one bit"),
        (np.array([[0, 1], [-1, 1]]), "row 1, bit 0 is -1"),
        (np.array([["a"]]), "type"),
    ],
)
def test_what_is_not_a_code_is_refused_with_its_place(wrong: np.ndarray, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        codes.check_codes(wrong)


def test_booleans_and_floats_of_0_and_1_are_codes() -> None:
    for kind in (bool, float, np.int64):
        assert codes.check_codes(np.eye(3, dtype=kind)).dtype == np.uint8


def test_signs_and_rounding_are_inverse() -> None:
    bits = np.array([[0, 1, 1], [1, 0, 0]], np.uint8)
    np.testing.assert_array_equal(codes.round_to_codes(codes.signs(bits).astype(float)), bits)
    assert codes.round_to_codes(np.zeros((1, 1))).tolist() == [[0]]
