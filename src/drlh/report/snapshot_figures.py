"""Figures of snapshots: codes in the plane, and the walks of single images."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.bench.records import Group, by_group
from drlh.bench.store import Record, arrays_of
from drlh.hashers.methods import find_method
from drlh.report.drawing import INK, OURS, PALETTE, QUIET, Drawing, to_svg


def snapshot_figures(snapshots: Sequence[Record]) -> list[Drawing]:
    """One figure for each group and kind, of the first seed where there are several."""
    drawings = []
    for group, found in by_group(snapshots).items():
        first = {
            (snapshot["kind"], snapshot["method"]): snapshot for snapshot in sorted(found, key=lambda one: -one["seed"])
        }
        laid_out = [first[key] for key in sorted(first) if key[0] == "tsne"]
        if laid_out:
            drawings.append(planes(group, laid_out))
        drawings += [walk_figure(group, snapshot) for (kind, _), snapshot in first.items() if kind == "walks"]
    return drawings


def planes(group: Group, snapshots: Sequence[Record]) -> Drawing:
    """One plane for each method, queries coloured by class."""
    name = f"tsne-{group.file_name}"

    def draw(figure: Any) -> None:
        for axes, snapshot in zip(figure.subplots(1, len(snapshots), squeeze=False)[0], snapshots):
            arrays = arrays_of(snapshot)
            shown = jittered(arrays["positions"])
            for number, label in enumerate(snapshot["classes"]):
                points = shown[arrays["labels"] == number]
                axes.scatter(*points.T, s=6, lw=0, alpha=0.75, color=PALETTE[number % len(PALETTE)], label=label)
            axes.set(title=find_method(snapshot["method"]).written, xticks=[], yticks=[])
            axes.grid(visible=False)
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=10, fontsize=8, markerscale=2, handletextpad=0)

    caption = (
        f"{snapshots[0]['bits']} bits, seed {snapshots[0]['seed']}: queries, which no method saw, laid out by Hamming "
        "distance, with a little noise, since many share a code."
    )
    return Drawing(name, f"t-SNE of codes: {group.title}", to_svg(name, draw, 3.8 * len(snapshots), 4.0), caption)


def jittered(positions: NDArray[np.float32]) -> NDArray[np.float64]:
    """Images with the same code lie on each other: a little noise shows how many there are."""
    spread = 0.012 * np.ptp(positions, axis=0)
    noise: NDArray[np.float64] = np.random.default_rng(0).normal(size=positions.shape) * spread
    return positions + noise


def walk_figure(group: Group, snapshot: Record) -> Drawing:
    """For each image the bits over the steps, the distance to every codeword, and when stopping becomes best."""
    arrays, name = arrays_of(snapshot), f"walks-{group.file_name}"
    labels = arrays["labels"].tolist()

    def draw(figure: Any) -> None:
        rows = figure.subplots(3, len(labels), sharex="col", height_ratios=(1.3, 1, 1), squeeze=False)
        for number, label in enumerate(labels):
            codes, distances = arrays[f"codes_{number}"], arrays[f"distances_{number}"]
            bits, ways, values = (row[number] for row in rows)
            bits.imshow(codes.T, aspect="auto", cmap="Blues", vmin=-0.3, vmax=1.3, interpolation="nearest")
            bits.set(title=snapshot["classes"][label])
            bits.grid(visible=False)
            for one in range(distances.shape[1]):
                mine = one == label
                ways.plot(distances[:, one], lw=2 if mine else 0.8, color=OURS if mine else QUIET)
            values.plot(arrays[f"best_flip_{number}"], lw=1.2, color=QUIET, label="best flip")
            values.plot(arrays[f"stop_{number}"], lw=1.6, color=PALETTE[3], label="stop")
            values.axhline(0, color=INK, lw=0.4)
            values.set(xlabel="step")
        for axes, what in zip(rows[:, 0], ("bits", "distance to\ncodewords", "Q")):
            axes.set_ylabel(what)
        rows[2, -1].legend(fontsize=7)

    caption = (
        f"DRLH, {snapshot['bits']} bits. Top: the code after each step, dark is 1. Middle: Hamming distance to the "
        "codeword of each class, the image's own in colour. Below: Q of stopping, and of the best flip; the walk "
        "ends where stopping is worth more."
    )
    return Drawing(name, f"Walks: {group.title}", to_svg(name, draw, 1.75 * len(labels), 5.0), caption)
