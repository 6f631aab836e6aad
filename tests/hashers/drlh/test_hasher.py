"""Both agents as their users meet them: they learn, repeat, resume, show their walks, and refuse in one sentence."""

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open
from sklearn.datasets import load_digits

from drlh.core.errors import UserError
from drlh.evaluate.metrics import mean_average_precision
from drlh.hashers.base import Hasher
from drlh.hashers.classic.lsh import LSH
from drlh.hashers.drlh.hasher import DRLH
from drlh.hashers.drlh_paper.hasher import DRLHPaper
from drlh.hashers.methods import hasher_class, make_hasher
from drlh.hashers.model_file import load_hasher, save_hasher
from drlh.hashers.training.checkpoint import FILE

both_agents = pytest.mark.parametrize("method", ["drlh", "drlh-paper"])
SMALL: dict[str, dict[str, Any]] = {
    "drlh": {"n_epochs": 4, "hidden_size": 16, "ensemble_size": 2},
    "drlh-paper": {"n_epochs": 4, "hidden_size": 16, "batch_size": 64, "target_update_interval": 20},
}


def blobs(n: int = 160, n_classes: int = 4, n_features: int = 12, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % n_classes
    centres = np.random.default_rng(99).normal(0, 2, (n_classes, n_features))
    return centres[labels] + rng.normal(0, 1, (n, n_features)), labels


def small(method: str, n_bits: int = 16, **parameters: Any) -> Any:
    return make_hasher(method, n_bits, random_state=0, **(SMALL[method] | parameters))


def digits() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(query features, query labels, database features, database labels): 500 and 1,297 of the digits."""
    features, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(features))
    query, database = order[:500], order[500:]
    return features[query], labels[query], features[database], labels[database]


def several_labels(n: int = 240, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Every image has a pattern for each of its labels; one to three of five."""
    rng = np.random.default_rng(seed)
    hot = rng.random((n, 5)) < 0.3
    hot[np.arange(n), rng.integers(0, 5, n)] = True
    patterns = np.random.default_rng(99).normal(0, 2, (5, 20))
    return hot @ patterns + rng.normal(0, 0.5, (n, 20)), hot.astype(np.uint8)


def precision(
    hasher: Hasher, query: np.ndarray, query_labels: np.ndarray, features: np.ndarray, labels: np.ndarray
) -> float:
    return mean_average_precision(hasher.transform(query), query_labels, hasher.transform(features), labels)


# Learning, and the controls that show it is learning


def quick(n_bits: int = 32) -> DRLH:
    return DRLH(n_bits, n_epochs=8, hidden_size=128, ensemble_size=2, learning_rate=5e-3, random_state=0)


def test_it_learns_the_digits_in_a_few_epochs() -> None:
    query, query_labels, features, labels = digits()
    learned, control = quick().fit(features, labels), LSH(32, random_state=0).fit(features)
    found = precision(learned, query, query_labels, features, labels)
    assert found >= 0.9
    assert found > precision(control, query, query_labels, features, labels) + 0.3


def test_labels_that_say_nothing_teach_nothing() -> None:
    query, _, features, _ = digits()
    rng = np.random.default_rng(1)
    labels, query_labels = rng.permutation(len(features)) % 10, rng.permutation(len(query)) % 10
    hasher = quick().fit(features, labels)
    assert precision(hasher, query, query_labels, features, labels) < 0.1 + 0.02


def test_shuffled_labels_leave_little_of_the_image_where_all_walks_begin_alike() -> None:
    query, query_labels, features, labels = digits()
    shuffled = np.random.default_rng(1).permutation(labels)
    hasher = quick().set_params(start="fixed", target_confidence=0.955).fit(features, shuffled)
    assert precision(hasher, query, query_labels, features, labels) < 0.1 + 0.08


def test_shuffled_labels_leave_far_less_than_a_random_projection_where_the_score_softens_with_doubt() -> None:
    """A soft score enlarges what little tells doubtful images apart: the image, though not its label."""
    query, query_labels, features, labels = digits()
    shuffled = np.random.default_rng(1).permutation(labels)
    hasher = quick().set_params(start="fixed").fit(features, shuffled)
    control = precision(LSH(32, random_state=0).fit(features), query, query_labels, features, labels)
    assert precision(hasher, query, query_labels, features, labels) < control - 0.15


def test_shuffled_labels_leave_no_more_of_the_image_than_its_start_code_tells() -> None:
    query, query_labels, features, labels = digits()
    hasher = quick().fit(features, np.random.default_rng(1).permutation(labels))
    starts = [(hasher._inputs(part).numpy() @ hasher.projection_ >= 0).astype(np.uint8) for part in (query, features)]
    start = mean_average_precision(starts[0], query_labels, starts[1], labels)
    assert precision(hasher, query, query_labels, features, labels) < start


@both_agents
def test_images_with_several_labels_are_learned_as_such(method: str) -> None:
    features, labels = several_labels()
    query, query_labels = several_labels(100, seed=1)
    hasher = small(method, n_epochs=15, hidden_size=64).fit(features, labels)
    assert hasher.codewords_.shape == (5, 16)
    codes = hasher.transform(query)
    assert codes.shape == (100, 16)
    if method == "drlh":
        control = LSH(16, random_state=0).fit(features)
        found = precision(hasher, query, query_labels, features, labels)
        assert found > precision(control, query, query_labels, features, labels) + 0.03
        first_only = np.eye(5, dtype=np.uint8)[labels.argmax(axis=1)]
        by_first = small(method, n_epochs=15, hidden_size=64).fit(features, first_only)
        assert found > precision(by_first, query, query_labels, features, labels) + 0.02


@both_agents
def test_one_hot_labels_and_class_ids_give_the_same_classes(method: str) -> None:
    features, labels = blobs()
    named = small(method).fit(features, np.array(["ant", "bee", "cat", "dog"])[labels])
    assert named.classes_.tolist() == ["ant", "bee", "cat", "dog"]
    np.testing.assert_array_equal(named.transform(features), small(method).fit(features, labels).transform(features))


# Repeating


@both_agents
def test_fitting_and_encoding_leave_the_callers_random_numbers_alone(method: str) -> None:
    torch.manual_seed(3)
    features, labels = blobs(60)
    before, numpy_before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    hasher = small(method, n_epochs=1).fit(features, labels)
    hasher.transform(features)
    hasher.walk(features[0])
    assert torch.equal(torch.get_rng_state(), before)
    np.testing.assert_array_equal(np.random.get_state()[1], numpy_before)  # noqa: NPY002


@both_agents
def test_another_seed_gives_other_codes(method: str) -> None:
    features, labels = blobs()
    other = small(method).set_params(random_state=1).fit(features, labels).transform(features)
    assert not np.array_equal(small(method).fit(features, labels).transform(features), other)


def test_a_model_file_of_several_labels_gives_the_same_codes(tmp_path: Path) -> None:
    features, labels = several_labels()
    hasher = small("drlh").fit(features, labels)
    save_hasher(tmp_path / "model", hasher)
    np.testing.assert_array_equal(load_hasher(tmp_path / "model").transform(features), hasher.transform(features))


@both_agents
def test_progress_is_told_from_the_first_epoch_to_the_last(method: str) -> None:
    told: list[tuple[int, int]] = []
    small(method).fit(*blobs(40), progress=lambda done, total, what, /: told.append((done, total)))
    assert told == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]


