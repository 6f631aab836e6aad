"""Atomic writes, arrays without pickle, and refusals."""

import os
from pathlib import Path

import numpy as np
import pytest

from drlh.core import files
from drlh.core.errors import UserError


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "kept.txt"
    files.write_text(target, "old")

    def stop_midway() -> None:
        with files.atomic_path(target) as temporary:
            temporary.write_text("half")
            raise RuntimeError("midway")

    with pytest.raises(RuntimeError, match="midway"):
        stop_midway()
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["kept.txt"]


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write"):
        files.write_text(tmp_path / "file" / "below.txt", "x")
    (tmp_path / "folder").mkdir()
    with pytest.raises(UserError, match="directory of that name"):
        files.write_text(tmp_path / "folder", "x")


def test_arrays_survive_a_round_trip_and_big_ones_are_mapped(tmp_path: Path) -> None:
    arrays = {
        "big": np.arange(400_000, dtype=np.float32).reshape(1000, 400),
        "small": np.array([1, 2, 3]),
        "text": np.array(["a", "ü"]),
        "scalar": np.array(7),
        "empty": np.zeros((0, 5), np.uint8),
    }
    files.write_npz(tmp_path / "a.npz", arrays)
    back = files.read_npz(tmp_path / "a.npz")
    assert back.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(back[name], array)
        assert back[name].dtype == array.dtype
    assert isinstance(back["big"], np.memmap)


def test_numpy_reads_what_we_write_and_we_read_what_numpy_writes(tmp_path: Path) -> None:
    array = np.arange(300_000).reshape(-1, 3)
    files.write_npz(tmp_path / "ours.npz", {"x": array})
    np.testing.assert_array_equal(np.load(tmp_path / "ours.npz")["x"], array)
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "theirs.npz", x=array, f=np.asfortranarray(array))
        back = files.read_npz(tmp_path / "theirs.npz")
        np.testing.assert_array_equal(back["x"], array)
        np.testing.assert_array_equal(back["f"], array)


def test_equal_arrays_make_equal_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        files.write_npz(tmp_path / name, {"x": np.arange(10)})
    assert files.file_digest(tmp_path / "one") == files.file_digest(tmp_path / "two")


def test_rows_written_in_blocks_equal_the_whole(tmp_path: Path) -> None:
    array = np.random.default_rng(0).random((100, 7)).astype(np.float32)
    blocks = (array[start : start + 13] for start in range(0, 100, 13))
    with files.NpzWriter(tmp_path / "a.npz") as writer:
        writer.write_rows("x", array.shape, array.dtype, blocks)
    np.testing.assert_array_equal(files.read_npz(tmp_path / "a.npz")["x"], array)


@pytest.mark.parametrize("n", [0, 1, 5000])
def test_texts_asked_for_row_by_row_equal_the_whole(tmp_path: Path, n: int) -> None:
    texts = [f"{'ä' * (row % 7)}{row}" for row in range(n)]
    with files.NpzWriter(tmp_path / "a.npz") as writer:
        writer.write_texts("names", texts.__getitem__, n)
    assert files.read_npz(tmp_path / "a.npz")["names"].tolist() == texts


def test_pickled_objects_are_neither_read_nor_written(tmp_path: Path) -> None:
    np.savez(tmp_path / "pickled.npz", x=np.array([{"a": 1}], dtype=object))
    with pytest.raises(UserError, match="plain arrays"):
        files.read_npz(tmp_path / "pickled.npz")
    with pytest.raises(TypeError):
        files.write_npz(tmp_path / "out.npz", {"x": np.array([None])})
    assert not (tmp_path / "out.npz").exists()


@pytest.mark.parametrize("keep", [0, 10, 200_000, -10])
def test_a_truncated_file_is_refused_in_one_sentence(tmp_path: Path, keep: int) -> None:
    files.write_npz(tmp_path / "a.npz", {"x": np.arange(300_000)})
    data = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "a.npz").write_bytes(data[:keep])
    with pytest.raises(UserError, match=r"a\.npz cannot be read"):
        files.read_npz(tmp_path / "a.npz")


def test_missing_files_and_directories_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not exist"):
        files.read_npz(tmp_path / "none.npz")
    with pytest.raises(UserError, match="is a directory"):
        files.read_npz(tmp_path)
    with pytest.raises(UserError, match="does not exist"):
        files.read_json(tmp_path / "none.json", format_name="f", version=1)


def test_a_json_file_of_another_format_or_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    for value, complaint in (
        ({"format": "g", "version": 1}, "not a f file"),
        ({"format": "f", "version": 2}, "newer"),
        ({"format": "f"}, "newer"),
        ([], "not a f file"),
    ):
        files.write_json(path, value)
        with pytest.raises(UserError, match=complaint):
            files.read_json(path, format_name="f", version=1)
    path.write_text("{")
    with pytest.raises(UserError, match="cannot be read"):
        files.read_json(path, format_name="f", version=1)


def test_a_digest_depends_on_contents_shape_type_and_borders() -> None:
    array = np.arange(6)
    different = {
        files.digest(array),
        files.digest(array.reshape(2, 3)),
        files.digest(array.astype(np.int32)),
        files.digest("ab", "c"),
        files.digest("a", "bc"),
    }
    assert len(different) == 5
    assert files.digest(array[::2]) == files.digest(np.array([0, 2, 4]))


def test_what_a_killed_process_had_half_written_is_removed_and_newer_work_is_not(tmp_path: Path) -> None:
    with files.atomic_path(tmp_path / "kept.npz") as temporary:
        temporary.write_bytes(b"whole")
    with files.atomic_path(tmp_path / "new.npz") as temporary:
        old = temporary.with_name(temporary.name.replace("new", "old"))
        old.write_bytes(b"half")
        os.utime(old, (1000, 1000))
        files.remove_half_written(tmp_path, before=2000)
        assert temporary.exists()
        assert not old.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept.npz", "new.npz"]
