"""Figures as SVG that follows the page: light or dark, the page's own font, no network, equal bytes for equal data."""

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

# Stand-ins that become the page's colours once the SVG is part of it.
INK, FAINT, LINE = "#010203", "#020304", "#030405"
_PAGE = {INK: "var(--ink)", FAINT: "var(--faint)", LINE: "var(--line)"}
# Middle tones, which can be told apart on a light and on a dark page.
PALETTE = (
    "#3a86c8", "#e08a1e", "#3a9e6e", "#d1605e", "#8f7ac9", "#a67c52", "#d67ab1", "#3fa7a3", "#9a9a3a", "#8a929a",
)  # fmt: skip
OURS, QUIET = PALETTE[0], "#8a929a"


@dataclass(frozen=True)
class Drawing:
    """A figure for the page."""

    name: str
    title: str
    svg: str
    caption: str


def to_svg(name: str, draw: Callable[[Any], None], width: float = 7.2, height: float = 4.0) -> str:
    """`draw(figure)` fills a matplotlib figure; inches become the SVG's size."""
    import matplotlib
    from matplotlib.figure import Figure

    style = {
        "svg.fonttype": "none", "svg.hashsalt": name, "font.size": 9, "font.family": "sans-serif",
        "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": LINE, "xtick.color": FAINT, "ytick.color": FAINT,
        "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": LINE,
        "grid.linewidth": 0.6, "axes.axisbelow": True, "axes.titlesize": 10, "axes.titlelocation": "left",
        "legend.frameon": False,
    }  # fmt: skip
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(width, height), layout="constrained")
        draw(figure)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return _for_page(buffer.getvalue())


def _for_page(svg: str) -> str:
    """The bare element with the page's colours and font; ids are apart already, by the salt of the name."""
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    for stand_in, colour in _PAGE.items():
        svg = svg.replace(stand_in, colour)
    return re.sub(r"'DejaVu Sans'[^;\"]*", "system-ui, sans-serif", svg)


def standalone(svg: str) -> str:
    """The same figure as a file of its own, dark on light."""
    for variable, colour in (("--ink", "#1d2126"), ("--faint", "#68707a"), ("--line", "#dcdfe3")):
        svg = svg.replace(f"var({variable})", colour)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{svg}\n'


def label_ends(axes: Any, ends: Sequence[tuple[float, float, str, str]], gap: float = 0.045) -> None:
    """Names beside the right ends (x, y, name, colour) of lines, moved apart where they would lie on each other."""
    low, high = axes.get_ylim()
    step = gap * (high - low)
    for right in sorted({x for x, *_ in ends}):  # a line that ends early has its name there
        ordered = sorted((end for end in ends if end[0] == right), key=lambda end: end[1])
        places = below(apart([y for _, y, *_ in ordered], step), high, step)
        for (_, _, name, colour), place in zip(ordered, places):
            axes.annotate(
                name, (right, place), (6, 0), textcoords="offset points", color=colour, fontsize=8, va="center",
                annotation_clip=False,
            )  # fmt: skip


def label_points(
    axes: Any, points: Sequence[tuple[float, float, str, str]], dots: Sequence[tuple[float, float]]
) -> None:
    """Names beside their points (x, y, name, colour), where neither a name nor one of all `dots` is in the way."""
    taken = [_Box(x - 0.008, y - 0.014, x + 0.008, y + 0.014) for x, y in _on_axes(axes, dots)]
    for (x, y, name, colour), (across, up) in zip(points, _on_axes(axes, [point[:2] for point in points])):
        box = _free_box(across, up, 0.011 * len(name), taken)
        taken.append(box)
        left = box.left > across
        middle = (box.low + box.high) / 2
        moved = abs(middle - up) > 0.01
        axes.annotate(
            name, (x, y), (box.left if left else box.right, middle), textcoords="axes fraction",
            color=colour, fontsize=8, va="center", ha="left" if left else "right", annotation_clip=False,
            arrowprops={"arrowstyle": "-", "lw": 0.5, "color": colour, "shrinkA": 0, "shrinkB": 3} if moved else None,
        )  # fmt: skip


@dataclass(frozen=True)
class _Box:
    """In shares of the axes."""

    left: float
    low: float
    right: float
    high: float

    def meets(self, other: "_Box") -> bool:
        return self.left < other.right and other.left < self.right and self.low < other.high and other.low < self.high


def _free_box(across: float, up: float, width: float, taken: Sequence[_Box]) -> _Box:
    """The nearest free place for a name of this width: to the right or left of its point, then higher and lower."""
    height, gap = 0.042, 0.014
    shifts = sorted((height * step / 2 for step in range(-16, 17)), key=abs)
    places = [(side, shift) for shift in shifts for side in (1, -1)]
    boxes = []
    for side, shift in places:
        start = across + gap if side > 0 else across - gap - width
        boxes.append(_Box(start, up + shift - height / 2, start + width, up + shift + height / 2))
    inside = [box for box in boxes if box.left >= 0 and box.low >= 0 and max(box.right, box.high) <= 1]
    return next((box for box in inside if not any(box.meets(other) for other in taken)), boxes[0])


def _on_axes(axes: Any, points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Points of the data as shares of the axes."""
    axes.get_xlim(), axes.get_ylim()  # which settles limits that were left to the data
    shares = (axes.transData + axes.transAxes.inverted()).transform(points)
    return [(float(x), float(y)) for x, y in shares]


def apart(heights: Sequence[float], step: float) -> list[float]:
    """Rising heights, moved as little as need be so that neighbours are `step` apart."""
    blocks: list[tuple[float, int]] = []  # of neighbours that touch: the mean of their heights, and how many
    for height in heights:
        blocks.append((height, 1))
        while len(blocks) > 1 and _touch(blocks[-2], blocks[-1], step):
            (above, many), (below, few) = blocks.pop(), blocks.pop()
            blocks.append(((above * many + below * few) / (many + few), many + few))
    return [middle + step * (place - (n - 1) / 2) for middle, n in blocks for place in range(n)]


def below(places: Sequence[float], ceiling: float, step: float) -> list[float]:
    """Rising places, those pushed past the ceiling brought down beneath it."""
    highest = [ceiling - step * number for number in range(len(places))][::-1]
    return [min(place, most) for place, most in zip(places, highest)]


def _touch(below: tuple[float, int], above: tuple[float, int], step: float) -> bool:
    return above[0] - below[0] < step * (above[1] + below[1]) / 2


def log_ticks(axes: Any, values: Sequence[float]) -> None:
    """A logarithmic x axis to base 2 with plain numbers at the values."""
    axes.set_xscale("log", base=2)
    axes.set_xticks(list(values), [f"{value:g}" for value in values])
    axes.minorticks_off()


def padded(values: Sequence[float], share: float = 0.05) -> tuple[float, float]:
    low, high = float(np.min(values)), float(np.max(values))
    room = share * max(high - low, 1e-3)
    return low - room, high + room