# Walks


@pytest.mark.parametrize("parameters", [{}, {"max_steps": 3}], ids=["free", "cut"])
@pytest.mark.parametrize(("method", "flips"), [("drlh", 1), ("drlh-paper", 1), ("drlh-paper", 2)])
def test_the_walk_of_an_image_ends_at_its_code(method: str, flips: int, parameters: dict[str, Any]) -> None:
    features, labels = blobs()
    pairs_too = {"max_flips": 2} if flips == 2 else {}
    hasher = small(method, 8, **pairs_too, **parameters).fit(features, labels)
    codes = hasher.transform(features[:30])
    n_actions = 1 + 8 + (28 if flips == 2 else 0)
    pairs = [(bit,) for bit in range(8)] + [(a, b) for a in range(8) for b in range(a + 1, 8)]
    for row in range(30):
        trace = hasher.walk(features[row])
        np.testing.assert_array_equal(trace.codes[-1], codes[row])
        replayed = trace.codes[0].copy()
        for action, code in zip(trace.actions, trace.codes[1:], strict=False):
            replayed[list(pairs[action])] ^= 1
            np.testing.assert_array_equal(code, replayed)
        assert trace.values.shape == (len(trace.codes), n_actions)
        words = hasher.codewords_ > 0
        np.testing.assert_array_equal(
            trace.distances, [[(code != word).sum() for word in words] for code in trace.codes]
        )
        assert len(trace.codes) <= parameters.get("max_steps", 8) + 1


