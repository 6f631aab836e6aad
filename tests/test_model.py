"""A model at work: pictures or features in, codes out, everything built once."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_digits

from drlh.core.codes import pack
from drlh.core.errors import UserError
from drlh.data.base import DataSet
from drlh.features import extractor_from, make_extractor
from drlh.hashers.classic.itq import ITQ
from drlh.index.local.index import LocalIndex
from drlh.model import Model


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Forty pictures of two digits, in a folder for each."""
    digits = load_digits()
    for label in (0, 1):
        (tmp_path / "photos" / f"class{label}").mkdir(parents=True)
        for number, image in enumerate(digits.images[digits.target == label][:20]):
            pixels = np.repeat((image * 15).astype(np.uint8)[:, :, None], 3, axis=2)
            Image.fromarray(pixels).save(tmp_path / "photos" / f"class{label}" / f"{number:02}.png")
    return tmp_path / "photos"


@pytest.fixture
def model(photos: Path) -> Model:
    return Model.fit(photos, "itq", 16, features="gray8")


def test_pictures_of_every_kind_get_the_code_of_their_features(model: Model, photos: Path) -> None:
    path = photos / "class0" / "03.png"
    with Image.open(path) as image:
        pixels = np.asarray(image.convert("RGB"))
        codes = [model.encode(item) for item in (path, str(path), [path], image, pixels, [pixels], pixels[None])]
    wanted = pack(model.hasher.transform(make_extractor("gray8")([pixels])))
    assert all(np.array_equal(code, wanted) for code in codes)
    assert np.array_equal(model.encode(model.features_of([path])), wanted)
    assert wanted.shape == (1, 2)


def test_a_saved_model_comes_back_as_it_was(model: Model, photos: Path, tmp_path: Path) -> None:
    assert model.sha256 is None
    model.save(tmp_path / "a.model")
    again = Model.load(tmp_path / "a.model")
    pictures = sorted(photos.rglob("*.png"))
    assert np.array_equal(again.encode(pictures), model.encode(pictures))
    assert (again.method, again.n_bits, again.n_features, again.classes) == ("itq", 16, 64, ("class0", "class1"))
    assert again.sha256 == model.sha256
    assert again.sha256 is not None


def test_the_extractor_is_built_once(model: Model, photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = []
    monkeypatch.setattr("drlh.model.extractor_from", lambda settings: built.append(1) or extractor_from(settings))
    for path in sorted(photos.rglob("*.png"))[:5]:
        model.encode(path)
    assert built == [1]


def test_a_protocol_leaves_queries_out_of_learning(photos: Path) -> None:
    held = Model.fit(photos, "itq", 16, features="gray8", protocol="split", n_query=10, seed=1)
    assert held.n_train == 30
    assert held.notes["split"]["protocol"] == "split"
    assert held.notes["split"]["seed"] == 1


def test_codes_find_their_pictures_in_an_index(model: Model, photos: Path) -> None:
    index, pictures = LocalIndex(16), sorted(photos.rglob("*.png"))
    index.add(model.encode(pictures), np.arange(len(pictures)))
    distances, ids = index.search(model.encode(pictures[:3]), k=1)
    assert distances.tolist() == [[0]] * 3
    assert ids.shape == (3, 1)


def test_an_index_of_another_model_is_refused(model: Model, tmp_path: Path) -> None:
    model.save(tmp_path / "a.model")
    model.check_index(LocalIndex(16))
    model.check_index(LocalIndex(16, notes={"model_sha256": model.sha256}))
    for other in (LocalIndex(16, notes={"model_sha256": "0" * 64}), LocalIndex(8)):
        with pytest.raises(UserError, match=r"were not made with .*a\.model"):
            model.check_index(other)


def test_drlh_walks_and_others_say_that_they_do_not(photos: Path) -> None:
    walker = Model.fit(photos, "drlh", 8, features="gray8", n_epochs=1)
    path = photos / "class0" / "03.png"
    trace = walker.walk(path)
    assert np.array_equal(pack(trace.codes[-1:]), walker.encode(path))
    assert np.array_equal(walker.walk(walker.features_of(path)[0]).codes, trace.codes)
    with pytest.raises(UserError, match="walk takes one picture: got 2"):
        walker.walk([path, path])  # type: ignore[arg-type]
    with pytest.raises(UserError, match="itq makes its codes in one go"):
        Model.fit(photos, "itq", 8, features="gray8").walk(path)


def test_what_cannot_be_encoded_is_said_in_one_sentence(model: Model, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"features of shape \(n, 64\): got \(2, 3\)"):
        model.encode(np.zeros((2, 3)))
    with pytest.raises(UserError, match=r"nowhere\.jpg .*cannot be read"):
        model.encode("nowhere.jpg")
    (tmp_path / "text.jpg").write_text("no picture")
    with pytest.raises(UserError, match=r"text\.jpg .*is not a readable picture"):
        model.encode([tmp_path / "text.jpg"])


def test_a_model_of_features_of_unknown_origin_reads_no_pictures(photos: Path) -> None:
    rows = np.random.default_rng(0).standard_normal((50, 6)).astype(np.float32)
    data = DataSet("rows", np.arange(50) % 2, ("a", "b"), features=rows)
    model = Model.fit(data, "itq", 4)
    assert model.encode(rows).shape == (50, 1)
    with pytest.raises(UserError, match="cannot read pictures"):
        model.encode(photos / "class0" / "03.png")


def test_a_method_without_checkpoints_cannot_resume(photos: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="itq keeps no checkpoints"):
        Model.fit(photos, "itq", 8, features="gray8", resume_from=tmp_path)


def test_a_fitted_hasher_becomes_a_model() -> None:
    rows = np.random.default_rng(0).standard_normal((50, 6))
    hasher = ITQ(4, random_state=0).fit(rows)
    assert np.array_equal(Model(hasher).encode(rows), pack(hasher.transform(rows)))
