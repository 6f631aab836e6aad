"""One contract for every engine: it answers as brute force does, and loading twice changes nothing."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.index.brute_force import BruteForce, random_codes, repeated_codes

from drlh.core.errors import UserError
from drlh.encoding.codes_file import CodeSet
from drlh.encoding.indexing import load_items
from drlh.index.base import Index
from drlh.index.details import Detail, Details
from drlh.index.opening import create_index, open_index

N_BITS = 20


@pytest.fixture(params=["directory", "postgres", "milvus"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "directory":
        return str(tmp_path / "index")
    return str(request.getfixturevalue(f"{request.param}_address"))


@pytest.fixture
def engine(address: str) -> Iterator[Index]:
    with create_index(address, N_BITS, notes={"model": "m"}) as engine:
        yield engine


def assert_answers_as(truth: BruteForce, engine: Index, n_bits: int = N_BITS) -> None:
    queries = np.vstack([random_codes(3, n_bits, 100), repeated_codes(3, n_bits, 0)])
    assert len(engine) == len(truth.codes)
    for k in (1, 10, 10_000):
        distances, ids = engine.search(queries, k)
        assert distances.shape == ids.shape == (6, min(k, len(truth.codes)))
        found = [list(zip(*row, strict=True)) for row in zip(distances.tolist(), ids.tolist(), strict=True)]
        assert found == truth.search(queries, k)
    for radius in (0, 6, n_bits):
        found = [list(zip(d.tolist(), i.tolist(), strict=True)) for d, i in engine.search_radius(queries, radius)]
        assert found == truth.search_radius(queries, radius)


def named(ids: np.ndarray) -> Details:
    return Details(np.array([f"photo {n} é.jpg" for n in ids]), ids % 2, ("cat", "dog, 'wild'"))


def test_answers_with_duplicates_deletes_and_changes_are_those_of_brute_force(engine: Index) -> None:
    truth = BruteForce()
    steps = [
        (repeated_codes(300, N_BITS), np.random.default_rng(0).permutation(300)),
        (random_codes(200, N_BITS), np.arange(200) + 250),  # 50 of them are there and change
        (random_codes(3, N_BITS, 5), np.array([2**31, 2**40, 7])),
    ]
    for packed, ids in steps:
        engine.add(packed, ids)
        truth.add(packed, ids)
    assert_answers_as(truth, engine)
    gone = np.array([0, 3, 299, 2**40, 77_777])
    assert engine.remove(gone) == truth.remove(gone) == 4
    assert engine.remove(gone) == 0
    assert_answers_as(truth, engine)


def test_an_empty_index_finds_nothing_and_can_be_emptied_again(engine: Index) -> None:
    assert_answers_as(BruteForce(), engine)
    assert engine.remove([1]) == 0
    assert engine.describe([1]) == [None]
    engine.add(random_codes(4, N_BITS), np.arange(4))
    assert engine.remove(np.arange(4)) == 4
    assert_answers_as(BruteForce(), engine)
    engine.add(random_codes(0, N_BITS), [])
    assert len(engine) == 0


@pytest.mark.parametrize("n_bits", [1, 8, 48, 129])
def test_codes_of_any_length_are_searched(address: str, n_bits: int) -> None:
    truth = BruteForce()
    packed, ids = random_codes(40, n_bits), np.arange(40)
    truth.add(packed, ids)
    with create_index(address, n_bits) as engine:
        engine.add(packed, ids)
        assert engine.n_bits == n_bits
        assert_answers_as(truth, engine, n_bits)


def test_what_was_added_is_there_after_opening_again(engine: Index, address: str) -> None:
    truth = BruteForce()
    packed, ids = repeated_codes(50, N_BITS), np.arange(50)
    truth.add(packed, ids)
    engine.add(packed, ids, named(ids))
    engine.close()
    with open_index(address) as again:
        assert (again.n_bits, again.notes) == (N_BITS, {"model": "m"})
        assert_answers_as(truth, again)
        assert again.describe([3, 99, 0]) == [
            Detail("photo 3 é.jpg", ("dog, 'wild'",)),
            None,
            Detail("photo 0 é.jpg", ("cat",)),
        ]


def test_names_and_labels_follow_their_rows(engine: Index) -> None:
    several = np.array([[1, 1, 0], [0, 0, 0]], np.uint8)
    engine.add(random_codes(2, N_BITS), [5, 6], Details(np.array(["a", "b"]), several, ("x", "y", "z")))
    engine.add(random_codes(1, N_BITS), [8])
    assert engine.describe([6, 5, 8]) == [Detail("b", ()), Detail("a", ("x", "y")), Detail("8", ())]
    engine.add(random_codes(1, N_BITS, 1), [5], Details(np.array(["new"]), np.array([0]), ("w",)))
    engine.remove([6])
    assert engine.describe([5, 6]) == [Detail("new", ("w",)), None]


@pytest.mark.parametrize("codes", [random_codes, repeated_codes])
def test_codes_come_back_by_id_after_changes_and_removals(engine: Index, codes: Callable[..., np.ndarray]) -> None:
    packed, ids = codes(90, N_BITS), np.random.default_rng(1).permutation(900)[:90]
    engine.add(packed, ids)
    engine.add(packed[:5], ids[5:10])
    engine.remove(ids[20:30])
    wanted = np.vstack([packed[:5], packed[:5], packed[10:]])
    asked = np.append(ids[::-1], [5_000, 2**40, ids[0]])
    found, there = engine.codes(asked)
    assert there.tolist() == [*(row not in range(60, 70) for row in range(90)), False, False, True]
    np.testing.assert_array_equal(found[there], np.vstack([wanted[::-1], wanted[:1]])[there[[*range(90), 92]]])
    assert not found[~there].any()
    assert engine.codes([])[0].shape == (0, packed.shape[1])


def test_a_sample_has_different_ids_that_are_there_and_the_highest_id_is_known(engine: Index) -> None:
    assert engine.sample(5).tolist() == []
    assert engine.highest_id() == -1
    ids = 3 * np.arange(120)
    engine.add(repeated_codes(120, N_BITS), ids)
    engine.remove([0, 357])
    sample = engine.sample(30)
    assert len(set(sample.tolist())) == len(sample) == 30
    assert engine.codes(sample)[1].all()
    np.testing.assert_array_equal(sample, np.sort(engine.sample(30)))
    assert engine.sample(500).tolist() == ids[1:119].tolist()
    assert engine.highest_id() == 354


def test_rows_of_a_class_are_told_from_others(engine: Index) -> None:
    ids = np.arange(10)
    engine.add(random_codes(10, N_BITS), ids, named(ids))
    several = np.array([[1, 1], [0, 0]], np.uint8)
    engine.add(random_codes(2, N_BITS), [10, 11], Details(np.array(["a", "b"]), several, ("cow", "cat")))
    engine.remove([2])
    asked = np.array([11, 10, 4, 3, 2, 99])
    assert engine.labelled(asked, "cat").tolist() == [False, True, True, False, False, False]
    assert engine.labelled(asked, "cow").tolist() == [False, True, False, False, False, False]
    assert not engine.labelled(asked, "unicorn").any()


def items(n: int, prefix: str = "photo") -> CodeSet:
    names = np.array([f"{prefix}{row}.jpg" for row in range(n)])
    return CodeSet(random_codes(n, N_BITS), N_BITS, np.zeros(n, np.int64), ("any",), names)


def test_loading_a_file_twice_changes_nothing_and_another_file_is_refused(engine: Index) -> None:
    for _ in range(2):
        load_items(engine, items(120))
        assert len(engine) == 120
    with pytest.raises(UserError, match=r"id 0 is 'photo0\.jpg' in the index and 'other0\.jpg' in the file"):
        load_items(engine, items(30, "other"))
    load_items(engine, items(30, "other"), first_id=120)
    assert len(engine) == 150


def test_an_index_that_is_there_is_taken_up_or_replaced(engine: Index, address: str) -> None:
    load_items(engine, items(10))
    engine.close()
    with create_index(address, N_BITS, notes={"model": "m"}) as again:
        assert len(again) == 10
    with pytest.raises(UserError, match="codes of another model"):
        create_index(address, N_BITS, notes={"model": "other"})
    with create_index(address, 8, notes={"model": "other"}, replace=True) as anew:
        assert (len(anew), anew.n_bits, anew.notes) == (0, 8, {"model": "other"})


def test_a_mistake_is_one_sentence_and_changes_nothing(engine: Index) -> None:
    engine.add(random_codes(5, N_BITS), np.arange(5))
    code = random_codes(1, N_BITS)
    past = code.copy()
    past[0, -1] |= 0x80
    mistakes = [
        (lambda: engine.search(random_codes(1, 32), 1), "codes of 20 bits"),
        (lambda: engine.add(random_codes(1, 32), [9]), "codes of 20 bits"),
        (lambda: engine.add(past, [9]), "row 0 has bits set past bit 19"),
        (lambda: engine.search(code, 0), "k must be at least 1: got 0"),
        (lambda: engine.search_radius(code, -1), "at least 0"),
        (lambda: engine.add(code, [1, 2]), "1 whole numbers"),
        (lambda: engine.add(code, [-1]), "from 0"),
        (lambda: engine.add(code, [0.5]), "whole numbers"),
        (lambda: engine.add(np.vstack([code, code]), [9, 9]), "9 is given twice"),
        (lambda: engine.remove([-1]), "from 0"),
        (lambda: engine.add(code, [9], named(np.arange(2))), "1 codes and 2 names"),
        (lambda: load_items(engine, CodeSet(random_codes(1, 8), 8, np.zeros(1), ("a",), np.array(["n"]))), "20 bits"),
    ]
    for mistake, sentence in mistakes:
        with pytest.raises(UserError, match=sentence):
            mistake()
    assert len(engine) == 5
    assert engine.describe([9]) == [None]
