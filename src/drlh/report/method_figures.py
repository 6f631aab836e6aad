"""Figures of methods: mAP over bits and over time, precision and recall, and the time over bits."""

from collections.abc import Callable, Mapping, Sequence
from statistics import mean
from typing import Any

from drlh.bench.records import Group, by_group
from drlh.bench.store import Record, arrays_of
from drlh.hashers.methods import DEFAULT_METHOD
from drlh.paper.tables import BUDGETS, CNN_ROLES, Row
from drlh.report.drawing import (
    FAINT,
    OURS,
    PALETTE,
    QUIET,
    Drawing,
    label_ends,
    label_points,
    log_ticks,
    padded,
    to_svg,
)
from drlh.report.paper_grids import is_row
from drlh.report.record_grids import is_plain, method_label
from drlh.report.variant_figures import bars, cnn_strategies, parameter_curves, row_lines

_SHOWN = 5  # best methods beside DRLH that get a colour of their own
_NAMED = 12  # best methods that are named in the figure; the caption names the rest
_FAR_BELOW = 0.75  # of the best mAP: lines further down would press the others together
_Series = dict[str, dict[int, float]]  # method → bits → mean, or another summary, over the seeds


def series_of(records: Sequence[Record], value: str = "map", of: Callable[[list[float]], float] = mean) -> _Series:
    """Plain records only; reference lines are left out."""
    found: dict[str, dict[int, list[float]]] = {}
    for record in records:
        if record["bits"] and is_plain(record):
            found.setdefault(record["method"], {}).setdefault(record["bits"], []).append(record[value])
    return {name: {n: of(values) for n, values in sorted(cells.items())} for name, cells in found.items()}


def _coloured(series: _Series) -> dict[str, str]:
    """DRLH and the best few in colours, the rest quiet."""
    ranked = sorted((name for name in series if name != DEFAULT_METHOD), key=lambda name: -max(series[name].values()))
    best = dict(zip(ranked[:_SHOWN], PALETTE[1:]))
    return {name: OURS if name == DEFAULT_METHOD else best.get(name, QUIET) for name in series}


def _rank(colour: str) -> int:
    return (QUIET, *PALETTE[:0:-1], OURS).index(colour)


def _named(values: Mapping[str, float]) -> tuple[set[str], str]:
    """The methods that there is room to name beside DRLH, the best by `values`, and a sentence on the others."""
    ranked = sorted((name for name in values if name != DEFAULT_METHOD), key=lambda name: -values[name])
    rest = ", ".join(f"{method_label(name)} ({values[name]:.3f})" for name in ranked[_NAMED:])
    return {DEFAULT_METHOD, *ranked[:_NAMED]}, f" Grey and without a name: {rest}." if rest else ""


def map_over_bits(group: Group, records: Sequence[Record]) -> Drawing | None:
    series = {name: cells for name, cells in series_of(records).items() if len(cells) > 1}
    if len(series) < 2:
        return None
    best = max(max(cells.values()) for cells in series.values())
    far = {method: cells for method, cells in series.items() if max(cells.values()) < _FAR_BELOW * best}
    series = {method: cells for method, cells in series.items() if method not in far}
    name, colours = f"bits-{group.file_name}", _coloured(series)
    toplines = [record["map"] for record in records if not record["bits"]]
    named, others = _named({method: cells[max(cells)] for method, cells in series.items()})
    lengths = sorted({n for cells in series.values() for n in cells})

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for method, cells in series.items():
            thick = 2.4 if method == DEFAULT_METHOD else 1.2
            axes.plot(list(cells), list(cells.values()), "o-", ms=3.5, lw=thick, color=colours[method])
        ends = [
            (max(cells), cells[max(cells)], method_label(method), colours[method])
            for method, cells in series.items()
            if method in named
        ]
        if toplines:
            axes.hlines(mean(toplines), lengths[0], lengths[-1], color=FAINT, lw=1, ls="--")
            above = {"xytext": (2, 3), "textcoords": "offset points", "fontsize": 8, "color": FAINT}
            axes.annotate("topline", (lengths[0], mean(toplines)), **above)
        log_ticks(axes, lengths)
        axes.set(xlabel="bits", ylabel="mAP")
        label_ends(axes, ends)

    caption = "Mean over the seeds that each method has; Statistics compares on common ones."
    caption += " The dashed topline ranks by a classifier's posteriors, without a code." if toplines else ""
    caption += others
    if far:
        lower = ", ".join(
            f"{method_label(m)} ({cells[max(cells)]:.3f} at {max(cells)} bits)" for m, cells in far.items()
        )
        caption += f" Below the axis: {lower}."
    return Drawing(name, f"mAP over bits: {group.title}", to_svg(name, draw, 7.6, 4.6), caption)


