"""The in-process index: its two layouts, its segments, its directory under kills, damage, a writer and readers."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.index.brute_force import BruteForce, random_codes, repeated_codes

from drlh.core.errors import UserError
from drlh.index.local.compaction import compact, make_segment
from drlh.index.local.index import LocalIndex
from drlh.index.local.segment import Segment
from drlh.index.local.storage import write_lock


def hits(found: tuple[np.ndarray, np.ndarray]) -> list[list[tuple[int, int]]]:
    return [list(zip(d.tolist(), i.tolist(), strict=True)) for d, i in zip(*found, strict=True)]


def assert_equal(index: LocalIndex, truth: BruteForce, queries: np.ndarray) -> None:
    assert len(index) == len(truth.codes)
    for k in (1, 7, 1000):
        assert hits(index.search(queries, k)) == truth.search(queries, k)
    found = [list(zip(d.tolist(), i.tolist(), strict=True)) for d, i in index.search_radius(queries, 5)]
    assert found == truth.search_radius(queries, 5)


steps = st.lists(
    st.tuples(st.sampled_from(["add", "add few", "remove", "reload"]), st.integers(0, 1000), st.booleans()), max_size=8
)


@settings(max_examples=60, deadline=None)
@given(n_bits=st.integers(1, 140), large_ids=st.booleans(), changes=steps)
def test_any_series_of_changes_answers_as_brute_force_does(
    n_bits: int, large_ids: bool, changes: list[tuple[str, int, bool]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("index")
    index, truth = LocalIndex.create(place, n_bits), BruteForce()
    for change, seed, repeat in changes:
        rng = np.random.default_rng(seed)
        ids = rng.permutation(80)[: 30 if change == "add" else 4] + (2**40 if large_ids else 0)
        if change == "reload":
            index = LocalIndex.open(place)
        elif change == "remove":
            assert index.remove(ids) == truth.remove(ids)
        else:
            packed = (repeated_codes if repeat else random_codes)(len(ids), n_bits, seed)
            index.add(packed, ids)
            truth.add(packed, ids)
    assert_equal(index, truth, random_codes(3, n_bits, 7))


@pytest.mark.parametrize(("codes", "scanned"), [(repeated_codes, 5), (random_codes, 500)])
def test_repeated_codes_are_scanned_once(codes: object, scanned: int) -> None:
    index = LocalIndex(48)
    index.add(codes(500, 48), np.arange(500))  # type: ignore[operator]
    assert index.n_scanned == scanned
    assert index.nbytes <= 1.5 * 500 * (6 + 4)


def test_a_tie_across_lists_goes_to_the_lowest_ids() -> None:
    index = LocalIndex(8)
    # Both codes lie at distance 1 from the query; the lists interleave.
    index.add(np.array([[1], [2]] * 6, np.uint8), np.array([9, 0, 7, 2, 5, 4, 3, 6, 1, 8, 11, 10]))
    distances, ids = index.search(np.array([[0]], np.uint8), 5)
    assert ids.tolist() == [[0, 1, 2, 3, 4]]
    assert distances.tolist() == [[1] * 5]


def test_removing_all_that_is_near_reaches_what_is_far() -> None:
    index = LocalIndex(16)
    index.add(np.vstack([np.zeros((900, 2), np.uint8), np.full((5000, 2), 255, np.uint8)]), np.arange(5900))
    index.remove(np.arange(900))
    distances, ids = index.search(np.zeros((1, 2), np.uint8), 3)
    assert (distances.tolist(), ids.tolist()) == ([[16] * 3], [[900, 901, 902]])


def test_rows_added_one_by_one_lie_in_few_segments() -> None:
    segments: list[Segment] = []
    for number in range(100):
        segments = compact([*segments, make_segment(np.zeros((1, 4), np.uint8), np.array([number]))])
    assert sum(len(segment) for segment in segments) == 100
    assert len(segments) <= 7


def test_an_append_leaves_the_large_files_alone(tmp_path: Path) -> None:
    index = LocalIndex.create(tmp_path, 48)
    index.add(random_codes(5000, 48), np.arange(5000))
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("*.npy")}
    index.add(random_codes(10, 48, 1), np.arange(5000, 5010))
    index.remove([7, 5001])
    after = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("*.npy")}
    assert before.items() <= after.items()
    assert len(LocalIndex.open(tmp_path)) == 5008


def test_a_reader_keeps_its_snapshot_until_it_reloads(tmp_path: Path) -> None:
    writer = LocalIndex.create(tmp_path, 24)
    writer.add(random_codes(300_000, 24), np.arange(300_000))  # large enough to be mapped
    reader = LocalIndex.open(tmp_path)
    queries = random_codes(2, 24, 1)
    before = hits(reader.search(queries, 5))
    writer.add(random_codes(300_000, 24, 2), np.arange(300_000))  # every file of the reader is deleted
    assert hits(reader.search(queries, 5)) == before
    assert reader.reload()
    assert not reader.reload()
    assert hits(reader.search(queries, 5)) == hits(writer.search(queries, 5)) != before


def test_a_second_writer_is_told_and_a_later_one_builds_on_the_first(tmp_path: Path) -> None:
    first, second = LocalIndex.create(tmp_path, 8), LocalIndex.open(tmp_path)
    with write_lock(tmp_path), pytest.raises(UserError, match="another process is writing"):
        second.add(random_codes(1, 8), [0])
    first.add(random_codes(5, 8), np.arange(5))
    second.add(random_codes(5, 8), np.arange(5, 10))
    first.reload()
    assert len(first) == len(second) == 10


KEPT_ADDING = """
import sys
import numpy as np
from drlh.index.local.index import LocalIndex
index = LocalIndex.open(sys.argv[1])
print("ready", flush=True)
for number in range(1, 10_000):
    index.add(np.full((50, 6), number % 256, np.uint8), np.arange(50 * number, 50 * number + 50))
