"""Which figures records give, and what is in them."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from drlh.bench.records import read_records
from drlh.hashers.methods import METHODS
from drlh.paper.tables import CNN_ROLES
from drlh.report.method_figures import all_figures
from drlh.report.record_grids import method_label

Leave = Callable[..., None]


def test_records_of_every_kind_give_every_figure(leave: Leave, tmp_path: Path) -> None:
    falling = np.linspace(1, 0.1, 33)
    curves = {"precision_by_radius": falling, "recall_by_radius": 1 - falling}
    for method, value in (("drlh", 0.8), ("sdh", 0.7), ("itq", 0.3)):
        for n_bits in (16, 24, 32):
            leave(method, n_bits, value + n_bits / 1000, arrays=curves if n_bits == 32 else None)
    for epochs in (1, 5):
        leave("drlh", 32, 0.5 + epochs / 100, parameters={"n_epochs": epochs})
    for eta in (0, 1):
        leave("drlh-paper", 16, 0.2 + eta / 10, parameters={"eta": eta})
        leave("drlh", 16, 0.2 + eta / 10, parameters={"max_steps": 2**eta})
    leave("drlh-paper", 16, 0.15)
    leave("drlh-paper", 16, 0.14, parameters={"max_flips": 2})
    leave("drlh", 16, 0.79, parameters={"codebook_adaptation": 0.0})
    leave("topline", 0, 0.9)
    for role in CNN_ROLES:
        leave("drlh", 16, 0.6, data=f"cifar10-{role}")
    drawings = {drawing.name.partition("-cifar10_x")[0]: drawing for drawing in all_figures(read_records(tmp_path))}
    assert set(drawings) == {"bits", "recall", "budget", "time", "eta", "steps", "actions", "cnn-update", "ablation"}
    assert "itq (0.332 at 32 bits)" in drawings["bits"].caption  # far below the others
    assert ">topline</text>" in drawings["bits"].svg
    assert "as the paper reports" in drawings["eta"].svg
    assert "second setting" in drawings["eta"].caption
    assert "17 hours" in drawings["time"].caption
    assert ">codebook stays BCH</text>" in drawings["ablation"].svg


def test_too_little_gives_no_figure(leave: Leave, tmp_path: Path) -> None:
    leave("itq", 16, 0.4)
    assert all_figures(read_records(tmp_path)) == []


def test_where_there_are_many_methods_the_caption_names_the_lowest(leave: Leave, tmp_path: Path) -> None:
    for place, method in enumerate(METHODS):
        for n_bits in (16, 32):
            leave(method.name, n_bits, 0.9 - place / 1000)
    (drawing,) = [one for one in all_figures(read_records(tmp_path)) if one.name.startswith("bits")]
    shown = [method_label(method.name) for method in METHODS]
    assert [name for name in shown if f">{name}</text>" in drawing.svg] == shown[:13]  # DRLH and twelve more
    assert all(f"{name} (0." in drawing.caption for name in shown[13:])
