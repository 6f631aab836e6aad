"""Pictures and features through a model."""

from pathlib import Path

import numpy as np
import pytest

from drlh.core.codes import pack
from drlh.core.errors import UserError
from drlh.data.base import DataSet, Images
from drlh.encoding.coder import CHUNK, Coder, blocks_of
from drlh.features import make_extractor, with_features


class Many(Images):
    """As many pictures as it says, none of which is ever looked at."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n

    def name(self, row: int) -> str:
        raise AssertionError

    raw = decode = name


@pytest.mark.parametrize("n", [0, 1, CHUNK, CHUNK + 1, 2**20 + 1, 10**7])
def test_blocks_cover_the_rows_and_begin_at_multiples_of_a_chunk(n: int) -> None:
    blocks = blocks_of(Many(n))
    assert [row for block in blocks for row in (block.start, block.stop)][1:-1] == [
        row for block in blocks[1:] for row in (block.start, block.start)
    ]
    assert sum(map(len, blocks)) == n
    assert all(block.start % CHUNK == 0 for block in blocks)


def test_there_are_not_millions_of_blocks_nor_is_one_lost_for_long() -> None:
    assert len(blocks_of(Many(10**6))) == 1954
    assert len(blocks_of(Many(10**8))) < 10_000
    assert len(blocks_of(Many(10**8))[0]) == 32 * CHUNK


def test_codes_of_pictures_are_those_of_their_features(model: Path, pixels: DataSet) -> None:
    coder = Coder(model)
    sizes = [len(block) for block in blocks_of(pixels.images)]
    found = list(coder.code(coder.source_of(pixels), sizes))
    features = with_features(pixels, make_extractor("gray4")).features
    assert [len(coded.good) for coded in found] == [512, 512, 276]
    np.testing.assert_array_equal(
        np.concatenate([coded.packed for coded in found]), pack(coder.model.hasher.transform(features))
    )


def test_a_bad_picture_is_told_and_the_rest_keep_their_places(model: Path, files: DataSet) -> None:
    coder = Coder(model)
    first, second, third = coder.code(coder.source_of(files), [512, 512, 276])
    assert first.good.all()
    assert third.good.all()
    assert np.flatnonzero(~second.good).tolist() == [600 - 512]
    assert len(second.packed) == 511
    (sentence,) = second.left_out
    assert "1.png (row 600)" in sentence


def test_features_of_another_width_are_refused(model: Path, pixels: DataSet) -> None:
    with pytest.raises(UserError, match=r"features of shape \(n, 16\)"):
        Coder(model).source_of(DataSet("odd", pixels.labels, pixels.classes, features=np.ones((1300, 5), np.float32)))
