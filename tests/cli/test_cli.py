"""The verbs as a person or a program uses them."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from PIL import Image

from drlh.bench.records import read_records
from drlh.cli import main
from drlh.core.files import read_npz
from drlh.serve.service import Service
from drlh.serve.settings import ServiceSettings, parse_pair


class Outcome(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)


Run = Callable[..., Outcome]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Runs `drlh …` in this process with a cache of its own."""
    monkeypatch.setenv("DRLH_CACHE", str(tmp_path / "cache"))

    def call(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["drlh", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        captured = capsys.readouterr()
        return Outcome(int(stop.value.code or 0), captured.out, captured.err)

    return call


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """A folder of 3 × 20 small pictures: stripes across, stripes down, and dots, with noise."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:32, :32]
    patterns = {"across": y % 8 < 4, "down": x % 8 < 4, "dots": (x % 8 < 4) & (y % 8 < 4)}
    for name, pattern in patterns.items():
        (tmp_path / "photos" / name).mkdir(parents=True)
        for number in range(20):
            shifted = np.roll(pattern, tuple(rng.integers(0, 8, 2)), (0, 1))
            noisy = 60 + 120 * shifted[..., None] + rng.normal(0, 20, (32, 32, 3))
            picture = Image.fromarray(noisy.clip(0, 255).astype(np.uint8))
            picture.save(tmp_path / "photos" / name / f"{number:02}.png")
    return tmp_path / "photos"


def feature_file(path: Path, n: int = 120) -> Path:
    rng = np.random.default_rng(0)
    labels = np.arange(n) % 4
    np.savez(path, x=rng.normal(size=(4, 12))[labels] * 3 + rng.normal(size=(n, 12)), y=labels)
    return path


def test_methods_as_json_lists_name_family_supervision_and_reference(run: Run) -> None:
    found = run("methods", "--json").json
    names = [method["name"] for method in found]
    assert {"itq", "lsh", "onehot", "score-lsh"} <= set(names)
    assert names[-1] == "topline"
    assert all(set(method) == {"name", "title", "family", "supervised", "reference"} for method in found)
    assert {"name": "dqn", "title": "Deep Quantization Network"}.items() <= found[names.index("dqn")].items()
    table = run("methods").out
    assert all(name in table for name in names)


def test_from_a_folder_of_photos_to_search_hits(run: Run, photos: Path, tmp_path: Path) -> None:
    features, model, codes, index = (tmp_path / name for name in ("f.npz", "m", "c.npz", "i"))
    made = run("features", "--data", photos, "--features", "gist", "-o", features, "--json").json
    assert (made["rows"], made["n_features"]) == (60, 512)
    fitted = run("fit", "--method", "itq", "--bits", 16, "--data", features, "-o", model, "--json").json
    assert (fitted["method"], fitted["bits"], fitted["n_train"]) == ("itq", 16, 60)
    encoded = run("encode", model, "--data", photos, "-o", codes, "--json").json
    assert (encoded["rows"], encoded["bits"]) == (60, 16)
    assert run("index", codes, "--index", index, "--json").json["rows"] == 60
    (result,) = run("search", photos / "down" / "03.png", "--index", index, "--model", model, "-k", 5, "--json").json
    assert len(result["hits"]) == 5
    nearest = [hit for hit in result["hits"] if hit["distance"] == 0]
    assert "down/03.png" in {hit["name"] for hit in nearest}
    assert all(hit["labels"] == ["down"] for hit in result["hits"][:3])
    assert "down/03.png" in run("search", photos / "down" / "03.png", "--index", index, "--model", model).out


def make_index(run: Run, photos: Path, tmp_path: Path, engine: object) -> tuple[Path, Path]:
    """A model and codes of the photos, loaded into `engine`."""
    model, codes = tmp_path / "m", tmp_path / "c.npz"
    run("fit", "--method", "itq", "--bits", 12, "--data", photos, "--features", "gist", "-o", model)
    run("encode", model, "--data", photos, "-o", codes)
    assert run("index", codes, "--index", engine, "--json").json["rows"] == 60
    return model, codes


def test_an_index_is_added_to_searched_by_radius_shown_and_thinned(run: Run, photos: Path, tmp_path: Path) -> None:
    place, page = tmp_path / "i", tmp_path / "hits.html"
    model, codes = make_index(run, photos, tmp_path, place)
    assert run("index", codes, "--index", place, "--json").json["rows"] == 60  # once more changes nothing
    assert run("index", codes, "--index", place, "--first-id", 60, "--json").json["rows"] == 120
    photo = photos / "down" / "03.png"
    found = ("search", photo, "--index", place, "--model", model)
    (result,) = run(*found, "--radius", 0, "--html", page, "--images", photos, "--json").json
    twins = {hit["id"] for hit in result["hits"] if hit["name"] == "down/03.png"}
    assert twins == {43, 103}
    assert all(hit["distance"] == 0 for hit in result["hits"])
    assert page.read_text(encoding="utf-8").count("<img") == 1 + len(result["hits"])
    assert "no picture" not in page.read_text(encoding="utf-8")
    thinned = run("remove", 43, 99_999, "--index", place, "--json").json
    assert thinned == {"index": str(place), "removed": 1, "rows": 119}
    (result,) = run(*found, "--radius", 0, "--json").json
    assert {hit["id"] for hit in result["hits"] if hit["name"] == "down/03.png"} == {103}
    assert "1 removed" in run("remove", 103, "--index", place).out
    outcome = run(*found, "--images", tmp_path / "nowhere")
    assert (outcome.code, "is not a folder" in outcome.err) == (2, True)


def test_codes_go_to_parquet_or_straight_into_an_index(run: Run, photos: Path, tmp_path: Path) -> None:
    model, _ = make_index(run, photos, tmp_path, tmp_path / "i")
    found = ("search", photos / "down" / "03.png", "--model", model, "-k", 60, "--json", "--index")
    hits = run(*found, tmp_path / "i").json
    made = run("encode", model, "--data", photos, "-o", tmp_path / "c.parquet", "--workers", 2, "--json").json
    assert (made["rows"], made["bits"]) == (60, 12)
    assert run("index", tmp_path / "c.parquet", "--index", tmp_path / "p", "--json").json["rows"] == 60
    made = run("encode", model, "--data", photos, "--index", tmp_path / "s", "--json").json
    assert (made["index"], made["rows"]) == (str(tmp_path / "s"), 60)
    assert run(*found, tmp_path / "p").json == hits
    assert run(*found, tmp_path / "s").json == hits
    assert "60 codes of 12 bits" in run("encode", model, "--data", photos, "--index", tmp_path / "s").out
    other = run("encode", model, "--data", photos / "dots", "--index", tmp_path / "s")
    assert (other.code, "--first-id" in other.err, "--replace" in other.err) == (2, True, True)
    assert run("encode", model, "--data", photos / "dots", "--index", tmp_path / "s", "--replace").code == 0


def test_the_page_shows_pictures_of_a_named_set(run: Run, tmp_path: Path) -> None:
    from drlh.data import load

    images = load("digits").images
    assert images is not None
    Image.fromarray(images.read(0)).save(tmp_path / "0.png")
    model, page = tmp_path / "m", tmp_path / "hits.html"
    run("fit", "--method", "lsh", "--bits", 12, "--data", "digits", "--features", "gray8", "-o", model)
    run("encode", model, "--data", "digits", "--index", tmp_path / "i")
    (result,) = run(
        "search", tmp_path / "0.png", "--index", tmp_path / "i", "--model", model, "--html", page, "--json"
    ).json
    assert result["hits"][0]["distance"] == 0
    assert page.read_text(encoding="utf-8").count("<img") == 11


def test_an_approximate_index_tells_its_measured_recall(run: Run, photos: Path, tmp_path: Path) -> None:
    _, codes = make_index(run, photos, tmp_path, tmp_path / "i")
    made = run("index", codes, "--index", tmp_path / "a", "--approximate", "ivf", "--json").json
    assert (made["approximate"], made["recall"]) == ("ivf", 1.0)  # so few codes are scanned
    assert "recall@100 1.0000" in run("index", codes, "--index", tmp_path / "a").out
    outcome = run("index", codes, "--index", tmp_path / "i", "--approximate", "hnsw")
    assert (outcome.code, "was not made for hnsw" in outcome.err) == (2, True)


def test_codes_of_another_model_are_refused_unless_they_replace(run: Run, photos: Path, tmp_path: Path) -> None:
    _, codes = make_index(run, photos, tmp_path, tmp_path / "i")
    other = tmp_path / "other"
    run("fit", "--method", "lsh", "--bits", 12, "--data", photos, "--features", "gist", "-o", other)
    run("encode", other, "--data", photos, "-o", codes)
    outcome = run("search", photos / "down" / "03.png", "--index", tmp_path / "i", "--model", other)
    assert (outcome.code, "were not made with" in outcome.err) == (2, True)
    outcome = run("index", codes, "--index", tmp_path / "i")
    assert (outcome.code, "codes of another model" in outcome.err) == (2, True)
    assert run("index", codes, "--index", tmp_path / "i", "--replace", "--json").json["rows"] == 60
    assert run("search", photos / "down" / "03.png", "--index", tmp_path / "i", "--model", other).code == 0


@pytest.mark.parametrize("engine", ["postgres", "milvus"])
def test_a_photo_is_searched_in_an_engine(
    run: Run, photos: Path, tmp_path: Path, engine: str, request: pytest.FixtureRequest
) -> None:
    address = request.getfixturevalue(f"{engine}_address")
    model, codes = make_index(run, photos, tmp_path, address)
    assert run("index", codes, "--index", address, "--json").json["rows"] == 60
    search = ("search", photos / "down" / "03.png", "--index", address, "--model", model, "--json")
    (result,) = run(*search, "-k", 60).json
    make_index(run, photos, tmp_path, tmp_path / "i")
    (ours,) = run(
        "search", photos / "down" / "03.png", "--index", tmp_path / "i", "--model", model, "-k", 60, "--json"
    ).json
    assert result == ours
    assert run("remove", 23, "--index", address, "--json").json["rows"] == 59


def test_codes_from_images_and_from_their_feature_file_are_the_same(run: Run, photos: Path, tmp_path: Path) -> None:
    run("features", "--data", photos, "--features", "gist", "-o", tmp_path / "f.npz")
    run("fit", "--bits", 24, "--data", tmp_path / "f.npz", "-o", tmp_path / "m", "--method", "itq")
    run("encode", tmp_path / "m", "--data", photos, "-o", tmp_path / "a.npz")
    run("encode", tmp_path / "m", "--data", tmp_path / "f.npz", "-o", tmp_path / "b.npz")
    packed = [read_npz(tmp_path / name)["packed"] for name in ("a.npz", "b.npz")]
    np.testing.assert_array_equal(*packed)
    names = [read_npz(tmp_path / name)["names"].tolist() for name in ("a.npz", "b.npz")]
    assert names[0] == names[1]


def test_photos_without_classes_are_encoded_and_searched(run: Run, photos: Path, tmp_path: Path) -> None:
    flat = photos / "dots"
    model, codes, index = (tmp_path / name for name in ("m", "c.npz", "i"))
    assert run("fit", "--method", "itq", "--bits", 8, "--data", flat, "--features", "gist", "-o", model).code == 0
    assert run("encode", model, "--data", flat, "-o", codes).code == 0
    assert run("index", codes, "--index", index).code == 0
    (result,) = run("search", flat / "05.png", "--index", index, "--model", model, "-k", 1, "--json").json
    assert result["hits"][0]["distance"] == 0
    outcome = run("evaluate", codes)
    assert outcome.code == 2
    assert "one class only" in outcome.err


def test_a_cnn_is_taught_and_begins_a_code_or_makes_features(run: Run, photos: Path, tmp_path: Path) -> None:
    weights, model = tmp_path / "cnn.safetensors", tmp_path / "m"
    few = ("--set", "n_epochs=2", "--set", "batch_size=16")
    split = ("--protocol", "split", "--n-query", 15)
    taught = run(
        "pretrain", "--data", photos, "-o", weights, *split, *few, "--set", "learning_rate=0.1", "--json"
    ).json  # fmt: skip
    assert (taught["n_train"], taught["n_test"], taught["recipe"]["n_epochs"]) == (45, 15, 2)
    assert 0 <= taught["test_accuracy"] <= 1
    begun = ("--set", "backbone=cnn-small", "--set", f"backbone_weights={weights}")
    assert run("fit", "--data", photos, "-o", model, "--bits", 12, "--method", "greedyhash", *begun, *few).code == 0
    assert run("encode", model, "--data", photos, "-o", tmp_path / "c.npz", "--json").json["rows"] == 60
    made = run(
        "features", "--data", photos, "--features", "gray4+cnn-small", "--weights", weights, "-o", tmp_path / "f.npz"
    )
    assert "272 features" in made.out


def test_a_cnn_left_in_the_cache_is_found_by_name(run: Run, photos: Path, tmp_path: Path) -> None:
    missing = run("features", "--data", photos, "--features", "cnn-small", "-o", tmp_path / "f.npz")
    assert missing.code == 2
    assert "drlh pretrain" in missing.err
    assert run("pretrain", "--data", photos, "--set", "n_epochs=1", "--set", "batch_size=20").code == 0
    assert run("features", "--data", photos, "--features", "cnn-small", "-o", tmp_path / "f.npz").code == 0


def test_three_commands_lead_from_photos_to_an_evaluated_code(run: Run, photos: Path, tmp_path: Path) -> None:
    options = ("--protocol", "split", "--n-query", 15)
    assert (
        run("fit", "--data", photos, "--features", "gist", "--method", "itq", "-o", tmp_path / "m", *options).code == 0
    )
    assert run("encode", tmp_path / "m", "--data", photos, "-o", tmp_path / "c.npz").code == 0
    scores = run("evaluate", tmp_path / "c.npz", *options, "--json").json
    assert scores["n_query"] == 15
    assert scores["map_worst"] <= scores["map"] <= scores["map_best"]
    assert scores["map"] > 0.6  # three classes: chance is a third
    assert scores["warnings"] == []


def test_a_fit_with_checkpoints_can_be_taken_up(run: Run, tmp_path: Path) -> None:
    data = feature_file(tmp_path / "f.npz")
    options = ("--data", data, "--method", "drlh", "--bits", 8, "--set", "n_epochs=2", "--resume", tmp_path / "steps")
    for name in ("a", "b"):
        assert run("fit", *options, "-o", tmp_path / name).code == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    outcome = run("fit", *options, "--seed", 1, "-o", tmp_path / "c")
    assert outcome.code == 2
    assert "another run" in outcome.err or "other data, parameters or seed" in outcome.err


def test_evaluating_a_model_on_its_own_training_rows_is_said(run: Run, tmp_path: Path) -> None:
    data = feature_file(tmp_path / "f.npz")
    run("fit", "--data", data, "-o", tmp_path / "m", "--method", "itq")
    run("encode", tmp_path / "m", "--data", data, "-o", tmp_path / "c.npz")
    assert "fitted on all of these rows" in run("evaluate", tmp_path / "c.npz").err


def test_codes_made_elsewhere_are_evaluated(run: Run, tmp_path: Path) -> None:
    codes = np.array([[0, 0, 0, 1], [0, 0, 1, 1], [1, 1, 1, 1]])
    np.savez(
        tmp_path / "theirs.npz",
        query_codes=codes[:1],
        query_labels=[0],
        database_codes=codes[1:],
        database_labels=[1, 0],
    )
    scores = run("evaluate", tmp_path / "theirs.npz", "--json").json
    assert scores["map"] == 0.5
    assert scores["precision@1"] == 0.0


def test_bench_gives_one_record_a_cell(run: Run, tmp_path: Path) -> None:
    data = feature_file(tmp_path / "f.npz")
    options = ("--data", data, "--protocol", "split", "--n-query", 30, "--methods", "itq,lsh", "--bits", "8,16")
    records = run("bench", *options, "--seeds", "0,1", "--json").json
    assert len(records) == 8
    assert {record["protocol"] for record in records} == {"split"}
    table = run("bench", *options).out
    assert "itq" in table
    assert "30 queries" in table


def test_bench_sets_a_reference_line_beside_the_codes(run: Run, tmp_path: Path) -> None:
    data, records = feature_file(tmp_path / "f.npz"), tmp_path / "records"
    options = ("--data", data, "--n-query", 30, "--methods", "lsh,topline", "--bits", "8,16", "--records", records)
    found = run("bench", *options, "--json").json
    assert [(record["method"], record["bits"]) for record in found] == [("lsh", 8), ("lsh", 16), ("topline", 0)]
    assert found[-1]["map"] > max(record["map"] for record in found[:-1])
    assert found[-1]["accuracy"] > 0.9
    assert run("bench", *options, "--json").json == found  # times included: taken from the records
    assert len(read_records(records)) == 3
    shown = run("bench", *options)
    (line,) = [line.split() for line in shown.out.splitlines() if line.startswith("topline")]
    assert line[1:4] == ["-", "0", f"{found[-1]['map']:.4f}"]
    assert "own ranking" not in shown.out
    assert f"stands for every length, classifier's accuracy {found[-1]['accuracy']:.4f}" in shown.err


def test_bench_shows_a_methods_own_ranking_in_a_column_of_its_own(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from drlh.hashers.classic.lsh import LSH

    for name in ("query_vectors", "database_vectors"):
        monkeypatch.setattr(LSH, name, lambda self, X: self.transform(X) - 0.5, raising=False)
    options = ("--data", feature_file(tmp_path / "f.npz"), "--n-query", 30, "--methods", "lsh,itq", "--bits", 8)
    rows = [line.split() for line in run("bench", *options).out.splitlines()[1:]]
    assert rows[0][3:6] == ["map", "own", "ranking"]
    assert rows[1][3] == rows[1][4]  # the signs of a code rank as its Hamming distance does
    assert rows[2][4] == "-"


def test_bench_paper_runs_a_table_and_report_shows_it(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from drlh.paper.tables import TABLES, Panel, Row, Table

    panel = Panel("digits", "split", (8, 16), n_query=30)
    small = Table("small", "", (panel,), (panel,), lambda n_bits: [Row("ITQ", "itq"), Row("LSH", "lsh")])
    monkeypatch.setitem(TABLES, "small", small)
    data, records = feature_file(tmp_path / "f.npz"), tmp_path / "runs"
    options = ("bench", "paper", "--table", "small", "--data", f"digits={data}", "--records", records, "--seeds", "0")
    planned = run(*options, "--dry-run", "--json").json
    assert (planned["cells"], planned["known"], records.exists()) == (4, 0, False)
    done = run(*options, "--workers", 1, "--json").json
    assert (done["cells"], done["failures"], len(read_records(records))) == (4, [], 4)
    again = run(*options)
    assert again.code == 0
    assert "0 cells to run, 4 known" in again.err
    report = run("report", "--records", records, "-o", tmp_path / "report", "--json").json
    page = Path(report["page"]).read_text(encoding="utf-8")
    assert "30 queries" in page
    assert "<svg" in page
    assert "itq" in Path(report["tables"]).read_text(encoding="utf-8")
    marked = tmp_path / "page.md"
    marked.write_text("<!-- drlh report: results -->\n<!-- end -->\n", encoding="utf-8")
    assert run("report", "--records", records, "--fill", marked, "--json").json["changed"] == [str(marked)]
    assert "| itq |" in marked.read_text(encoding="utf-8")
    assert run("report", "--records", records, "--fill", marked, "--json").json["changed"] == []


def test_bench_on_digits_needs_nothing_but_the_name(run: Run) -> None:
    options = ("--data", "digits", "--protocol", "split", "--n-query", 200, "--n-train", 500)
    (record,) = run("bench", *options, "--methods", "itq", "--json").json
    assert (record["n_query"], record["n_train"], record["n_database"]) == (200, 500, 1597)
    assert record["map"] > 0.3


def test_data_list_and_info(run: Run, photos: Path) -> None:
    names = {row["name"] for row in run("data", "list", "--json").json}
    assert {"digits", "cifar10", "fashion-mnist", "nuswide21", "voc2007"} <= names
    assert "digits" in run("data", "list").out
    info = run("data", "info", photos, "--json").json
    assert info["rows"] == 60
    assert "across" in run("data", "info", photos).out


def test_a_broken_photo_is_one_sentence_and_skip_bad_goes_on(run: Run, photos: Path, tmp_path: Path) -> None:
    (photos / "dots" / "07.png").write_bytes(b"not a picture")
    wanted = ("features", "--data", photos, "--features", "gist", "-o", tmp_path / "f.npz")
    outcome = run(*wanted)
    assert outcome.code == 2
    assert "07.png" in outcome.err
    assert not (tmp_path / "f.npz").exists()
    outcome = run(*wanted, "--skip-bad", "--json")
    assert outcome.json["rows"] == 59
    assert "left out 1 rows" in outcome.err


def test_encoding_leaves_broken_photos_out_and_keeps_names_beside_their_codes(
    run: Run, photos: Path, tmp_path: Path
) -> None:
    model = tmp_path / "m"
    run("fit", "--method", "lsh", "--bits", 24, "--data", photos, "--features", "gist", "-o", model)
    run("encode", model, "--data", photos, "-o", tmp_path / "whole.npz")
    (photos / "dots" / "07.png").write_bytes(b"not a picture")
    assert run("encode", model, "--data", photos, "-o", tmp_path / "c.npz").code == 2
    assert not (tmp_path / "c.npz").exists()
    outcome = run("encode", model, "--data", photos, "-o", tmp_path / "c.npz", "--skip-bad", "--json")
    assert outcome.json["rows"] == 59
    whole, rest = read_npz(tmp_path / "whole.npz"), read_npz(tmp_path / "c.npz")
    kept = whole["names"] != "dots/07.png"
    for member in ("packed", "labels", "names"):
        np.testing.assert_array_equal(rest[member], whole[member][kept])


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("fit", "--data", "nowhere.npz", "-o", "m"), "nowhere.npz"),
        (("fit", "--data", "FILE", "-o", "m", "--method", "itqq"), "did you mean 'itq'"),
        (("fit", "--data", "FILE", "-o", "m", "--method", "topline"), "topline makes no codes"),
        (("bench", "--data", "FILE", "--methods", "itq,toplin"), "did you mean 'topline'"),
        (("fit", "--data", "FILE", "-o", "m", "--bits", "0"), "at least 1"),
        (("fit", "--data", "FILE", "-o", "m", "--set", "n_iterations"), "NAME=VALUE"),
        (("fit", "--data", "FILE", "-o", "m", "--set", "depth=3"), "no parameter 'depth'"),
        (("fit", "--data", "digits", "-o", "m", "--features", "gistt"), "gist"),
        (("fit", "--data", "FILE", "-o", "m", "--method", "itq", "--resume", "c"), "keeps no checkpoints"),
        (("fit", "--data", "ONE", "-o", "m", "--method", "itq"), "1 sample(s)"),
        (("fit", "--data", "ONE", "-o", "m"), "1 sample(s)"),
        (("bench", "--data", "FILE", "--bits", "a,b"), "whole numbers"),
        (("bench",), "--data"),
        (("bench", "paper", "--table", "tables"), "there is no table"),
        (("bench", "paper", "--data", "FILE"), "ROLE=FILE"),
        (("bench", "paper", "--seeds", "x"), "whole numbers"),
        (("bench", "paper", "--workers", "0"), "at least 1"),
        (("bench", "paper", "--weights", "nowhere.safetensors"), "nowhere.safetensors does not exist"),
        (("bench", "paper", "--weights", "FILE"), "does not hold the weights of cnn-small"),
        (("report", "--records", "none"), "not a directory"),
        (("bench", "--data", "FILE", "--protocol", "cifar-I"), "cifar10-I"),
        (("pretrain", "--data", "digits", "--backbone", "cnn-smal", "-o", "m"), "cnn-small"),
        (("pretrain", "--data", "digits", "--set", "epochs=3", "-o", "m"), "n_epochs"),
        (("pretrain", "--data", "digits", "--set", "n_epochs=many", "-o", "m"), "got 'many'"),
        (("pretrain", "--data", "digits", "--weights", "nowhere.pth", "-o", "m"), "nowhere.pth"),
        (("fit", "--data", "digits", "-o", "m", "--set", "backbone=lite0"), "cnn-small"),
        (("fit", "--data", "ODD", "-o", "m", "--set", "backbone=nin"), "13 columns"),
        (("bench", "--data", "FILE", "--protocol", "cifar10-I"), "split"),
        (("encode", "nowhere", "--data", "FILE", "-o", "c.npz"), "nowhere"),
        (("encode", "m", "--data", "FILE"), "one place to go"),
        (("encode", "m", "--data", "FILE", "-o", "c.npz", "--index", "i"), "one place to go"),
        (("encode", "m", "--data", "FILE", "-o", "c.npz", "--workers", "0"), "at least 1"),
        (("encode", "m", "--data", "FILE", "-o", "c.npz", "--backend", "milvus"), "local or ray"),
        (("encode", "m", "--data", "FILE", "-o", "c.npz", "--backend", "ray", "--workers", "0"), "at least 1"),
        (("encode", "m", "--data", "FILE", "-o", "c.npz", "--ray-address", "auto"), "needs the backend ray"),
        (("index", "nowhere.parquet", "--index", "i"), "holds no codes"),
        (("index", "nowhere.npz", "--index", "i"), "nowhere.npz"),
        (("index", "FILE", "--index", "i"), "not a file of codes"),
        (("search", "a.jpg", "--index", "nowhere", "--model", "m"), "nowhere is not a directory"),
        (("search", "a.jpg", "--index", "http://host", "--model", "m"), "no engine answers to http://host"),
        (("evaluate", "FILE"), "query_codes"),
        (("data", "info", "cifar"), "cifar10"),
        (("data", "fetch", "digit"), "digits"),
    ],
)
def test_a_mistake_is_one_sentence_with_exit_code_2(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], complaint: str
) -> None:
    monkeypatch.chdir(tmp_path)
    file = feature_file(tmp_path / "f.npz")
    np.savez(tmp_path / "one.npz", x=np.ones((1, 2)), y=[0])
    np.savez(tmp_path / "odd.npz", x=np.ones((4, 13)), y=[0, 0, 1, 1])
    before = sorted(os.listdir(tmp_path))
    places = {"FILE": str(file), "ONE": str(tmp_path / "one.npz"), "ODD": str(tmp_path / "odd.npz")}
    outcome = run(*(places.get(argument, argument) for argument in arguments))
    assert outcome.code == 2
    assert complaint in outcome.err
    assert outcome.err.count("\n") == 1
    assert outcome.out == ""
    assert sorted(os.listdir(tmp_path)) == before


def test_every_verb_has_help_with_an_example(run: Run) -> None:
    verbs = ("demo", "methods", "features", "pretrain", "fit", "encode", "index", "search", "remove", "evaluate")
    verbs += ("bench", "report", "serve")
    for verb in [(verb,) for verb in verbs] + [("data", verb) for verb in ("list", "info", "fetch")]:
        outcome = run(*verb, "--help")
        assert outcome.code == 0
        assert f"Example: drlh {' '.join(verb)}" in outcome.out


def test_the_command_is_installed_and_starts_quickly() -> None:
    result = subprocess.run(
        [Path(sys.executable).parent / "drlh", "--version"], capture_output=True, text=True, check=True
    )
    assert result.stdout.startswith("drlh 0.")


def test_the_demo_writes_a_page_with_pictures_and_can_be_served(run: Run, tmp_path: Path) -> None:
    result = run("demo", "-o", tmp_path / "demo", "--json").json
    page = Path(result["page"]).read_text(encoding="utf-8")
    assert page.count("<img") == 110  # ten queries with ten hits each
    assert page.count('class="good"') > 70
    assert "https://" not in page
    assert all(record["map"] > 0.2 for record in result["records"])
    offered = ServiceSettings(Path(result["model"]), result["index"], compare=(parse_pair(result["compare"]),))
    service = Service(offered)
    try:
        drlh, itq = (deployment.index for deployment in service.deployments)
        assert [deployment.model.method for deployment in service.deployments] == ["drlh", "itq"]
        ids = list(range(1297))
        details = drlh._reader.describe(ids)
        assert details == itq._reader.describe(ids)
        assert all(detail and service.pictures.thumbnail_url(number, detail) for number, detail in zip(ids, details))
    finally:
        service.close()


def test_the_demo_ends_with_a_command_that_serves_what_it_made(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    made = {"records": [], "page": "d/index.html", "model": "d/drlh.model", "index": "d/index", "compare": "d/i=d/x"}
    monkeypatch.setattr("drlh.cli.demo.run_demo", lambda out, progress: made)
    assert run("demo").out.endswith(": drlh serve d/drlh.model --index d/index --compare d/i=d/x\n")
