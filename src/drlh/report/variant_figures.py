"""Figures of variants of DRLH: η, the step limit, one bit or two, what each piece is worth, and the CNN."""

from collections.abc import Sequence
from statistics import mean
from typing import Any

from drlh.bench.records import Group
from drlh.bench.store import Record
from drlh.paper.published import published_curve
from drlh.paper.tables import CNN_ROLES, PAPER_METHOD, STEP_LIMITS, TABLES
from drlh.report.drawing import OURS, PALETTE, QUIET, Drawing, log_ticks, to_svg
from drlh.report.paper_grids import SECOND_SETTING, data_of, matching


def parameter_curves(group: Group, records: Sequence[Record], table: str) -> Drawing | None:
    """mAP over η or over the step limit M, with the paper's curve beside ours."""
    key, label = {"eta": ("eta", "η"), "steps": ("max_steps", "M, the most steps of a walk")}[table]
    lines: list[tuple[str, str, str, dict[int, float]]] = []
    data = data_of(group)
    for place, n_bits in enumerate(sorted({record["bits"] for record in records})):
        for method, style in (("drlh", "-"), (PAPER_METHOD, "--")):
            rows = [row for row in TABLES[table].rows(n_bits) if row.method == method]
            found = zip(rows, matching(records, rows, n_bits))
            points = {row.parameters[key]: mean(values) for row, values in found if values}
            if len(points) > 1:
                lines.append((f"{n_bits} bits, {method}", PALETTE[place], style, points))
        theirs = published_curve(table, data, n_bits) if data else {}
        if theirs and lines:
            lines.append((f"{n_bits} bits, as the paper reports", PALETTE[place], ":", theirs))
    if not lines:
        return None
    name = f"{table}-{group.file_name}"

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for title, colour, style, points in lines:
            axes.plot(list(points), list(points.values()), f"o{style}", ms=3.5, color=colour, label=title)
        if table == "steps":
            log_ticks(axes, STEP_LIMITS)
        axes.set(xlabel=label, ylabel="mAP")
        axes.legend(fontsize=8)

    caption = "Mean over the seeds."
    if any(style == ":" for _, _, style, _ in lines):
        caption += f" {SECOND_SETTING}"
    return Drawing(name, f"{TABLES[table].title}: {group.title}", to_svg(name, draw), caption)


def row_lines(group: Group, records: Sequence[Record], table: str) -> Drawing | None:
    """mAP over bits, a line for each row of a table: one-bit against two-bit actions."""
    bits = sorted({record["bits"] for record in records if record["bits"]})
    lines: dict[str, dict[int, float]] = {}
    for n_bits in bits:
        rows = TABLES[table].rows(n_bits)
        for row, values in zip(rows, matching(records, rows, n_bits)):
            if values:
                lines.setdefault(row.name, {})[n_bits] = mean(values)
    if len(lines) < 2:
        return None
    name = f"{table}-{group.file_name}"

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for (title, points), colour in zip(lines.items(), PALETTE):
            axes.plot(list(points), list(points.values()), "o-", color=colour, label=title)
        axes.set_xticks(sorted({n for points in lines.values() for n in points}))
        axes.set(xlabel="bits", ylabel="mAP")
        axes.legend(fontsize=8)

    return Drawing(name, f"{TABLES[table].title}: {group.title}", to_svg(name, draw, 5.4, 3.2), "The paper's agent.")


def bars(group: Group, records: Sequence[Record]) -> Drawing | None:
    """mAP of DRLH with pieces left out or exchanged, at the length with most of them."""
    rows = TABLES["ablation"].rows(32)
    bits = sorted({record["bits"] for record in records if record["bits"]})
    values = {n: matching(records, rows, n) for n in bits}
    n_bits = max(bits, key=lambda n: sum(map(bool, values[n])), default=0)
    found = {row.name: mean(some) for row, some in zip(rows, values.get(n_bits, [])) if some}
    if len(found) < 3:
        return None
    name = f"ablation-{group.file_name}"

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        names, values = list(found)[::-1], list(found.values())[::-1]
        colours = [OURS if one == "default" else QUIET for one in names]
        axes.barh(names, values, color=colours, height=0.62)
        for place, value in enumerate(values):
            axes.annotate(f"{value:.3f}", (value, place), (4, 0), textcoords="offset points", va="center", fontsize=8)
        axes.set(xlabel="mAP", xlim=(0, 1.12 * max(values)))
        axes.grid(axis="y", visible=False)

    title = f"{TABLES['ablation'].title}, {n_bits} bits: {group.title}"
    return Drawing(name, title, to_svg(name, draw, 7.2, 0.9 + 0.32 * len(found)), "Mean over the seeds.")


def cnn_strategies(records: Sequence[Record]) -> Drawing | None:
    found = [record for record in records if record["data"].endswith(CNN_ROLES)]
    names = dict(zip(CNN_ROLES, ("as it came", "fine-tuned", "joint")))
    lines = {}
    for role, name in names.items():
        mine = [record for record in found if record["data"].endswith(role)]
        lines[name] = {n: mean(r["map"] for r in mine if r["bits"] == n) for n in sorted({r["bits"] for r in mine})}
    if not any(lines.values()):
        return None

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for (title, points), colour in zip(lines.items(), PALETTE):
            axes.plot(list(points), list(points.values()), "o-", color=colour, label=title)
        axes.set(xlabel="bits", ylabel="mAP")
        axes.set_xticks(sorted({record["bits"] for record in found}))
        axes.legend(fontsize=8)

    return Drawing(
        "cnn-update", "Update the CNN or not", to_svg("cnn-update", draw, 5.4, 3.2), "The same CNN in all lines."
    )
