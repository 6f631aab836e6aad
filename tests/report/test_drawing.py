"""SVG that follows the page."""

import re
from itertools import combinations
from typing import Any

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from drlh.report.drawing import INK, apart, below, label_ends, label_points, standalone, to_svg


def line(figure: Any) -> None:
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color=INK)
    axes.set(xlabel="bits")


def test_a_figure_takes_the_pages_colours_and_asks_nothing_of_the_network() -> None:
    svg = to_svg("one", line)
    assert svg.startswith("<svg")
    assert "var(--ink)" in svg
    assert ">bits</text>" in svg
    assert not re.findall(r"(?:href|src)=\"http", svg)
    assert "DejaVu" not in svg
    assert "var(" not in standalone(svg)


def test_equal_data_gives_equal_bytes_and_two_figures_share_no_id() -> None:
    assert to_svg("one", line) == to_svg("one", line)
    ids = [
        set(re.findall(r'<(?:clipPath|path|g) id="([a-z][0-9a-f]{8,})"', to_svg(name, line))) for name in ("one", "two")
    ]
    assert ids[0]
    assert not ids[0] & ids[1]


def test_labels_are_moved_apart_as_little_as_need_be() -> None:
    assert apart([1.0, 2.0, 5.0], 0.5) == [1.0, 2.0, 5.0]
    assert apart([1.0, 1.0], 1.0) == [0.5, 1.5]
    assert apart([0.0, 0.4, 0.5, 9.0], 1.0) == pytest.approx([-0.7, 0.3, 1.3, 9.0])
    assert below([1.0, 2.0, 3.5], 3.0, 1.0) == [1.0, 2.0, 3.0]
    assert below([2.5, 3.5], 3.0, 1.0) == [2.0, 3.0]


def test_a_line_that_ends_early_has_its_name_where_it_ends() -> None:
    axes = Figure().subplots()
    axes.set(xlim=(0, 48), ylim=(0, 1))
    label_ends(axes, [(48, 0.5, "whole", INK), (24, 0.5, "half", INK)])
    assert {text.get_text(): text.xy for text in axes.texts} == {"whole": (48, 0.5), "half": (24, 0.5)}


def test_names_of_points_keep_clear_of_each_other_and_of_every_point() -> None:
    points = [(1.0, 0.5, "first", INK), (1.02, 0.5, "second", INK), (1.04, 0.51, "third", INK), (9.0, 0.9, "far", INK)]
    figure = Figure(figsize=(7.2, 4.4))
    axes = figure.subplots()
    axes.set(xlim=(0.5, 10), ylim=(0, 1), xscale="log")
    dots = [point[:2] for point in points]
    label_points(axes, points, dots)
    FigureCanvasAgg(figure).draw()
    boxes = [Text.get_window_extent(text) for text in axes.texts]  # without the line that leads to it
    assert [text.get_text() for text in axes.texts] == ["first", "second", "third", "far"]
    assert not [(a, b) for a, b in combinations(boxes, 2) if a.overlaps(b)]
    assert not [(box, dot) for box in boxes for dot in axes.transData.transform(dots) if box.contains(*dot)]
    led = [text.arrow_patch is not None for text in axes.texts]
    assert (led[3], any(led)) == (False, True)  # a line leads from a point to a name that had to go elsewhere
