"""A directory of codes: round trip, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

from drlh.core.errors import UserError
from drlh.encoding.codes_file import CodeRows
from drlh.encoding.codes_parquet import Header, ParquetCodes, is_parquet, write_parquet


def some_rows(first: int, n: int, labels: np.ndarray) -> CodeRows:
    packed = np.random.default_rng(first).integers(0, 256, (n, 2), dtype=np.uint8)
    return CodeRows(np.arange(first, first + n), packed, np.array([f"ü/{row}.png" for row in range(n)]), labels)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    header = Header(16, ("cat", "dog", "cow"), True, {"data": "toys"}, 2)
    labels = np.array([[1, 1, 0], [0, 0, 0], [0, 0, 1]], np.uint8)
    write_parquet(tmp_path / "c", header, [some_rows(0, 3, labels), some_rows(7, 1, labels[:1])])
    return tmp_path / "c"


def test_what_is_written_is_read(directory: Path) -> None:
    codes = ParquetCodes(directory)
    assert is_parquet(directory)
    assert (len(codes), codes.n_bits, codes.classes, codes.notes) == (4, 16, ("cat", "dog", "cow"), {"data": "toys"})
    first, second = codes.blocks()
    assert first.labels.tolist() == [[1, 1, 0], [0, 0, 0], [0, 0, 1]]
    assert second.ids.tolist() == [7]
    assert first.names.tolist() == ["ü/0.png", "ü/1.png", "ü/2.png"]
    np.testing.assert_array_equal(first.packed, some_rows(0, 3, first.labels).packed)
    assert codes.packed.shape == (4, 2)


def test_a_directory_of_codes_is_replaced_and_nothing_else_is(directory: Path, tmp_path: Path) -> None:
    write_parquet(directory, Header(16, ("cat",), False, {}, 1), [some_rows(0, 2, np.zeros(2, np.int64))])
    assert [path.name for path in directory.iterdir()] == ["block-00000000.parquet"]
    (directory / "letter.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(UserError, match=r"holds 'letter.txt'"):
        write_parquet(directory, Header(16, (), False, {}, 0), [])
    assert (directory / "letter.txt").read_text(encoding="utf-8") == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c"]


def test_a_name_that_is_no_text_is_written_as_it_can_be(tmp_path: Path) -> None:
    rows = CodeRows(np.arange(1), np.zeros((1, 1), np.uint8), np.array(["\udcff.png"]), np.zeros(1, np.int64))
    write_parquet(tmp_path / "c", Header(8, ("a",), False, {}, 1), [rows])
    assert next(ParquetCodes(tmp_path / "c").blocks()).names.tolist() == ["\\udcff.png"]


def test_a_directory_that_is_not_whole_is_refused(directory: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no codes"):
        ParquetCodes(tmp_path / "nowhere.parquet")
    first, second = sorted(directory.iterdir())
    content = second.read_bytes()
    second.write_bytes(content[:50])
    with pytest.raises(UserError, match="cannot be read as a Parquet file"):
        ParquetCodes(directory)
    second.write_bytes(first.read_bytes())
    with pytest.raises(UserError, match="is not block 1"):
        ParquetCodes(directory)
    second.unlink()
    with pytest.raises(UserError, match="1 of 2 blocks"):
        ParquetCodes(directory)
