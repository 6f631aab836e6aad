"""The same codes in a file, in Parquet and in an index."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from drlh.core.errors import UserError
from drlh.data.base import DataSet, FileImages
from drlh.encoding.codes_file import CodeSet, load_codes
from drlh.encoding.codes_parquet import ParquetCodes, open_codes
from drlh.encoding.encoding import Encoding
from drlh.encoding.indexing import index_codes
from drlh.encoding.outputs import to_index, to_npz, to_parquet
from drlh.index.opening import open_index


def test_a_file_a_directory_and_an_index_hold_the_same(model: Path, files: DataSet, tmp_path: Path) -> None:
    left_out = to_npz(Encoding(model, files, skip_bad=True), tmp_path / "c.npz")
    assert len(left_out) == 1
    assert to_parquet(Encoding(model, files, skip_bad=True), tmp_path / "c.parquet") == left_out
    assert to_index(Encoding(model, files, skip_bad=True), tmp_path / "index", first_id=5) == left_out
    whole = load_codes(tmp_path / "c.npz")
    blocks = list(ParquetCodes(tmp_path / "c.parquet").blocks())
    assert [len(block) for block in blocks] == [512, 511, 276]
    np.testing.assert_array_equal(np.concatenate([block.packed for block in blocks]), whole.packed)
    np.testing.assert_array_equal(np.concatenate([block.labels for block in blocks]), whole.labels)
    np.testing.assert_array_equal(np.concatenate([block.names for block in blocks]), whole.names)
    ids = np.concatenate([block.ids for block in blocks])
    assert ids.tolist() == [row for row in range(1300) if row != 600]  # a row that is left out leaves its id free
    assert isinstance(open_codes(tmp_path / "c.npz"), CodeSet)
    assert index_codes(tmp_path / "c.parquet", tmp_path / "again", first_id=5)["rows"] == 1299
    for place in ("index", "again"):
        with open_index(tmp_path / place) as index:
            assert len(index) == 1299
            assert index.notes["model_sha256"] == whole.notes["model_sha256"]
            distances, found = index.search(whole.packed[:1], 1299)
            assert sorted(found[0].tolist()) == (ids + 5).tolist()
            assert distances[0, 0] == 0
            assert index.describe([605, 606]) == [None, ("0.png", ("b",))]


def test_a_bad_picture_leaves_no_output_behind(model: Path, files: DataSet, tmp_path: Path) -> None:
    before = sorted(os.listdir(tmp_path))
    for write, name in ((to_npz, "c.npz"), (to_parquet, "c.parquet")):
        with pytest.raises(UserError, match="row 600"):
            write(Encoding(model, files), tmp_path / name)
    assert sorted(set(os.listdir(tmp_path)) - {"cache"}) == sorted(set(before) - {"cache"})


def test_a_set_without_one_good_picture_is_refused(model: Path, tmp_path: Path) -> None:
    lost = DataSet("lost", np.zeros(2, np.int64), ("a",), FileImages(tmp_path, ["x.png", "y.png"]))
    with pytest.raises(UserError, match=r"all 2 rows were left out, first: .*x\.png"):
        to_npz(Encoding(model, lost, skip_bad=True), tmp_path / "c.npz")
    assert not (tmp_path / "c.npz").exists()


def test_other_programs_read_the_parquet(model: Path, pixels: DataSet, tmp_path: Path) -> None:
    from pyarrow import parquet

    to_parquet(Encoding(model, pixels), tmp_path / "c.parquet")
    table = parquet.read_table(tmp_path / "c.parquet" / "block-00000002.parquet")
    assert table.column_names == ["id", "name", "labels", "code"]
    assert table.slice(0, 1).to_pylist()[0]["name"] == "noise/1024"
    assert table["labels"][0].as_py() == ["b"]
    assert json.loads(table.schema.metadata[b"drlh"])["n_blocks"] == 3
