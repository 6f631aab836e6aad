"""The paper's tables with our numbers in them."""

from collections.abc import Callable
from pathlib import Path

from drlh.bench.records import read_records
from drlh.report.grid import Grid
from drlh.report.paper_grids import paper_grids

Leave = Callable[..., None]


def rows_of(grid: Grid) -> dict[str, list[str]]:
    return {row[0]: list(row[1:]) for row in grid.rows}


def test_a_row_holds_ours_the_papers_and_the_difference(leave: Leave, tmp_path: Path) -> None:
    for seed, value in enumerate((0.80, 0.82)):
        leave("drlh", 16, value, seed=seed)
    leave("greedyhash", 16, 0.7)
    leave("topline", 0, 0.9, accuracy=0.875)
    cifar, nuswide = paper_grids("cnn", read_records(tmp_path))
    rows = rows_of(cifar)
    assert rows["**DRLH**"] == ["0.810 ± 0.014 (0.761, +0.049)", "– (0.812)", "– (0.845)", "– (0.868)", "2"]
    assert rows["GreedyHash"] == ["0.700", "–", "–", "–", "1"]  # not in the paper's table
    assert rows["topline: posteriors, no code"] == ["0.900"] * 4 + ["1"]
    assert rows["accuracy of the classifier"] == ["0.875"] * 4 + ["1"]
    assert list(rows)[:9] == ["SH", "ITQ", "LFH", "KSH", "SDH", "FastH", "TALR-AP", "HBMP", "**DRLH**"]
    assert "CNN-F" in cifar.notes[0]
    assert "Not run: NUS-WIDE was not at hand" in nuswide.notes[0]
    assert rows_of(nuswide)["ITQ"][0] == "– (0.719)"


def test_features_and_protocol_decide_the_table(leave: Leave, tmp_path: Path) -> None:
    leave("itq", 24, 0.17, data="cifar10_gist", n_features=512)
    leave("itq", 24, 0.48)
    leave("itq", 24, 0.5, protocol="cifar10-II", database_labels_used=True)
    leave("itq", 24, 0.18, data="cifar10_gist", protocol="cifar10-II", n_features=512)  # in no table of the paper
    leave("itq", 24, 0.46, data="nus", protocol="nuswide21-I", n_features=1134)
    leave("itq", 24, 0.74, data="nuswide", protocol="nuswide21-I")  # its name tells the data, not the features
    leave("itq", 24, 0.99, data="digits", protocol="split")
    records = read_records(tmp_path)
    first = {
        name: [rows_of(grid).get("ITQ", rows_of(grid).get("itq", ["–"] * 4))[1] for grid in paper_grids(name, records)]
        for name in ("traditional", "cnn", "deep")
    }
    assert first["traditional"] == ["0.170 (0.169, +0.001)", "0.460 (0.468, −0.008)"]
    assert first["cnn"] == ["0.480 (0.246, +0.234)", "0.740 (0.739, +0.001)"]
    assert first["deep"] == ["0.500", "–"]
    assert (
        paper_grids("deep", records)[0].notes[-1] == "Supervised methods have seen the labels of the images searched."
    )


def test_other_features_add_a_table_of_what_was_run(leave: Leave, tmp_path: Path) -> None:
    leave("drlh", 16, 0.9, data="better")
    for method in ("drlh", "itq"):
        leave(method, 16, 0.8, data="usual")
    usual, better, _ = paper_grids("cnn", read_records(tmp_path))
    assert (next(iter(rows_of(usual))), len(rows_of(usual))) == ("SH", 9)
    assert list(rows_of(better)) == ["**DRLH**"]
    assert (usual.title.count("usual"), better.title.count("better")) == (0, 1)


def test_a_search_of_the_training_images_alone_stands_below_that_of_all(leave: Leave, tmp_path: Path) -> None:
    for protocol, methods in (("cifar10-I-train", ("drlh", "itq")), ("cifar10-I", ("drlh",))):
        for method in methods:
            leave(method, 12, 0.5, data="cifar10_gist", n_features=512, protocol=protocol)
    whole, train, _ = paper_grids("traditional", read_records(tmp_path))
    assert (whole.title.split()[-1], train.title.split()[-2]) == ("cifar10-I", "cifar10-I-train,")
    assert (next(iter(rows_of(whole))), list(rows_of(train))) == ("SH", ["ITQ", "**DRLH**"])


def test_parameters_set_a_record_apart_from_the_plain_method(leave: Leave, tmp_path: Path) -> None:
    leave("drlh", 16, 0.8)
    leave("drlh", 16, 0.1, parameters={"gamma": 0.0})
    leave("drlh-paper", 16, 0.1)
    rows = rows_of(paper_grids("cnn", read_records(tmp_path))[0])
    assert rows["**DRLH**"][0].startswith("0.800 (")
    assert rows["DRLH (paper)"][0] == "0.100"
    assert "bce on the paper's codewords" not in rows


def test_a_row_with_parameters_of_its_own_stands_below_the_methods(leave: Leave, tmp_path: Path) -> None:
    leave("drlh", 16, 0.8)
    leave("bce", 16, 0.6)
    leave("bce", 16, 0.7, parameters={"codebook": "bch-paper"})
    rows = rows_of(paper_grids("cnn", read_records(tmp_path))[0])
    assert (rows["bce"][0], rows["bce on the paper's codewords"][0]) == ("0.600", "0.700")


def test_curves_stand_beside_the_papers_and_quick_epochs_are_the_same_row(leave: Leave, tmp_path: Path) -> None:
    leave("drlh-paper", 16, 0.2, parameters={"eta": 0})
    leave("drlh-paper", 16, 0.3, parameters={"eta": 1, "n_epochs": 8})
    (grid,) = paper_grids("eta", read_records(tmp_path))
    assert rows_of(grid) == {"η = 0": ["0.200 (0.917, −0.717)"], "η = 1": ["0.300 (0.945, −0.645)"]}
    (steps,) = paper_grids("steps", read_records(tmp_path))
    assert steps.notes[0].startswith("Not run")
    assert rows_of(steps)["128"] == ["– (0.949)", "– (0.948)", "– (0.807)", "– (0.847)"]


def test_the_ablation_shows_lengths_at_which_something_was_varied(leave: Leave, tmp_path: Path) -> None:
    for n_bits in (16, 24):
        leave("drlh", n_bits, 0.8)
        leave("drlh", n_bits, 0.9, seed=1)  # which the other row does not have
    leave("drlh", 16, 0.7, parameters={"codebook_adaptation": 0.0})
    (grid,) = paper_grids("ablation", read_records(tmp_path))
    assert list(grid.columns) == ["DRLH", "16 bits"]
    assert rows_of(grid) == {"default": ["0.800"], "codebook stays BCH": ["0.700"]}