@both_agents
def test_walks_begin_at_a_code_of_the_image_or_all_at_the_same(method: str) -> None:
    features, labels = blobs(40)
    starts = {}
    for start in ("image", "fixed"):
        hasher = small(method, start=start, n_epochs=1).fit(features, labels)
        starts[start] = np.unique([hasher.walk(row).codes[0] for row in features], axis=0)
    assert len(starts["image"]) > 10
    assert len(starts["fixed"]) == 1


def test_a_walk_is_of_one_image_of_the_fitted_width() -> None:
    features, labels = blobs()
    hasher = small("drlh", n_epochs=1).fit(features, labels)
    np.testing.assert_array_equal(hasher.walk(features[:1]).codes, hasher.walk(features[0]).codes)
    with pytest.raises(UserError, match="walk takes the features of one image: got 2 rows"):
        hasher.walk(features[:2])
    with pytest.raises(ValueError, match="5 features"):
        hasher.walk(features[0, :5])


# Resuming


def broken_off(method: str, directory: str) -> None:
    """What the killed process runs: epochs slow enough to be caught between two."""
    small(method, n_epochs=6).fit(
        *blobs(), progress=lambda done, total, what, /: time.sleep(0.5 * done), resume_from=directory
    )


def epochs_done(directory: Path) -> int:
    if not (directory / FILE).exists():
        return 0
    with safe_open(directory / FILE, "numpy") as file:
        return int(file.metadata()["epochs_done"])


@both_agents
def test_a_killed_fit_that_is_resumed_ends_like_an_unbroken_one(method: str, tmp_path: Path) -> None:
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); from test_hasher import broken_off; broken_off(*sys.argv[2:])"
    )
    process = subprocess.Popen([sys.executable, "-c", script, str(Path(__file__).parent), method, str(tmp_path)])
    try:
        deadline = time.monotonic() + 120
        while epochs_done(tmp_path) < 2 and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
    finally:
        process.kill()
    assert process.wait() == -9
    done = epochs_done(tmp_path)
    assert 2 <= done < 6
    features, labels = blobs()
    told: list[int] = []
    resumed = small(method, n_epochs=6).fit(
        features, labels, progress=lambda done, total, what, /: told.append(done), resume_from=tmp_path
    )
    assert told[0] == done
    unbroken = small(method, n_epochs=6).fit(features, labels)
    np.testing.assert_array_equal(resumed.transform(features), unbroken.transform(features))
    for name, weights in unbroken.weights_.items():
        np.testing.assert_array_equal(resumed.weights_[name], weights)


@both_agents
def test_a_finished_run_is_resumed_without_learning_again(method: str, tmp_path: Path) -> None:
    features, labels = blobs()
    first = small(method).fit(features, labels, resume_from=tmp_path)
    told: list[int] = []
    again = small(method).fit(
        features, labels, progress=lambda done, total, what, /: told.append(done), resume_from=tmp_path
    )
    assert told == [4]
    np.testing.assert_array_equal(again.transform(features), first.transform(features))


