"""One page for all experiments: tables with the paper's numbers, figures, comparisons, every record."""

import html
from collections.abc import Sequence
from pathlib import Path

from drlh.bench.records import read_records, read_snapshots
from drlh.bench.store import Record
from drlh.core.errors import UserError
from drlh.paper.published import citation, published_training
from drlh.report.demo_page import STYLE
from drlh.report.drawing import Drawing
from drlh.report.grid import Grid
from drlh.report.method_figures import all_figures
from drlh.report.paper_grids import COMPARED, VARIED, paper_grids
from drlh.report.record_grids import comparison_grid, results_grids
from drlh.report.snapshot_figures import snapshot_figures

_STYLE = """
body { max-width: 74rem; } .wide { overflow-x: auto; } td, th { white-space: nowrap; font-size: .88rem; }
h3 { font-size: 1rem; margin: 1.6rem 0 .3rem; } figure { text-align: left; margin: 1rem 0 2rem; font-size: 1rem; }
figure h3 { color: var(--ink); }
figure svg { max-width: 100%; height: auto; } figcaption { max-width: 46rem; }
nav a { margin-right: 1rem; color: var(--one); }
tr:hover td { background: color-mix(in srgb, var(--line) 40%, transparent); }
"""


def experiments_page(directory: Path) -> tuple[str, list[Drawing]]:
    """(the page, its figures) of all records below a directory."""
    records, snapshots = read_records(directory), read_snapshots(directory)
    if not records and not snapshots:
        raise UserError(f"{directory} holds no records: drlh bench paper fills it")
    drawings = all_figures(records) + snapshot_figures(snapshots)
    sections = {
        "The paper's tables": "".join(_grids(paper_grids(name, records)) for name in COMPARED),
        "Statistics": comparison_grid(records).html(),
        "Figures": "".join(map(_figure, drawings)) or "<p>No record holds what a figure needs.</p>",
        "DRLH against itself": "".join(_grids(paper_grids(name, records)) for name in (*VARIED, "cnn-update")),
        "Every record": _grids(results_grids(records)),
    }
    links = "".join(f'<a href="#part{number}">{html.escape(name)}</a>' for number, name in enumerate(sections))
    body = "".join(
        f'<h2 id="part{number}">{html.escape(name)}</h2>{text}' for number, (name, text) in enumerate(sections.items())
    )
    page = (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>DRLH: experiments</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}{_STYLE}</style>'
        f"<h1>DRLH: experiments</h1>{_head(records)}<nav>{links}</nav>{body}</html>\n"
    )
    return page, drawings


def _head(records: Sequence[Record]) -> str:
    machines = sorted({f"{r['machine']['system']}, {r['machine']['cores']} cores" for r in records})
    seconds = sum(record["fit_seconds"] + record["encode_seconds"] for record in records)
    hours = f"{seconds / 3600:.1f} hours of fitting and encoding on {'; '.join(machines) or 'no machine'}, no GPU"
    ours = (
        f"{len(records):,} records, {hours}. mAP is tie-aware: the exact mean over all orders of images at equal "
        "distance; ± is the standard deviation over seeds, each a split and a start of its own."
    )
    times = "; ".join(f"{data}: {time}" for data, time in published_training().items())
    theirs = f"The paper: {citation()}. It gives as training time: {times}."
    return f'<p>{html.escape(ours)}</p><p class="faint">{html.escape(theirs)}</p>'


def _grids(grids: Sequence[Grid]) -> str:
    return "".join(grid.html() for grid in grids)


def _figure(drawing: Drawing) -> str:
    return (
        f"<figure><h3>{html.escape(drawing.title)}</h3>{drawing.svg}"
        f'<figcaption class="faint">{html.escape(drawing.caption)}</figcaption></figure>'
    )