"""


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.05, 0.11])
def test_a_killed_writer_leaves_a_whole_index(tmp_path: Path, delay: float) -> None:
    LocalIndex.create(tmp_path, 48).add(np.zeros((50, 6), np.uint8), np.arange(50))
    writer = subprocess.Popen([sys.executable, "-c", KEPT_ADDING, tmp_path], stdout=subprocess.PIPE)
    assert writer.stdout is not None
    writer.stdout.readline()
    time.sleep(delay)
    os.kill(writer.pid, signal.SIGKILL)
    writer.wait()
    writer.stdout.close()
    index = LocalIndex.open(tmp_path)
    assert len(index) % 50 == 0  # each addition is there as a whole or not at all
    index.add(random_codes(3, 48), [10**6, 10**6 + 1, 10**6 + 2])
    in_use = {entry["file"] for part in manifest(tmp_path)["parts"] for entry in part["files"].values()}
    assert {path.name for path in tmp_path.iterdir()} == in_use | {"index.json", "lock"}


KEPT_READING = """
import sys
from drlh.index.local.index import LocalIndex
print("ready", flush=True)
openings = 0
while True:
    n = len(LocalIndex.open(sys.argv[1]))
    openings += 1
    assert n % 40 == 0, n
    if n == 1200:
        break
print(openings)
"""


def test_readers_never_see_half_a_change(tmp_path: Path) -> None:
    index = LocalIndex.create(tmp_path, 16)
    reader = subprocess.Popen([sys.executable, "-c", KEPT_READING, tmp_path], stdout=subprocess.PIPE)
    with reader:
        assert reader.stdout is not None
        reader.stdout.readline()
        for number in range(30):
            index.add(repeated_codes(40, 16, number), np.arange(40) + 40 * number)
        assert int(reader.stdout.readline()) > 1
    assert reader.returncode == 0


def manifest(place: Path) -> dict:
    return json.loads((place / "index.json").read_text(encoding="utf-8"))


def test_a_full_disk_is_one_sentence_and_leaves_the_index(tmp_path: Path) -> None:
    LocalIndex.create(tmp_path, 48).add(np.zeros((50, 6), np.uint8), np.arange(50))
    script = """
import resource, signal, sys
import numpy as np
from drlh.index.local.index import LocalIndex
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
LocalIndex.open(sys.argv[1]).add(np.random.default_rng(0).integers(0, 256, (9000, 6), np.uint8), np.arange(9000))
"""
    result = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True)
    assert "UserError: cannot write" in result.stderr
    assert "the index is unchanged" in result.stderr
    assert len(LocalIndex.open(tmp_path)) == 50


def test_a_writer_that_failed_builds_on_what_others_wrote_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = LocalIndex.create(tmp_path, 8)
    with monkeypatch.context() as patch:
        patch.setattr("drlh.index.local.storage.write_json", lambda *_: (_ for _ in ()).throw(OSError("full")))
        with pytest.raises(UserError, match=r"cannot write .*index\.json: full; the index is unchanged"):
            first.add(random_codes(5, 8), np.arange(5))
    for path in tmp_path.glob("*.npy"):
        path.unlink()  # as the next writer's cleaning would
    second = LocalIndex.open(tmp_path)
    second.add(random_codes(7, 8), np.arange(100, 107))
    first.add(random_codes(5, 8), np.arange(5))
    assert len(first) == len(LocalIndex.open(tmp_path)) == 12


def test_damage_is_told_in_a_sentence(tmp_path: Path) -> None:
    LocalIndex.create(tmp_path, 16).add(random_codes(30, 16), np.arange(30))
    codes = next(tmp_path.glob("*-codes.npy"))
    whole = codes.read_bytes()
    codes.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(UserError, match=r"damaged: .*codes\.npy was altered"):
        LocalIndex.open(tmp_path)
    assert len(LocalIndex.open(tmp_path, verify=False)) == 30
    codes.write_bytes(whole[:-1])
    with pytest.raises(UserError, match=r"codes\.npy was altered"):
        LocalIndex.open(tmp_path, verify=False)
    codes.unlink()
    with pytest.raises(UserError, match=r"codes\.npy is missing"):
        LocalIndex.open(tmp_path)
    text = (tmp_path / "index.json").read_text(encoding="utf-8")
    (tmp_path / "index.json").write_text(text.replace('"n_bits": 16', '"n_bits": 12'), encoding="utf-8")
    with pytest.raises(UserError, match=r"index\.json was altered"):
        LocalIndex.open(tmp_path)
    assert len(LocalIndex.create(tmp_path, 16)) == 0  # a damaged index can be made anew


def test_other_directories_are_not_written_into(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a directory"):
        LocalIndex.open(tmp_path / "none")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.jpg").touch()
    with pytest.raises(UserError, match=r"holds 'a\.jpg'"):
        LocalIndex.create(tmp_path / "photos", 8)
    with pytest.raises(UserError, match="is a file"):
        LocalIndex.create(tmp_path / "photos" / "a.jpg", 8)
    old = {"format": "drlh-index", "version": 1, "codes": "codes-0.npz", "sha256": "", "notes": {}}
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "index.json").write_text(json.dumps(old), encoding="utf-8")
    with pytest.raises(UserError, match="made by an older drlh: rebuild it"):
        LocalIndex.open(tmp_path / "old")
