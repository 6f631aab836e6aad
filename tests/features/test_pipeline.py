"""Extraction over chunks: what is computed, what comes from disk, what happens to bad pictures."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from drlh.core.errors import UserError
from drlh.data.base import ArrayImages, FileImages, Images
from drlh.features import extract, extract_blocks, make_extractor
from drlh.features.extractor import Extractor


class Means(Extractor):
    """The mean colour; counts how often it is asked."""

    name, n_features, batch = "means", 3, 4

    def __init__(self, version=1):
        self.settings = {"name": "means", "version": version}
        self.n_prepared = 0
        self._lock = threading.Lock()

    def prepare(self, picture):
        with self._lock:
            self.n_prepared += 1
        return picture.mean(axis=(0, 1))

    def features(self, prepared):
        return np.stack(prepared).astype(np.float32)


@pytest.fixture
def pixels():
    return np.random.default_rng(0).integers(0, 256, (50, 6, 5, 3), dtype=np.uint8)


@pytest.fixture
def folder(tmp_path, pixels):
    """Ten PNG files, the fourth cut short, the eighth missing."""
    root = tmp_path / "photos"
    root.mkdir()
    names = [f"photo{number}.png" for number in range(10)]
    for name, picture in zip(names, pixels, strict=False):
        Image.fromarray(picture).resize((40, 30)).save(root / name)
    (root / names[3]).write_bytes((root / names[3]).read_bytes()[:60])
    (root / names[7]).unlink()
    return FileImages(root, names)


def files(cache):
    return sorted(path for path in cache.rglob("*") if path.is_file())


@pytest.mark.parametrize("chunk", [1, 7, 50, 512])
@pytest.mark.parametrize("threads", [1, 3])
def test_rows_come_in_order_whatever_the_chunks_and_threads(pixels, chunk, threads):
    result = extract(ArrayImages(pixels, "a"), Means(), chunk=chunk, threads=threads)
    np.testing.assert_allclose(result.features, pixels.mean(axis=(1, 2)), rtol=1e-6)
    assert result.features.dtype == np.float32
    assert result.kept.tolist() == list(range(50))
    assert result.left_out == ()


def test_grey_arrays_are_read_as_pictures(pixels):
    result = extract(ArrayImages(pixels[:, :, :, 0], "a"), Means())
    np.testing.assert_allclose(result.features[:, 1], pixels[:, :, :, 0].mean(axis=(1, 2)), rtol=1e-6)


def test_no_images_give_no_rows():
    result = extract(ArrayImages(np.empty((0, 4, 4, 3), np.uint8), "a"), Means())
    assert result.features.shape == (0, 3)
    assert result.kept.shape == (0,)


def test_threads_give_bit_for_bit_the_features_of_one_thread(tmp_path, pixels):
    one, many = (
        extract(ArrayImages(pixels, "a"), make_extractor("gist"), cache=tmp_path / f"c{n}", threads=n) for n in (1, 4)
    )
    np.testing.assert_array_equal(one.features, many.features)


def test_what_is_computed_once_is_not_computed_again(cache, pixels):
    first, second = Means(), Means()
    one = extract(ArrayImages(pixels, "a"), first, chunk=20)
    two = extract(ArrayImages(pixels, "renamed"), second, chunk=20)
    assert (first.n_prepared, second.n_prepared) == (50, 0)
    np.testing.assert_array_equal(one.features, two.features)
    assert len(files(cache / "features")) == 3


def test_only_chunks_with_new_contents_are_computed(pixels):
    extract(ArrayImages(pixels, "a"), Means(), chunk=10)
    changed = pixels.copy()
    changed[25, 0, 0, 0] ^= 1
    again = Means()
    result = extract(ArrayImages(changed, "a"), again, chunk=10)
    assert again.n_prepared == 10
    np.testing.assert_allclose(result.features, changed.mean(axis=(1, 2)), rtol=1e-6)


def test_other_settings_do_not_share_features(pixels):
    extract(ArrayImages(pixels, "a"), Means(), chunk=10)
    other = Means(version=2)
    extract(ArrayImages(pixels, "a"), other, chunk=10)
    assert other.n_prepared == 50


def test_the_place_of_the_weight_file_does_not_matter_to_the_cache(pixels):
    one, two = Means(), Means()
    one.settings["weights_file"], two.settings["weights_file"] = "here", "there"
    extract(ArrayImages(pixels, "a"), one)
    extract(ArrayImages(pixels, "a"), two)
    assert two.n_prepared == 0


def test_the_same_bytes_in_another_shape_are_other_pictures():
    flat = np.arange(48, dtype=np.uint8)
    wide, tall = ArrayImages(flat.reshape(1, 2, 8, 3), "a"), ArrayImages(flat.reshape(1, 8, 2, 3), "a")
    extractor = make_extractor("pixels4")
    np.testing.assert_array_equal(extract(wide, extractor).features[0], extractor([wide.read(0)])[0])
    np.testing.assert_array_equal(extract(tall, extractor).features[0], extractor([tall.read(0)])[0])


def test_a_damaged_file_in_the_cache_is_made_again(cache, pixels):
    images = ArrayImages(pixels, "a")
    extract(images, Means(), chunk=20)
    for path, damage in zip(files(cache / "features"), (b"", b"nonsense", None), strict=True):
        path.write_bytes(path.read_bytes()[:-200] if damage is None else damage)
    again = Means()
    result = extract(images, again, chunk=20)
    assert again.n_prepared == 50
    np.testing.assert_allclose(result.features, pixels.mean(axis=(1, 2)), rtol=1e-6)


@pytest.mark.parametrize("chunk", [1, 4, 10])
def test_the_first_broken_picture_stops_the_work_and_is_named(folder, chunk):
    with pytest.raises(UserError, match=r"photo3\.png \(row 3\) is not a readable picture"):
        extract(folder, Means(), chunk=chunk)


def test_a_missing_picture_stops_the_work_and_is_named(folder):
    folder.names = folder.names[:3] + folder.names[4:]
    with pytest.raises(UserError, match=r"photo7\.png \(row 6\) cannot be read"):
        extract(folder, Means(), chunk=4)


@pytest.mark.parametrize("chunk", [1, 4, 10])
def test_bad_pictures_are_left_out_with_a_sentence_each(folder, chunk):
    for expected in (8, 0):  # computed, then from the cache
        extractor = Means()
        result = extract(folder, extractor, chunk=chunk, skip_bad=True)
        assert extractor.n_prepared == expected
        assert result.kept.tolist() == [0, 1, 2, 4, 5, 6, 8, 9]
        assert len(result.left_out) == 2
        assert "photo3.png (row 3)" in result.left_out[0]
        assert "photo7.png (row 7)" in result.left_out[1]
        wanted = [folder.read(row).mean(axis=(0, 1)) for row in result.kept]
        np.testing.assert_allclose(result.features, wanted, rtol=1e-6)


def test_a_broken_picture_in_the_cache_still_stops_the_work_without_skip_bad(folder):
    (folder.root / "photo7.png").write_bytes((folder.root / "photo6.png").read_bytes())
    extract(folder, Means(), skip_bad=True)
    with pytest.raises(UserError, match=r"photo3\.png \(row 3\)"):
        extract(folder, Means())


def test_sentences_name_the_files_of_today(folder):
    extract(folder, Means(), skip_bad=True)
    (folder.root / "photo3.png").rename(folder.root / "renamed.png")
    folder.names[3] = "renamed.png"
    extractor = Means()
    result = extract(folder, extractor, skip_bad=True)
    assert extractor.n_prepared == 0
    assert "renamed.png (row 3)" in result.left_out[0]


def test_a_picture_that_has_become_readable_is_computed(folder):
    class Strict(FileImages):
        def decode(self, row, raw):
            if row == 5:
                raise UserError("no such format yet")
            return super().decode(row, raw)

    assert 5 not in extract(Strict(folder.root, folder.names), Means(), skip_bad=True).kept
    assert 5 in extract(folder, Means(), skip_bad=True).kept


def test_all_pictures_bad_leave_an_empty_matrix(tmp_path):
    result = extract(FileImages(tmp_path, ["no", "where"]), Means(), skip_bad=True)
    assert result.features.shape == (0, 3)
    assert len(result.left_out) == 2


def test_blocks_tell_their_rows_and_progress(pixels):
    told = []
    blocks = list(
        extract_blocks(ArrayImages(pixels, "a"), Means(), chunk=20, progress=lambda *facts: told.append(facts))
    )
    assert [block.span for block in blocks] == [range(0, 20), range(20, 40), range(40, 50)]
    assert [len(block.features) for block in blocks] == [20, 20, 10]
    assert told == [(20, 50, "features"), (40, 50, "features"), (50, 50, "features")]


def test_a_chunk_of_big_files_ends_early(monkeypatch, pixels):
    monkeypatch.setattr("drlh.features.pipeline._CHUNK_BYTES", 6 * 5 * 3 * 8)
    blocks = list(extract_blocks(ArrayImages(pixels, "a"), Means(), chunk=20))
    assert [len(block.rows) for block in blocks] == [8, 8, 4] * 2 + [8, 2]  # and begins at every multiple of 20


def test_reading_runs_at_most_two_chunks_ahead(pixels):
    class Watched(ArrayImages):
        n_read = 0

        def raw(self, row):
            self.n_read += 1
            return super().raw(row)

    images = Watched(pixels, "a")
    for number, _ in enumerate(extract_blocks(images, Means(), chunk=5)):
        assert images.n_read <= 5 * (number + 2) + 1


def test_a_consumer_that_stops_early_leaves_no_thread_behind(pixels):
    before = threading.active_count()
    blocks = extract_blocks(ArrayImages(pixels, "a"), Means(), chunk=5, threads=3)
    next(blocks)
    blocks.close()
    assert threading.active_count() == before


@pytest.mark.parametrize("given", [{"chunk": 0}, {"threads": 0}])
def test_impossible_amounts_are_refused(pixels, given):
    with pytest.raises(UserError, match="must be at least 1"):
        extract(ArrayImages(pixels, "a"), Means(), **given)


SLOW = """
import sys, time
import numpy as np
from drlh.data.base import ArrayImages
from drlh.features import extract, make_extractor

