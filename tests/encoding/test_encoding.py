"""Work that broke off goes on: what is known is not encoded again, what has changed is."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from drlh.core.errors import UserError
from drlh.data.base import DataSet, FileImages
from drlh.encoding.coder import Coder, Results, Source
from drlh.encoding.encoding import Encoding
from drlh.encoding.parts import load_part, store_part
from drlh.encoding.runners import in_threads


class Counted:
    """Encodes in this process, and notes which blocks it was asked for."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def __call__(self, model: Path, coder: Coder, source: Source, blocks: Sequence[range]) -> Results:
        self.asked += [block.start for block in blocks]
        return in_threads(model, coder, source, blocks)


def all_codes(encoding: Encoding) -> np.ndarray:
    return np.concatenate([block.packed for block in encoding.run()])


def broken_off(model: Path, dataset: DataSet, n_blocks: int) -> None:
    blocks = Encoding(model, dataset, skip_bad=True).run()
    for _ in range(n_blocks):
        next(blocks)
    blocks.close()


def test_a_second_run_encodes_the_rest_alone(model: Path, pixels: DataSet) -> None:
    runner, told = Counted(), []
    encoding = Encoding(model, pixels, runner)
    whole = all_codes(encoding)
    encoding.forget()
    broken_off(model, pixels, 2)
    again = Encoding(model, pixels, runner)
    blocks = list(again.run(lambda *facts: told.append(facts)))
    assert runner.asked == [0, 512, 1024, 1024]
    assert told == [(276, 276, "encoding (1,024 rows are known)")]
    np.testing.assert_array_equal(np.concatenate([block.packed for block in blocks]), whole)
    np.testing.assert_array_equal(np.concatenate([block.rows for block in blocks]), np.arange(1300))


def test_nothing_is_left_in_the_cache_in_the_end(model: Path, pixels: DataSet, cache: Path) -> None:
    encoding = Encoding(model, pixels)
    list(encoding.run())
    assert len(list((cache / "codes").rglob("*.npz"))) == 3
    encoding.forget()
    assert list((cache / "codes").iterdir()) == []


def test_encoding_adds_no_features_to_the_cache(model: Path, pixels: DataSet, cache: Path) -> None:
    before = sorted((cache / "features").rglob("*.npz"))
    list(Encoding(model, pixels).run())
    assert sorted((cache / "features").rglob("*.npz")) == before


def test_a_file_that_has_changed_since_is_encoded_anew(model: Path, files: DataSet) -> None:
    names = ["2.png"] * 512 + ["3.png"] * 100
    assert isinstance(files.images, FileImages)
    dataset = DataSet("two", np.zeros(612, np.int64), ("a",), FileImages(files.images.root, names))
    broken_off(model, dataset, 2)
    os.utime(files.images.root / "3.png", ns=(1, 1))
    runner = Counted()
    list(Encoding(model, dataset, runner).run())
    assert runner.asked == [512]


def test_another_model_knows_nothing_of_it(model: Path, pixels: DataSet, tmp_path: Path) -> None:
    from drlh.features import make_extractor, with_features
    from drlh.model import Model

    broken_off(model, pixels, 3)
    Model.fit(with_features(pixels, make_extractor("gray4")), "lsh", 20, seed=1).save(tmp_path / "other")
    runner = Counted()
    list(Encoding(tmp_path / "other", pixels, runner).run())
    assert runner.asked == [0, 512, 1024]


def test_a_bad_row_is_refused_also_where_it_is_known(model: Path, files: DataSet) -> None:
    broken_off(model, files, 3)
    runner = Counted()
    with pytest.raises(UserError, match=r"1\.png \(row 600\)"):
        list(Encoding(model, files, runner).run())
    assert runner.asked == []
    rows = [block.rows for block in Encoding(model, files, runner, skip_bad=True).run()]
    assert np.setdiff1d(np.arange(1300), np.concatenate(rows)).tolist() == [600]


def test_a_damaged_part_is_made_again(model: Path, pixels: DataSet, cache: Path) -> None:
    whole = all_codes(Encoding(model, pixels))
    for path in (cache / "codes").rglob("*.npz"):
        path.write_bytes(path.read_bytes()[:100])
    np.testing.assert_array_equal(all_codes(Encoding(model, pixels)), whole)


def test_a_part_comes_back_as_it_was_and_only_where_it_fits(model: Path, files: DataSet, tmp_path: Path) -> None:
    coder = Coder(model)
    _, coded, _ = coder.code(coder.source_of(files), [512, 512, 276])
    store_part(tmp_path / "part.npz", coded)
    again = load_part(tmp_path / "part.npz", 512, 3)
    assert again is not None
    np.testing.assert_array_equal(again.good, coded.good)
    np.testing.assert_array_equal(again.packed, coded.packed)
    assert again.left_out == coded.left_out
    assert load_part(tmp_path / "part.npz", 511, 3) is None
    assert load_part(tmp_path / "part.npz", 512, 4) is None
    assert load_part(tmp_path / "none.npz", 512, 3) is None
