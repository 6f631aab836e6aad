"""Protocols: sizes, disjointness, determinism, digests that pin every rule, files, refusals."""

import json
import subprocess
import sys

import numpy as np
import pytest

from drlh.core.errors import UserError
from drlh.core.files import write_npz
from drlh.evaluate.protocols import PROTOCOLS, get_protocol, load_split, save_split, split_digest
from drlh.evaluate.splits import Shuffle

CLASS_IDS = np.arange(7000) * 7919 % 7000 % 10  # 700 of each of ten classes, mixed
TEST_ROWS = np.arange(7000) % 7 == 3


def concept_labels() -> np.ndarray:
    """4,000 rows with four concepts, the last one rarest; the last ten rows carry none."""
    rows = np.arange(4000)
    labels = np.stack([rows % 2 == 0, rows % 3 == 0, rows % 3 != 0, rows % 5 == 0], axis=1).astype(np.uint8)
    labels[-10:] = 0
    return labels


CONCEPTS = concept_labels()


def split_of(name, seed=0, **parameters):
    labels = CONCEPTS if name.startswith("nuswide") else CLASS_IDS
    test = None if name.startswith("nuswide") else TEST_ROWS
    return get_protocol(name, **parameters).split(labels, test, seed)


# What each rule draws for seed 5. A changed rule must come with a new version, and with a new line here.
PINNED = {
    ("cifar10-I", 1): "a84f7d8554f1b0a6a437fa4ba57766b1c18ff3ad68285b8c0b7d86f25df07fd9",
    ("cifar10-I-disjoint", 1): "9da66ecb0d038a8e785a7925fc891f9b99fb8e650762a7b091008383a0c10d6d",
    ("cifar10-I-train", 1): "c7cb3009a6e6806f2a352f8e6811a6e8120d3bc7360c2003a34b9d3d4096e9b3",
    ("cifar10-II", 1): "d1fa6655ab43dd3f8c0392b1721dafe98dd59fc1ddf08e0e6d3d8530acd79b25",
    ("nuswide21-I", 1): "8b957a8a4e6022278dafc8aa860a044b47651c48cc0992210b91b8d100b95ba0",
    ("nuswide21-II", 1): "3c4955b5ba2fd8898d1afe34147ce1bce0a6dd0ce579566de5ebe564e5556c92",
    ("unseen-classes", 1): "0b864598704939a09553013a4191879730ad4cf4593a16c15bd1b4579596b0f8",
    ("split", 1): "96aaf2a27bae8f1ec383020efa3881f0fe04bf3d73c0e4c3823761d79a59ca5b",
}


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_rows_of_a_protocol_version_never_change(name):
    assert split_digest(split_of(name, 5)) == PINNED[name, PROTOCOLS[name].version]


def test_drawn_queries_of_cifar10_ii_never_change():
    drawn = split_of("cifar10-II", 5, random_query=True, query_per_class=30)
    assert split_digest(drawn) == "8f507a10cf927176702f4cffa8cff65911215ac7e21f9a9febe7eaf6f8310bf0"


def test_random_orders_are_the_sorted_raw_integers_that_numpy_promises():
    assert Shuffle("split", 1, 0).order(8).tolist() == [3, 2, 4, 6, 1, 0, 5, 7]


@pytest.mark.parametrize("name", PROTOCOLS)
def test_rows_are_sorted_int64_without_repeats_and_queries_meet_no_other_set(name):
    split = split_of(name)
    for rows in (split.query, split.train, split.database):
        assert rows.dtype == np.int64
        assert (np.diff(rows) > 0).all()
    assert not np.isin(split.query, split.train).any()
    assert not np.isin(split.query, split.database).any()


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_same_seed_gives_the_same_rows_and_another_seed_others(name):
    assert split_digest(split_of(name, 3)) == split_digest(split_of(name, 3))
    fixed = name == "cifar10-II"  # its queries are the publisher's
    assert (split_digest(split_of(name, 3)) == split_digest(split_of(name, 4))) == fixed