class Slow(type(make_extractor("gray2"))):
    def features(self, prepared):
        time.sleep(0.2)
        return super().features(prepared)

pixels = np.random.default_rng(0).integers(0, 256, (50, 6, 5, 3), dtype=np.uint8)
tell = lambda done, total, what: print(done, flush=True)
extract(ArrayImages(pixels, "a"), Slow(2, colour=False), chunk=5, threads=1, progress=tell)
"""


def test_work_killed_at_any_time_goes_on_where_it_stopped(cache, pixels):
    process = subprocess.Popen([sys.executable, "-c", SLOW], stdout=subprocess.PIPE, text=True, env=os.environ)
    assert process.stdout is not None
    done = [int(process.stdout.readline()) for _ in range(3)][-1]
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert done == 15
    assert len(list((cache / "features").rglob("*.npz"))) >= 3

    class Counting(type(make_extractor("gray2"))):
        n_prepared = 0

        def prepare(self, picture):
            self.n_prepared += 1
            return super().prepare(picture)

    again = Counting(2, colour=False)
    result = extract(ArrayImages(pixels, "a"), again, chunk=5, threads=1)
    assert 30 <= again.n_prepared <= 35
    np.testing.assert_array_equal(result.features, make_extractor("gray2")(list(pixels)))


def test_any_source_of_images_will_do():
    class Drawn(Images):
        def __len__(self):
            return 9

        def name(self, row):
            return str(Path("drawn") / str(row))

        def raw(self, row):
            return bytes([row])

        def decode(self, row, raw):
            return np.full((2 + row, 3, 3), raw[0], np.uint8)

    assert extract(Drawn(), Means(), chunk=2).features[:, 0].tolist() == list(range(9))
