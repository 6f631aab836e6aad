"""Features as a data set and as a file."""

import json
import tracemalloc

import numpy as np
import pytest
from PIL import Image

from drlh.core.errors import UserError
from drlh.core.files import read_npz
from drlh.data.base import ArrayImages, DataSet, FileImages, Images
from drlh.features import extract_to_npz, extractor_from, make_extractor, with_features


@pytest.fixture
def dataset():
    pixels = np.random.default_rng(0).integers(0, 256, (30, 6, 6, 3), dtype=np.uint8)
    return DataSet("toys", np.arange(30) % 3, ("car", "ball", "doll"), ArrayImages(pixels, "toys"))


@pytest.fixture
def folder(tmp_path):
    """Six files, number 1 and 4 broken; the last three are the test rows."""
    names = [f"{number}.png" for number in range(6)]
    for number, name in enumerate(names):
        Image.new("RGB", (9, 7), (40 * number, 10, 20)).save(tmp_path / name)
    for broken in (1, 4):
        (tmp_path / names[broken]).write_bytes(b"no picture")
    labels = np.eye(6, dtype=np.uint8)[:, :4]
    return DataSet("photos", labels, tuple("abcd"), FileImages(tmp_path, names), test=np.arange(6) >= 3)


def test_a_feature_file_holds_rows_labels_classes_names_and_how_it_was_made(tmp_path, dataset):
    extractor = make_extractor("gray4", flip=True)
    left_out = extract_to_npz(dataset, extractor, tmp_path / "toys.npz", chunk=7)
    arrays = read_npz(tmp_path / "toys.npz")
    assert left_out == ()
    assert set(arrays) == {"x", "y", "classes", "names", "extractor"}
    assert arrays["x"].dtype == np.float32
    np.testing.assert_array_equal(arrays["x"], extractor(list(dataset.images.pixels)))
    np.testing.assert_array_equal(arrays["y"], dataset.labels)
    assert arrays["classes"].tolist() == ["car", "ball", "doll"]
    assert arrays["names"].tolist() == [f"toys/{row}" for row in range(30)]
    assert extractor_from(json.loads(str(arrays["extractor"][()]))).settings == extractor.settings


def test_the_publishers_test_rows_stay_apart(tmp_path, dataset):
    test = np.arange(30) % 4 == 1
    split = DataSet(dataset.name, dataset.labels, dataset.classes, dataset.images, test=test)
    extractor = make_extractor("gray4")
    extract_to_npz(split, extractor, tmp_path / "toys.npz", chunk=7)
    arrays = read_npz(tmp_path / "toys.npz")
    assert {"x_train", "y_train", "x_test", "y_test"} <= set(arrays)
    assert not {"x", "y"} & set(arrays)
    rows = extractor(list(dataset.images.pixels))
    for part, mask in (("train", ~test), ("test", test)):
        np.testing.assert_array_equal(arrays[f"x_{part}"], rows[mask])
        np.testing.assert_array_equal(arrays[f"y_{part}"], dataset.labels[mask])
    order = [*np.flatnonzero(~test), *np.flatnonzero(test)]
    assert arrays["names"].tolist() == [f"toys/{row}" for row in order]


def test_bad_rows_are_left_out_of_every_member(tmp_path, folder):
    left_out = extract_to_npz(folder, make_extractor("gray2"), tmp_path / "f.npz", skip_bad=True, chunk=2)
    arrays = read_npz(tmp_path / "f.npz")
    assert [sentence.split(" is not")[0][-13:] for sentence in left_out] == ["1.png (row 1)", "4.png (row 4)"]
    assert arrays["names"].tolist() == ["0.png", "2.png", "3.png", "5.png"]
    np.testing.assert_array_equal(arrays["y_train"], folder.labels[[0, 2]])
    np.testing.assert_array_equal(arrays["y_test"], folder.labels[[3, 5]])
    np.testing.assert_allclose(arrays["x_train"][:, 0], [30 / 765, 110 / 765], rtol=1e-6)
    np.testing.assert_allclose(arrays["x_test"][:, 0], [150 / 765, 230 / 765], rtol=1e-6)


def test_the_file_is_the_same_bytes_every_time(tmp_path, dataset):
    for name in ("one.npz", "two.npz"):
        extract_to_npz(dataset, make_extractor("gist"), tmp_path / name, cache=tmp_path / name[:3])
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()


def test_nothing_is_written_when_a_picture_stops_the_work(tmp_path, folder):
    with pytest.raises(UserError, match=r"1\.png \(row 1\)"):
        extract_to_npz(folder, make_extractor("gray2"), tmp_path / "f.npz")
    assert not list(tmp_path.glob("*f.npz*"))


def test_a_data_set_without_pictures_or_without_good_ones_is_refused(tmp_path):
    extractor = make_extractor("gray2")
    ready = DataSet("ready", np.zeros(2, np.int64), ("a",), features=np.zeros((2, 3), np.float32))
    with pytest.raises(UserError, match="ready has ready features and no pictures"):
        extract_to_npz(ready, extractor, tmp_path / "f.npz")
    lost = DataSet("lost", np.zeros(1, np.int64), ("a",), FileImages(tmp_path, ["lost.png"]))
    for run in (extract_to_npz, with_features):
        where = (tmp_path / "f.npz",) if run is extract_to_npz else ()
        with pytest.raises(UserError, match=r"lost has no picture to take features from: all 1 were left out"):
            run(lost, extractor, *where, skip_bad=True)
    assert not (tmp_path / "f.npz").exists()


def test_a_data_set_gets_features_and_their_origin(dataset):
    extractor = make_extractor("gray3")
    result = with_features(dataset, extractor)
    np.testing.assert_array_equal(result.features, extractor(list(dataset.images.pixels)))
    assert result.extractor == extractor.settings
    assert result.left_out == ()
    np.testing.assert_array_equal(result.labels, dataset.labels)


def test_a_data_set_loses_its_bad_rows_everywhere(folder):
    result = with_features(folder, make_extractor("gray2"), skip_bad=True)
    assert len(result) == len(result.features) == len(result.images) == 4
    np.testing.assert_array_equal(result.labels, folder.labels[[0, 2, 3, 5]])
    assert result.test.tolist() == [False, False, True, True]
    assert [result.images.name(row) for row in range(4)] == ["0.png", "2.png", "3.png", "5.png"]
    assert len(result.left_out) == 2


class Endless(Images):
    """Drawn on demand, so that only what the pipeline keeps takes memory."""

    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def name(self, row):
        return f"{row}"

    def raw(self, row):
        return row.to_bytes(4, "little")

    def decode(self, row, raw):
        return np.full((16, 16, 3), raw[0], np.uint8)


def test_memory_does_not_grow_with_the_number_of_pictures(tmp_path):
    def peak(n):
        data = DataSet("many", np.zeros(n, np.uint8), ("a",), Endless(n))
        tracemalloc.start()
        extract_to_npz(data, make_extractor("pixels16"), tmp_path / f"{n}.npz", chunk=64, threads=2)
        highest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return highest

    peak(200)  # what is set up once does not count
    few, many = peak(500), peak(2000)
    assert (tmp_path / "2000.npz").stat().st_size > 2000 * 768 * 4
    assert many < few + 500_000  # the features alone would be 4.6 MB more
