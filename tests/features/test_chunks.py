from pathlib import Path

import numpy as np
import pytest

from drlh.features import make_extractor
from drlh.features.pipeline import StoredChunk, chunk_path, load_chunk, store_chunk


def test_the_path_depends_on_bytes_their_borders_form_and_settings():
    gray, gist = make_extractor("gray2"), make_extractor("gist")
    flipped = make_extractor("gray2", flip=True)
    paths = {
        chunk_path(Path("c"), extractor, form, raws)
        for extractor in (gray, gist, flipped)
        for form in ("", "(2, 2, 3)")
        for raws in ([b"ab", b"c"], [b"a", b"bc"], [b"abc"], [b"c", b"ab"])
    }
    assert len(paths) == 3 * 2 * 4
    assert chunk_path(Path("c"), gray, "", [b"ab"]) == chunk_path(Path("c"), make_extractor("gray2"), "", [b"ab"])


def test_what_is_stored_is_loaded(tmp_path):
    stored = StoredChunk(np.arange(8, dtype=np.float32).reshape(2, 4), np.array([True, False, True]))
    store_chunk(tmp_path / "a" / "b.npz", stored)
    loaded = load_chunk(tmp_path / "a" / "b.npz", 3, 4)
    assert loaded is not None
    np.testing.assert_array_equal(loaded.features, stored.features)
    np.testing.assert_array_equal(loaded.good, stored.good)


@pytest.mark.parametrize(
    "arrays",
    [
        {"features": np.zeros((2, 4), np.float32)},
        {"features": np.zeros((3, 4), np.float32), "good": np.array([True, False, True])},
        {"features": np.zeros((2, 5), np.float32), "good": np.array([True, False, True])},
        {"features": np.zeros((2, 4), np.float64), "good": np.array([True, False, True])},
        {"features": np.zeros((2, 4), np.float32), "good": np.array([True, True])},
    ],
)
def test_a_file_that_does_not_fit_counts_as_nothing(tmp_path, arrays):
    np.savez(tmp_path / "odd.npz", **arrays)
    assert load_chunk(tmp_path / "odd.npz", 3, 4) is None
    assert load_chunk(tmp_path / "absent.npz", 3, 4) is None
