"""Figures of what was kept to be looked at: codes in the plane, and the walks of single images."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.bench.records import Group, Record, arrays_of, by_group, read_files
from drlh.hashers.methods import find_method
from drlh.paper.snapshots import FORMAT, VERSION
from drlh.report.draw import INK, OURS, PALETTE, QUIET, Drawing, to_svg


def read_looks(directory: Path) -> list[Record]:
    return [value | {"path": path} for path, value in read_files(directory, FORMAT, VERSION)]


def look_figures(looks: Sequence[Record]) -> list[Drawing]:
    """One figure for each group and kind, of the first seed where there are several."""
    drawings = []
    for group, found in by_group(looks).items():
        first = {(look["look"], look["method"]): look for look in sorted(found, key=lambda one: -one["seed"])}
        laid_out = [first[key] for key in sorted(first) if key[0] == "tsne"]
        if laid_out:
            drawings.append(planes(group, laid_out))
        drawings += [walk_figure(group, look) for (kind, _), look in first.items() if kind == "walks"]
    return drawings


def planes(group: Group, looks: Sequence[Record]) -> Drawing:
    """One plane for each method, queries coloured by class."""
    name = f"tsne-{group.file_name}"

    def draw(figure: Any) -> None:
        for axes, look in zip(figure.subplots(1, len(looks), squeeze=False)[0], looks):
            arrays = arrays_of(look)
            shown = shaken(arrays["positions"])
            for number, label in enumerate(look["classes"]):
                points = shown[arrays["labels"] == number]
                axes.scatter(*points.T, s=6, lw=0, alpha=0.75, color=PALETTE[number % len(PALETTE)], label=label)
            axes.set(title=find_method(look["method"]).written, xticks=[], yticks=[])
            axes.grid(visible=False)
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=10, fontsize=8, markerscale=2, handletextpad=0)

    caption = (
        f"{looks[0]['bits']} bits, seed {looks[0]['seed']}: queries, which no method saw, laid out by Hamming distance "
        "and shaken a little, since many share a code."
    )
    return Drawing(name, f"t-SNE of codes: {group.title}", to_svg(name, draw, 3.8 * len(looks), 4.0), caption)


def shaken(positions: NDArray[np.float32]) -> NDArray[np.float64]:
    """Images with the same code lie on each other: a little noise shows how many there are."""
    spread = 0.012 * np.ptp(positions, axis=0)
    noise: NDArray[np.float64] = np.random.default_rng(0).normal(size=positions.shape) * spread
    return positions + noise


def walk_figure(group: Group, look: Record) -> Drawing:
    """For each image the bits over the steps, the distance to every codeword, and when stopping becomes best."""
    arrays, name = arrays_of(look), f"walks-{group.file_name}"
    labels = arrays["labels"].tolist()

    def draw(figure: Any) -> None:
        rows = figure.subplots(3, len(labels), sharex="col", height_ratios=(1.3, 1, 1), squeeze=False)
        for number, label in enumerate(labels):
            codes, distances = arrays[f"codes_{number}"], arrays[f"distances_{number}"]
            bits, ways, values = (row[number] for row in rows)
            bits.imshow(codes.T, aspect="auto", cmap="Blues", vmin=-0.3, vmax=1.3, interpolation="nearest")
            bits.set(title=look["classes"][label])
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
        f"DRLH, {look['bits']} bits. Top: the code after each step, dark is 1. Middle: Hamming distance to the "
        "codeword of each class, the image's own in colour. Below: Q of stopping, and of the best flip; the walk "
        "ends where stopping is worth more."
    )
    return Drawing(name, f"Walks: {group.title}", to_svg(name, draw, 1.75 * len(labels), 5.0), caption)