def test_a_split_is_the_same_in_a_fresh_process():
    code = (
        "import numpy as np; from drlh.evaluate.protocols import get_protocol, split_digest; "
        "print(split_digest(get_protocol('split').split(np.arange(500) % 7, None, 11)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == split_digest(get_protocol("split").split(np.arange(500) % 7, None, 11))


def test_cifar10_i_takes_100_and_500_of_each_class_and_searches_all_but_the_queries():
    split = split_of("cifar10-I")
    assert np.bincount(CLASS_IDS[split.query]).tolist() == [100] * 10
    assert np.bincount(CLASS_IDS[split.train]).tolist() == [500] * 10
    assert np.array_equal(np.union1d(split.query, split.database), np.arange(7000))
    assert np.isin(split.train, split.database).all()
    assert TEST_ROWS[split.query].any()  # drawn from all rows, test rows and others
    assert not TEST_ROWS[split.query].all()


def test_cifar10_i_disjoint_draws_as_cifar10_i_and_leaves_train_out_of_the_database():
    split, other = split_of("cifar10-I-disjoint"), split_of("cifar10-I")
    assert np.array_equal(split.query, other.query)
    assert np.array_equal(split.train, other.train)
    assert np.array_equal(split.database, np.setdiff1d(other.database, other.train))
    assert split.training_share == 0
    assert other.training_share == pytest.approx(5000 / 6000)


def test_cifar10_i_train_draws_as_cifar10_i_and_searches_the_train_images_alone():
    split, other = split_of("cifar10-I-train"), split_of("cifar10-I")
    assert np.array_equal(split.query, other.query)
    assert np.array_equal(split.train, other.train)
    assert np.array_equal(split.database, other.train)
    assert split.training_share == 1


def test_cifar10_ii_queries_are_the_test_rows_and_all_others_are_train_and_database():
    split = split_of("cifar10-II")
    assert np.array_equal(split.query, np.flatnonzero(TEST_ROWS))
    assert np.array_equal(split.train, np.flatnonzero(~TEST_ROWS))
    assert np.array_equal(split.train, split.database)
    assert split.training_share == 1


@pytest.mark.parametrize("test", [None, TEST_ROWS])
def test_cifar10_ii_draws_queries_when_asked_to_or_without_test_rows(test):
    protocol = get_protocol("cifar10-II", random_query=test is not None, query_per_class=40)
    split = protocol.split(CLASS_IDS, test, 0)
    assert np.bincount(CLASS_IDS[split.query]).tolist() == [40] * 10
    assert len(split.train) == len(split.database) == 6600
    assert "query_per_class=40" in protocol.title


def test_nuswide_i_takes_100_and_500_for_each_concept_and_no_image_twice():
    split = split_of("nuswide21-I")
    assert len(split.query) == 4 * 100
    assert len(split.train) == 4 * 500
    assert not np.isin(split.query, split.train).any()
    assert (CONCEPTS[split.query].sum(axis=0) >= 100).all()
    assert (CONCEPTS[split.train].sum(axis=0) >= 500).all()
    assert len(split.database) == 4000 - 10 - 400  # rows without a concept are no part of the set
    assert np.isin(split.train, split.database).all()


def test_nuswide_ii_has_the_queries_of_i_and_trains_on_the_whole_database():
    first, second = split_of("nuswide21-I"), split_of("nuswide21-II")
    assert np.array_equal(first.query, second.query)
    assert np.array_equal(first.database, second.database)
    assert np.array_equal(second.train, second.database)


def test_unseen_classes_train_on_some_classes_and_search_the_others_alone():
    for test in (None, TEST_ROWS):
        split = get_protocol("unseen-classes").split(CLASS_IDS, test, 0)
        held_out = set(CLASS_IDS[split.query])
        assert len(held_out) == 3  # a quarter of ten, rounded half up
        assert set(CLASS_IDS[split.database]) == held_out
        assert set(CLASS_IDS[split.train]) == set(range(10)) - held_out
    assert TEST_ROWS[split.query].all()
    assert not TEST_ROWS[np.concatenate([split.train, split.database])].any()


def test_seeds_of_unseen_classes_rotate_until_every_class_was_held_out():
    protocol = get_protocol("unseen-classes", held_out=0.2)
    held_out = [set(CLASS_IDS[protocol.split(CLASS_IDS, None, seed).query]) for seed in range(5)]
    assert sorted(label for classes in held_out for label in classes) == list(range(10))


def test_split_has_a_tenth_as_queries_and_trains_on_all_others():
    split = get_protocol("split").split(CLASS_IDS, None, 0)
    assert (len(split.query), len(split.train), len(split.database)) == (700, 6300, 6300)
    big = get_protocol("split").split(np.zeros(50_000, int), None, 0)
    assert len(big.query) == 1000


@pytest.mark.parametrize("name", ["split", "unseen-classes"])
def test_free_sizes_are_kept(name):
    split = get_protocol(name).split(CLASS_IDS, None, 0, n_query=20, n_train=33)
    assert (len(split.query), len(split.train)) == (20, 33)
    assert len(split.database) == (6980 if name == "split" else 2080)


def test_protocols_fix_the_rules_of_scoring():
    cuts = {name: protocol.top_k for name, protocol in PROTOCOLS.items()}
    assert cuts == dict.fromkeys(PROTOCOLS, None) | {"nuswide21-I": 5000, "nuswide21-II": 50000}
    assert {protocol.divisor for protocol in PROTOCOLS.values()} == {"min"}


DIGITS = np.arange(1797) % 10


@pytest.mark.parametrize(
    ("name", "parameters", "labels", "sentence"),
    [
        ("cifar10-I", {}, DIGITS, "100 query and 500 train images of every class, but class 7 has 179; use the"),
        ("cifar10-II", {}, DIGITS, "1000 query images of every class, but class 7 has 179"),
        ("cifar10-II", {"query_per_class": 0}, DIGITS, "query_per_class of cifar10-II must be at least 1: got 0"),
        ("cifar10-I", {}, CONCEPTS, "needs one class id for each image: got multi-hot labels"),
        ("cifar10-I-disjoint", {}, np.arange(6000) % 10, "leaves no database image"),
        ("nuswide21-I", {}, CLASS_IDS, "needs multi-hot labels"),
        ("nuswide21-I", {}, CONCEPTS[:300], "no image twice, but concept 3 is on 60"),
        ("unseen-classes", {"held_out": 0.01}, DIGITS, "must hold out at least one class"),
        ("unseen-classes", {"held_out": 1.5}, DIGITS, "must hold out at least one class"),
        ("unseen-classes", {}, CONCEPTS, "needs one class id"),
        ("split", {}, DIGITS[:1], "needs at least two labelled images: got 1"),
        ("split", {}, DIGITS / 2, "labels must be whole-number class ids"),
    ],
)
def test_data_that_a_protocol_cannot_split_is_refused_in_one_sentence(name, parameters, labels, sentence):
    with pytest.raises(UserError, match=sentence):
        get_protocol(name, **parameters).split(labels, None, 0)


def test_sizes_seeds_and_masks_that_do_not_fit_are_refused():
    split = get_protocol("split").split
    with pytest.raises(UserError, match="takes from 1 to 1796 query images of this data: got 1797"):
        split(DIGITS, None, 0, n_query=1797)
    with pytest.raises(UserError, match="takes from 1 to 1787 train images of this data: got 0"):
        split(DIGITS, None, 0, n_query=10, n_train=0)
    with pytest.raises(UserError, match="cifar10-I fixes its own sizes"):
        get_protocol("cifar10-I").split(CLASS_IDS, None, 0, n_query=5)
    with pytest.raises(UserError, match="test mask must hold one true or false for each of the 1797 labels"):
        split(DIGITS, TEST_ROWS, 0)
    for seed in (-1, 0.5, True):
        with pytest.raises(UserError, match="seed of a split must be a whole number"):
            split(DIGITS, None, seed)
    with pytest.raises(UserError, match="leaves no query image"):
        get_protocol("cifar10-II").split(DIGITS, np.zeros(1797, bool), 0)


def test_unknown_names_and_parameters_are_refused_with_what_there_is():
    with pytest.raises(UserError, match="no protocol 'cifar10-1', the nearest name is cifar10-I: choose one of"):
        get_protocol("cifar10-1")
    with pytest.raises(UserError, match="cifar10-I has no parameter 'queries': it has none"):
        get_protocol("cifar10-I", queries=3)
    with pytest.raises(UserError, match=r"held_out of unseen-classes must be a float, like 0\.25: got 1"):
        get_protocol("unseen-classes", held_out=1)


def test_parameters_of_one_protocol_object_leave_the_registered_one_alone():
    changed = get_protocol("unseen-classes", held_out=0.5)
    assert changed.title == "unseen-classes (held_out=0.5)"
    assert get_protocol("unseen-classes").parameters == {"held_out": 0.25}
    assert get_protocol("unseen-classes").title == "unseen-classes"


def test_a_stored_split_comes_back_with_what_made_it(tmp_path):
    protocol = get_protocol("unseen-classes", held_out=0.5)
    split = protocol.split(CLASS_IDS, None, 9)
    save_split(tmp_path / "split.npz", split, protocol, 9, CLASS_IDS)
    stored = load_split(tmp_path / "split.npz", CLASS_IDS.astype(np.int32))
    assert split_digest(stored.split) == split_digest(split)
    assert (stored.protocol, stored.protocol_version, stored.seed) == ("unseen-classes", 1, 9)
    assert stored.parameters == {"held_out": 0.5}


def stored_file(tmp_path):
    protocol = get_protocol("split")
    path = tmp_path / "split.npz"
    save_split(path, protocol.split(DIGITS, None, 0), protocol, 0, DIGITS)
    return path


def test_a_split_of_other_labels_is_refused(tmp_path):
    path = stored_file(tmp_path)
    with pytest.raises(UserError, match="was made for other labels than the 1797 given"):
        load_split(path, DIGITS[::-1])


@pytest.mark.parametrize("where", [0.2, 0.5, 0.9])
def test_a_split_file_with_one_flipped_byte_is_refused(tmp_path, where):
    path = stored_file(tmp_path)
    content = bytearray(path.read_bytes())
    content[int(where * len(content))] ^= 1
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"split\.npz"):
        load_split(path, DIGITS)