OTHER_RUNS: dict[str, dict[str, Any]] = {
    "gamma": {"gamma": 0.3}, "bits": {"n_bits": 17}, "epochs": {"n_epochs": 5}, "seed": {"random_state": 1},
}  # fmt: skip


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a run of one epoch."""
    directory = tmp_path_factory.mktemp("run")
    small("drlh", n_epochs=1).fit(*blobs(), resume_from=directory)
    return directory


@pytest.mark.parametrize("changed", OTHER_RUNS.values(), ids=OTHER_RUNS)
def test_a_run_with_other_parameters_is_not_resumed(changed: dict[str, Any], started: Path) -> None:
    hasher = small("drlh", n_epochs=1).set_params(**changed)
    with pytest.raises(UserError, match="other data, parameters or seed"):
        hasher.fit(*blobs(), resume_from=started)


@pytest.mark.parametrize("what", ["features", "labels", "rows"])
def test_a_run_with_other_data_is_not_resumed(what: str, started: Path) -> None:
    features, labels = blobs()
    if what == "features":
        features[-1, -1] += 1e-6
    elif what == "labels":
        labels[[0, 1]] = labels[[1, 0]]
    else:
        features, labels = features[:-1], labels[:-1]
    with pytest.raises(UserError, match="other data, parameters or seed"):
        small("drlh", n_epochs=1).fit(features, labels, resume_from=started)


def test_a_run_with_another_large_codebook_is_not_resumed(tmp_path: Path) -> None:
    features, labels = blobs(40)
    codebook = np.random.default_rng(0).integers(0, 2, (4, 400), np.uint8)
    other = codebook.copy()
    other[2, 200] ^= 1  # in the part that numpy's text of an array leaves out
    small("drlh", 400, n_epochs=1, codebook=codebook).fit(features, labels, resume_from=tmp_path)
    small("drlh", 400, n_epochs=1, codebook=codebook.copy()).fit(features, labels, resume_from=tmp_path)
    with pytest.raises(UserError, match="other data, parameters or seed"):
        small("drlh", 400, n_epochs=1, codebook=other).fit(features, labels, resume_from=tmp_path)


def test_a_damaged_checkpoint_is_refused_and_left_alone(tmp_path: Path) -> None:
    features, labels = blobs(40)
    small("drlh", n_epochs=1).fit(features, labels, resume_from=tmp_path)
    data = (tmp_path / FILE).read_bytes()[:-100]
    (tmp_path / FILE).write_bytes(data)
    with pytest.raises(UserError, match="is damaged"):
        small("drlh", n_epochs=1).fit(features, labels, resume_from=tmp_path)
    assert (tmp_path / FILE).read_bytes() == data


# What people get wrong

# (parameter, value, what is said); {} stands for the class.
BOTH_WRONG: list[tuple[str, Any, str]] = [
    ("gamma", 1.0, "gamma of {} must be at least 0 and below 1: got 1.0"),
    ("gamma", -0.1, "gamma"),
    ("gamma", float("nan"), "gamma"),
    ("gamma", None, "gamma"),
    ("gamma", "high", "gamma of {} must be at least 0 and below 1: got 'high'"),
    ("hidden_size", 0, "hidden_size of {} must be a whole number of at least 1: got 0"),
    ("hidden_size", 2.5, "hidden_size"),
    ("n_epochs", 0, "n_epochs"),
    ("batch_size", 0, "batch_size"),
    ("max_steps", 0, "max_steps of {} must be a whole number of at least 1: got 0"),
    ("max_steps", -3, "max_steps"),
    ("dropout", 1.0, "dropout"),
    ("learning_rate", 0, "learning_rate"),
    ("learning_rate", float("inf"), "learning_rate"),
    ("start", "anywhere", "start of {} must be image or fixed: got 'anywhere'"),
    ("device", "tpu", "device of {} must be auto, cpu or cuda: got 'tpu'"),
    ("device", None, "device of {} must be auto, cpu or cuda: got None"),
    ("validation_fraction", 1.0, "validation_fraction of {} must be at least 0 and below 1: got 1.0"),
    ("log_dir", 3, "log_dir of {} must be a directory: got 3"),
    ("random_state", "x", "random_state must be None, a whole number"),
    ("random_state", -1, "random_state must be None, a whole number"),
    ("codebook", np.zeros((3, 16)), r"one row for each of 4 classes and 16 bits a row: got shape \(3, 16\)"),
    ("codebook", np.zeros((4, 15)), r"got shape \(4, 15\)"),
    ("codebook", np.zeros((4, 16)), "classes 0 and 1 share one"),
    ("codebook", -np.ones((4, 16)), "must hold only 0 and 1"),
    ("codebook", "bhc", "codebook of {} must be one of bch, bch-paper, hadamard, random, or an array of codewords"),
    ("codebook", None, "codebook"),
]
DEFAULT_WRONG: list[tuple[str, Any, str]] = [
    ("target_confidence", 0.25, "target_confidence of {} must be auto, or between 1 / 4 classes and 1: got 0.25"),
    ("target_confidence", 1, "target_confidence"),
    ("target_confidence", "most", "target_confidence"),
    ("ensemble_size", 0, "ensemble_size"),
    ("feature_dropout", -0.5, "feature_dropout"),
    ("weight_decay", -1, "weight_decay"),
    ("codebook_adaptation", -0.1, "codebook_adaptation"),
    ("loss_weight_exponent", -1, "loss_weight_exponent of {} must be at least 0: got -1"),
    ("feature_power", 0, "feature_power"),
    ("backbone", "vgg", "no backbone is called 'vgg'"),
    ("backbone_lr_scale", -1, "backbone_lr_scale"),
    ("backbone_weights", "file", "backbone_weights of {} belong to a backbone"),
]
PAPER_WRONG: list[tuple[str, Any, str]] = [
    ("sigma", -7, "sigma of {} must be above 0: got -7"),
    ("sigma", float("nan"), "sigma"),
    ("eta", -1, "eta of {} must be at least 0: got -1"),
    ("eta", "far", "eta"),
    ("max_flips", 3, "max_flips of {} must be 1 or 2: got 3"),
    ("guided", "yes", "guided of {} must be True or False: got 'yes'"),
    ("double_q", None, "double_q"),
    ("huber", 2, "huber"),
    ("target_update_interval", -1, "target_update_interval"),
    ("dropout", None, "dropout"),
    ("n_layers", 0, "n_layers"),
    ("feature_dropout", 1.0, "feature_dropout"),
    ("input_balance", 0.0, "input_balance"),
    ("code_input", "words", "code_input of {} must be signs or bits: got 'words'"),
    ("use_history", 1, "use_history"),
    ("weight_decay", -0.1, "weight_decay"),
    ("replay_ratio", 0, "replay_ratio"),
    ("replay_capacity", 0, "replay_capacity"),
    ("hindsight", 1.5, "hindsight of {} must be between 0 and 1: got 1.5"),
    ("pairs_from", -1, "pairs_from of {} must be a whole number of at least 0 and below n_epochs: got -1"),
    ("pairs_from", 4, "below n_epochs: got 4"),
    ("pairs_from", 1.5, "pairs_from"),
    ("pairs_from", 2, "pairs_from of {} must be 0 unless max_flips is 2: got 2"),
    ("composed_pairs", 1, "composed_pairs of {} must be True or False: got 1"),
    ("composed_pairs", True, "composed_pairs of {} must be False unless max_flips is 2: got True"),
    ("relative_actions", "no", "relative_actions of {} must be True or False: got 'no'"),
    ("label_correlation", 1.1, "label_correlation of {} must be between 0 and 1: got 1.1"),
    ("label_correlation", -0.1, "label_correlation"),
    ("label_correlation", float("nan"), "label_correlation"),
    ("layer", "sparse", "layer of {} must be one of dense, fastfood, tensor-train: got 'sparse'"),
    ("layer", None, "layer"),
]
WRONG = [("drlh", *row) for row in BOTH_WRONG + DEFAULT_WRONG] + [
    ("drlh-paper", *row) for row in BOTH_WRONG + PAPER_WRONG
]


@pytest.mark.parametrize(
    ("method", "name", "value", "message"), WRONG, ids=[f"{row[0]}-{row[1]}-{at}" for at, row in enumerate(WRONG)]
)
def test_a_wrong_parameter_is_one_clear_sentence(method: str, name: str, value: Any, message: str) -> None:
    hasher = small(method).set_params(**{name: value})
    with pytest.raises(UserError, match=message.replace("{}", type(hasher).__name__)) as caught:
        hasher.fit(*(colours() if name == "backbone" else blobs(40)))
    assert "\n" not in str(caught.value)


def colours() -> tuple[np.ndarray, np.ndarray]:
    return np.random.default_rng(0).integers(0, 256, (40, 8, 8, 3), dtype=np.uint8), np.arange(40) % 4


@pytest.mark.parametrize(("cls", "other"), [(DRLH, "drlh-paper"), (DRLHPaper, "drlh")])
def test_parameters_of_the_other_agent_are_refused_with_its_name(cls: Any, other: str) -> None:
    own, others = set(cls().get_params()), set(hasher_class(other)().get_params())
    assert set(cls.parameters_elsewhere) == others - own
    for name in others - own:
        said = f"{cls.__name__} has no parameter '{name}' .the method {other} has.; it takes .*codebook"
        for refused in (
            lambda name=name: cls(**{name: 2}),
            lambda name=name: cls().set_params(**{name: 2}),
            lambda name=name: make_hasher("drlh" if cls is DRLH else "drlh-paper", 16, **{name: 2}),
        ):
            with pytest.raises(UserError, match=said):
                refused()


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without cuda")
def test_a_device_that_is_not_there_is_one_clear_sentence() -> None:
    with pytest.raises(UserError, match="must be one that torch finds here: got 'cuda'; take auto or cpu"):
        small("drlh", device="cuda").fit(*blobs(40))


@both_agents
def test_wrong_labels_are_refused(method: str) -> None:
    features, labels = blobs(40)
    with pytest.raises(UserError, match="at least 2 classes"):
        small(method).fit(features, np.zeros(40, int))
    with pytest.raises(UserError, match=r"0/1 matrix \(n, n_classes\) with at least 2 classes: got shape \(40, 1\)"):
        small(method).fit(features, (labels[:, None] == 0).astype(int))
    with pytest.raises(UserError, match="0/1 matrix"):
        small(method).fit(features, np.full((40, 3), 2))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        small(method).fit(features, labels[:-1])
    with pytest.raises(UserError, match="y is None"):
        small(method).fit(features)


def test_an_image_without_labels_teaches_the_default_nothing_and_is_refused_by_the_paper() -> None:
    features, labels = several_labels(80)
    labels[7] = 0
    assert small("drlh", n_epochs=1).fit(features, labels).transform(features).shape == (80, 16)
    with pytest.raises(UserError, match="row 7 has none"):
        small("drlh-paper", guided=False).fit(features, labels)


@both_agents
def test_too_few_bits_for_the_classes_are_refused(method: str) -> None:
    with pytest.raises(UserError, match="4 classes need at least 2 bits to differ: got n_bits=1"):
        small(method, 1).fit(*blobs(40))


# What is odd but right


@both_agents
def test_one_bit_tells_two_classes_apart(method: str) -> None:
    features, labels = blobs(80, n_classes=2)
    assert small(method, 1).fit(features, labels).transform(features).shape == (80, 1)


@both_agents
def test_more_bits_than_features_are_fine(method: str) -> None:
    features, labels = blobs(n_features=3)
    codes = small(method, 40, n_epochs=2).fit(features, labels).transform(features)
    assert codes.shape == (160, 40)
    assert len(np.unique(codes, axis=0)) > 1


@both_agents
@pytest.mark.parametrize("value", [0.0, 0.1, -7.0])
def test_images_that_are_all_alike_get_one_code(method: str, value: float) -> None:
    features, labels = np.full((40, 5), value), np.arange(40) % 4
    hasher = small(method, n_epochs=1).fit(features, labels)
    codes = hasher.transform(features)
    assert len(np.unique(codes, axis=0)) == 1
    np.testing.assert_array_equal(hasher.transform(features[:1]), codes[:1])
    assert all(np.isfinite(weights).all() for weights in hasher.weights_.values())


def test_a_feature_that_never_varies_does_no_harm() -> None:
    features, labels = blobs(n=300)
    query, query_labels = blobs(n=100, seed=1)
    wide = [np.hstack([part, np.full((len(part), 3), 1000.0)]) for part in (features, query)]
    hasher = small("drlh", n_epochs=12).fit(wide[0], labels)
    assert precision(hasher, wide[1], query_labels, wide[0], labels) > 0.9


@both_agents
def test_a_codebook_of_ones_own_is_taken_as_it_is(method: str) -> None:
    features, labels = blobs(40)
    codebook = np.random.default_rng(0).integers(0, 2, (4, 16), np.uint8)
    fixed = {"codebook_adaptation": 0.0} if method == "drlh" else {}
    hasher = small(method, codebook=codebook, n_epochs=1, **fixed).fit(features, labels)
    np.testing.assert_array_equal(hasher.codewords_ > 0, codebook > 0)
    assert set(np.unique(hasher.codewords_)) == {-1, 1}


def test_codewords_follow_the_confusions_of_the_images() -> None:
    features, labels = blobs(240)
    features[labels == 1] = features[labels == 0]  # two classes that nobody can tell apart
    hasher = small("drlh", 24, n_epochs=12).fit(features, labels)
    signs = hasher.codewords_.astype(int)
    agreements = signs @ signs.T
    np.fill_diagonal(agreements, -100)
    assert sorted(np.unravel_index(agreements.argmax(), agreements.shape)) == [0, 1]
