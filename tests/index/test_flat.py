"""The in-process index against brute force, and what happens to damaged directories."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drlh.codes import pack
from drlh.codes_file import CodeSet
from drlh.errors import UserError
from drlh.index.flat import FlatIndex, load_index, save_index


def code_set(codes: np.ndarray) -> CodeSet:
    n = len(codes)
    names = np.array([f"photo{row}.jpg" for row in range(n)], dtype=np.str_)
    return CodeSet(pack(codes), codes.shape[1], np.arange(n) % 3, ("a", "b", "c"), names)


def random_codes(n: int, n_bits: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2, (n, n_bits), np.uint8)


@given(st.integers(1, 40), st.integers(1, 70), st.integers(1, 50), st.integers(0, 1000))
def test_search_returns_what_a_sort_by_distance_and_row_returns(n: int, n_bits: int, k: int, seed: int) -> None:
    database, queries = random_codes(n, n_bits, seed), random_codes(3, n_bits, seed + 1)
    distances, rows = FlatIndex(code_set(database), {}).search(pack(queries), k)
    for query, got_distances, got_rows in zip(queries, distances, rows, strict=True):
        truth = sorted((int((query != code).sum()), row) for row, code in enumerate(database))[:k]
        assert list(zip(got_distances.tolist(), got_rows.tolist(), strict=True)) == truth


def test_search_radius_returns_all_within_it_and_nothing_else() -> None:
    database, queries = random_codes(200, 16), random_codes(5, 16, 1)
    for query, (distances, rows) in zip(
        queries, FlatIndex(code_set(database), {}).search_radius(pack(queries), 6), strict=True
    ):
        truth = sorted(
            (int((query != code).sum()), row) for row, code in enumerate(database) if (query != code).sum() <= 6
        )
        assert list(zip(distances.tolist(), rows.tolist(), strict=True)) == truth


def test_an_index_survives_a_round_trip_and_a_replacement(tmp_path: Path) -> None:
    first, second = code_set(random_codes(30, 12)), code_set(random_codes(20, 24, 1))
    save_index(tmp_path / "index", first, {"model": "m"})
    save_index(tmp_path / "index", second, {"model": "n"})
    index = load_index(tmp_path / "index")
    assert index.notes == {"model": "n"}
    assert index.items.names[3] == "photo3.jpg"
    np.testing.assert_array_equal(index.items.packed, second.packed)
    assert len(list((tmp_path / "index").iterdir())) == 2


def test_a_writer_stopped_before_the_pointer_leaves_the_old_index(tmp_path: Path) -> None:
    save_index(tmp_path / "index", code_set(random_codes(30, 12)), {})
    (tmp_path / "index" / "codes.new").write_bytes(b"half")
    assert len(load_index(tmp_path / "index").items) == 30


def test_damage_and_foreign_directories_are_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not a directory"):
        load_index(tmp_path / "none")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.jpg").write_bytes(b"")
    with pytest.raises(UserError, match=r"holds 'a\.jpg'"):
        save_index(tmp_path / "photos", code_set(random_codes(3, 8)), {})
    save_index(tmp_path / "index", code_set(random_codes(30, 12)), {})
    codes = next((tmp_path / "index").glob("codes-*"))
    codes.write_bytes(codes.read_bytes()[:-1] + b"?")
    with pytest.raises(UserError, match="damaged"):
        load_index(tmp_path / "index")


def test_wrong_length_empty_index_and_bad_k_are_one_sentence(tmp_path: Path) -> None:
    index = FlatIndex(code_set(random_codes(4, 12)), {})
    with pytest.raises(UserError, match="12 bits"):
        index.search(pack(random_codes(1, 32)), 1)
    with pytest.raises(UserError, match="at least 1"):
        index.search(pack(random_codes(1, 12)), 0)
    with pytest.raises(UserError, match="at least one code"):
        save_index(tmp_path / "index", code_set(random_codes(0, 12)), {})
