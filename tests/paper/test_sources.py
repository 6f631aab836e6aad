"""Roles and the three ways to use a CNN."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from drlh.bench.pretraining import pretrain_backbone
from drlh.bench.records import read_records
from drlh.cnn.backbones import Body, save_cnn
from drlh.core.errors import UserError
from drlh.paper.jobs import do_job
from drlh.paper.plan import make_plan
from drlh.paper.sources import AvailableData, Source
from drlh.paper.tables import CNN_ROLES, Panel, Row, Table
from drlh.report.paper_grids import paper_grids


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:32, :32]
    for name, pattern in {"across": y % 8 < 4, "down": x % 8 < 4}.items():
        (tmp_path / "photos" / name).mkdir(parents=True)
        for number in range(20):
            noisy = 60 + 120 * pattern[..., None] + rng.normal(0, 20, (32, 32, 3))
            Image.fromarray(noisy.clip(0, 255).astype(np.uint8)).save(tmp_path / "photos" / name / f"{number:02}.png")
    return tmp_path / "photos"


def test_one_cnn_is_used_as_it_came_finetuned_and_with_the_codes(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRLH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("drlh.cnn.small.RECIPE", {"n_epochs": 1, "batch_size": 16, "learning_rate": 0.1, "weight_decay": 0.0, "momentum": 0.8})  # fmt: skip  # noqa: E501
    weights, records = tmp_path / "cnn.safetensors", tmp_path / "runs"
    available = AvailableData({"pictures": str(photos)}, weights)
    pixels = Source(str(photos), "pixels32", label="elsewhere")
    pretrain_backbone(pixels.open(), "cnn-small", weights)
    panels = tuple(Panel(role, "split", (8,), n_query=10) for role in CNN_ROLES)
    table = Table("cnn-update", "", panels, (), lambda n_bits: [Row("DRLH", "drlh", {"n_epochs": 1})])
    plan = make_plan([table], available, [0], records)
    assert plan.left_out == []
    for job in plan.jobs:
        do_job(job, records, 1)
    found = read_records(records)
    assert sorted(record["data"] for record in found) == sorted(f"photos-{role}" for role in CNN_ROLES)
    joint = next(record for record in found if record["data"].endswith("joint"))
    assert joint["parameters"]["backbone_weights"].startswith("cnn.safetensors ")  # by content, not by where it lies
    assert str(tmp_path) not in str({key: value for key, value in joint.items() if key != "place"})
    (tuned,) = (tmp_path / "cache" / "experiments").glob("*.safetensors")
    assert tuned.read_bytes() != weights.read_bytes()
    before = tuned.stat().st_mtime_ns
    assert make_plan([table], available, [0], records).n_known == 3
    assert tuned.stat().st_mtime_ns == before  # made once
    (grid,) = paper_grids("cnn-update", found)
    assert [row[0] for row in grid.rows] == [
        "as it came", "taught to classify the training images", "learned with the codes"
    ]  # fmt: skip


def test_a_cnn_that_may_have_seen_the_queries_is_refused(photos: Path, tmp_path: Path) -> None:
    weights, panel = tmp_path / "cnn.safetensors", Panel("cnn-joint", "split", (8,), n_query=10)
    mine = {"protocol": "split", "seed": 0, "n_query": 10, "n_train": None}
    available = AvailableData({"pictures": str(photos)}, weights)
    for data, split, seen in (("photos", None, True), ("photos", mine, False), ("others", None, False)):
        save_cnn(weights, Body("cnn-small", 3 * 32**2), {"data": data, "split": split})
        if seen:
            with pytest.raises(UserError, match="maybe queries"):
                available.find(panel, 0)
        else:
            available.find(panel, 0)
    save_cnn(weights, Body("cnn-small", 3 * 32**2), {"data": "photos", "split": mine})
    with pytest.raises(UserError, match="seed 1"):
        available.find(panel, 1)
    weights.write_bytes(b"no weights")
    with pytest.raises(UserError, match="not a file of drlh pretrain"):
        available.find(panel, 0)


def test_without_weights_the_cnn_tables_say_what_they_need() -> None:
    with pytest.raises(UserError, match="drlh pretrain"):
        AvailableData({}).find(Panel("cnn-joint", "split", (8,)), 0)


def test_a_dry_run_computes_nothing_and_says_what_a_run_would_compute_first(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRLH_CACHE", str(tmp_path / "cache"))
    weights, records = tmp_path / "cnn.safetensors", tmp_path / "runs"
    save_cnn(weights, Body("cnn-small", 3 * 32**2), {"data": "others", "split": None})
    available = AvailableData({"pictures": str(photos)}, weights)
    panels = tuple(Panel(role, "split", (8,), n_query=10) for role in CNN_ROLES)
    table = Table("cnn-update", "", panels, (), lambda n_bits: [Row("LSH", "lsh")])
    plan = make_plan([table], available, [0], records, compute=False)
    assert [job.panel.role for job in plan.jobs] == list(CNN_ROLES)
    assert plan.to_compute == [
        f"features cnn-small of {photos} are to be computed",
        f"cnn-small is to be fine-tuned for {photos}",
        f"features pixels32 of {photos} are to be computed",
    ]
    assert not list((tmp_path / "cache").rglob("*.npz"))
    assert not records.exists()
    pretrained = replace(table, panels=panels[:1])
    (job,) = make_plan([pretrained], available, [0], records).jobs  # which computes the features
    do_job(job, records, 1)
    known = make_plan([pretrained], available, [0], records, compute=False)
    assert (known.n_known, known.jobs, known.to_compute) == (1, [], [])
