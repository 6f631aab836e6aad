"""What every extractor keeps to, whatever it computes."""

import json

import numpy as np
import pytest

from drlh.core.errors import UserError
from drlh.features import extractor_from, make_extractor
from drlh.features.extractor import Extractor

NAMES = ["pixels8", "gray16", "gist", "gray4+gist+pixels2", "alexnet", "alexnet+gray4"]


@pytest.fixture
def weights(tmp_path):
    """An AlexNet small enough to write: two filters a layer."""
    rng = np.random.default_rng(0)
    state, n_in = {}, 3
    for number, kernel in enumerate((11, 5, 3, 3, 3)):
        state[f"conv{number}_w"] = rng.normal(0, 0.3, (2, n_in, kernel, kernel)).astype(np.float32)
        state[f"conv{number}_b"] = rng.normal(0, 0.3, 2).astype(np.float32)
        n_in = 2
    np.savez(tmp_path / "small.npz", **state)
    return tmp_path / "small.npz"


@pytest.fixture(params=[(name, flip) for name in NAMES for flip in (False, True)], ids=str)
def extractor(request, weights) -> Extractor:
    name, flip = request.param
    network = {"weights": weights, "layer": "pool5"} if "alexnet" in name else {}
    return make_extractor(name, flip=flip, **network)


def test_features_are_float32_rows_of_the_promised_width(extractor, pictures):
    rows = extractor(pictures)
    assert rows.shape == (len(pictures), extractor.n_features)
    assert rows.dtype == np.float32
    assert np.isfinite(rows).all()
    assert (rows.std(axis=0) > 0).any()


def test_features_of_one_picture_equal_its_row_in_the_batch(extractor, pictures):
    rows = extractor(pictures)
    for number in (0, 7, 11):
        np.testing.assert_allclose(extractor([pictures[number]])[0], rows[number], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(extractor(pictures[::-1])[::-1], rows, rtol=1e-5, atol=1e-5)


def test_no_pictures_give_no_rows(extractor):
    assert extractor([]).shape == (0, extractor.n_features)


def test_settings_survive_json_and_rebuild_the_extractor(extractor, pictures):
    settings = json.loads(json.dumps(extractor.settings))
    assert settings == extractor.settings
    again = extractor_from(settings)
    assert (again.name, again.n_features, again.settings) == (extractor.name, extractor.n_features, settings)
    np.testing.assert_array_equal(again(pictures[:3]), extractor(pictures[:3]))


@pytest.mark.parametrize("name", ["gray8", "gist", "gist+pixels4"])
def test_flip_is_the_mean_over_the_picture_and_its_mirror_image(name, pictures):
    plain, both = make_extractor(name), make_extractor(name, flip=True)
    mirrored = [np.ascontiguousarray(picture[:, ::-1]) for picture in pictures]
    np.testing.assert_allclose(both(pictures), (plain(pictures) + plain(mirrored)) / 2, atol=1e-6)
    np.testing.assert_allclose(both(mirrored), both(pictures), atol=1e-6)
    assert both.settings != plain.settings


def test_joined_features_stand_side_by_side(pictures):
    rows = make_extractor("gray4+gist")(pictures)
    np.testing.assert_array_equal(rows[:, :16], make_extractor("gray4")(pictures))
    np.testing.assert_array_equal(rows[:, 16:], make_extractor("gist")(pictures))


@pytest.mark.parametrize(
    "picture",
    [
        np.zeros((4, 4), np.uint8),
        np.zeros((4, 4, 3)),
        np.zeros((4, 4, 4), np.uint8),
        np.zeros((0, 4, 3), np.uint8),
    ],
)
def test_what_is_no_picture_is_refused(picture):
    with pytest.raises(UserError, match="a picture must be uint8 of shape"):
        make_extractor("gist")([picture])