def rewritten(path, **changes):
    with np.load(path) as members:
        arrays = dict(members)
    about = json.loads(arrays["about"].tobytes())
    for name, value in changes.items():
        if name in arrays:
            arrays[name] = value
        else:
            about[name] = value
    arrays["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    write_npz(path, arrays)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"query": np.arange(5)}, "rows do not have the digest"),
        ({"train": np.array(["a"])}, "damaged split file"),
        ({"format": "other"}, "is not a drlh-split file: its format is 'other'"),
        ({"version": 99}, "newer than the 1 this drlh reads"),
        ({"parameters": 3}, "damaged split file"),
    ],
)
def test_a_split_file_that_was_tampered_with_is_refused(tmp_path, changes, sentence):
    path = stored_file(tmp_path)
    rewritten(path, **changes)
    with pytest.raises(UserError, match=sentence):
        load_split(path, DIGITS)


def test_foreign_and_missing_files_are_refused(tmp_path):
    write_npz(tmp_path / "foreign.npz", {"x": np.arange(3)})
    with pytest.raises(UserError, match="is not a drlh-split file"):
        load_split(tmp_path / "foreign.npz", DIGITS)
    (tmp_path / "text.npz").write_text("no archive")
    with pytest.raises(UserError, match="cannot be read as an NPZ"):
        load_split(tmp_path / "text.npz", DIGITS)
    with pytest.raises(UserError, match="does not exist"):
        load_split(tmp_path / "none.npz", DIGITS)