def precision_recall(group: Group, records: Sequence[Record]) -> Drawing | None:
    """Precision over recall as the Hamming radius grows, at the longest code, where records hold the curves."""
    curves = {}
    longest = max((record["bits"] for record in records), default=0)
    for record in records:
        arrays = arrays_of(record) if record["bits"] == longest and is_plain(record) else {}
        if "precision_by_radius" in arrays and record["method"] not in curves:
            curves[record["method"]] = arrays["recall_by_radius"], arrays["precision_by_radius"]
    if len(curves) < 2:
        return None
    colours = _coloured({name: cells for name, cells in series_of(records).items() if name in curves})
    name = f"recall-{group.file_name}"

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        # The best are drawn last, DRLH above all.
        for method, (recall, precision) in sorted(curves.items(), key=lambda curve: _rank(colours[curve[0]])):
            if colours[method] == QUIET:
                axes.plot(recall, precision, lw=0.6, alpha=0.6, color=QUIET)
            else:
                axes.plot(recall, precision, "o-", ms=2.5, lw=1.4, color=colours[method], label=method_label(method))
        axes.set(xlabel="recall", ylabel="precision", ylim=(0, 1.02), xlim=(0, 1.02))
        axes.legend(fontsize=8)

    caption = f"{longest} bits; each point is one Hamming radius, 0 at the left. Methods without a name are grey."
    return Drawing(name, f"Precision and recall: {group.title}", to_svg(name, draw), caption)


def times_over_bits(group: Group, records: Sequence[Record]) -> Drawing | None:
    """Seconds of fitting and milliseconds of encoding an image, over bits."""
    fits = series_of(records, "fit_seconds", min).get(DEFAULT_METHOD, {})
    if len(fits) < 3:
        return None
    images = group.n_query + group.n_database
    encodes = series_of(records, "encode_seconds", min)[DEFAULT_METHOD]
    codes = {n: 1000 * seconds / images for n, seconds in encodes.items()}
    name = f"time-{group.file_name}"

    def draw(figure: Any) -> None:
        for axes, points, label in zip(
            figure.subplots(1, 2), (fits, codes), ("fitting, seconds", "encoding, ms an image")
        ):
            axes.plot(list(points), list(points.values()), "o-", color=OURS)
            axes.set(xlabel="bits", title=label, ylim=(0, 1.15 * max(points.values())))
            axes.set_xticks(list(points))

    cores = next(record["machine"]["cores"] for record in records if record["method"] == DEFAULT_METHOD)
    caption = (
        f"DRLH on features, {cores} cores without a GPU, with other work on them, the quickest "
        "of the seeds. The paper gives 17 hours on 8 GPUs for fitting 48 bits on CIFAR-10, and encoding that grows "
        "linearly with the bits."
    )
    return Drawing(name, f"Time over bits: {group.title}", to_svg(name, draw, 7.2, 2.8), caption)


def map_over_time(group: Group, records: Sequence[Record]) -> Drawing | None:
    """mAP over seconds of fitting: every method once, and whole runs of fewer epochs where there are any."""
    times, maps = series_of(records, "fit_seconds", min), series_of(records)
    n_bits = 32 if any(32 in cells for cells in maps.values()) else max((max(c) for c in maps.values()), default=0)
    points = {m: (max(times[m][n_bits], 1e-2), maps[m][n_bits]) for m in maps if n_bits in maps[m]}
    if len(points) < 3:
        return None
    best = max(value for _, value in points.values())
    far = [method for method, (_, value) in points.items() if value < _FAR_BELOW * best]
    points = {method: point for method, point in points.items() if method not in far}
    name, colours = f"budget-{group.file_name}", _coloured({m: maps[m] for m in points})
    budgets = {method: _budget(records, method, n_bits) for method in points}

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        axes.set_xscale("log")
        low, high = padded([value for _, value in points.values()], 0.12)
        axes.set(xlabel="seconds of fitting", ylabel="mAP", ylim=(low, high))
        for method, point in points.items():
            axes.plot(*point, "o", ms=5, color=colours[method])
        for method in points:
            if len(budgets[method]) > 1:
                axes.plot(*zip(*budgets[method]), ".-", lw=1, color=colours[method])
        ranked = sorted(points, key=lambda method: -points[method][1])
        label_points(axes, [(*points[m], method_label(m), colours[m]) for m in ranked], list(points.values()))

    caption = f"{n_bits} bits; the time is the shortest of the seeds, with other work on the machine."
    if any(len(line) > 1 for line in budgets.values()):
        caption += f" A line joins whole runs of {', '.join(map(str, BUDGETS))} epochs."
    caption += f" Below the axis: {', '.join(map(method_label, far))}." if far else ""
    return Drawing(name, f"mAP over training time: {group.title}", to_svg(name, draw, 7.2, 4.4), caption)


def _budget(records: Sequence[Record], method: str, n_bits: int) -> list[tuple[float, float]]:
    found = []
    for epochs in BUDGETS:
        row = Row("", method, {"n_epochs": epochs})
        mine = [record for record in records if record["bits"] == n_bits and is_row(record, row)]
        if mine:
            found.append((min(record["fit_seconds"] for record in mine), mean(record["map"] for record in mine)))
    return found


def all_figures(records: Sequence[Record]) -> list[Drawing]:
    """Every figure that the records have numbers for."""
    drawings: list[Drawing | None] = []
    groups = {g: found for g, found in by_group(records).items() if not g.data.endswith(CNN_ROLES)}
    for draw in (map_over_bits, precision_recall, map_over_time, times_over_bits):
        drawings += [draw(group, found) for group, found in groups.items()]
    for table in ("eta", "steps"):
        drawings += [parameter_curves(group, found, table) for group, found in groups.items()]
    drawings += [row_lines(group, found, "actions") for group, found in groups.items()]
    drawings.append(cnn_strategies(records))
    drawings += [bars(group, found) for group, found in groups.items()]
    return [drawing for drawing in drawings if drawing]
