"""One self-contained HTML page: no network, light and dark, pictures inside."""

import base64
import html
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from drlh.data.picture import Picture

STYLE = """
:root { --page: #fbfbf9; --ink: #1d2126; --faint: #68707a; --line: #dcdfe3; --one: #2f6f9f; --zero: #d9e2ea;
  --good: #2e8b57; --bad: #c0504d; }
@media (prefers-color-scheme: dark) { :root { --page: #15181c; --ink: #e6e8ea; --faint: #98a1ab; --line: #30363d;
  --one: #6db3e2; --zero: #2a323a; --good: #57b884; --bad: #e07a76; } }
body { margin: 0 auto; max-width: 62rem; padding: 2rem 1rem 4rem; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .3rem; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .4rem; }
p { margin: .3rem 0 .8rem; max-width: 46rem; } .faint { color: var(--faint); font-size: .9rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .9rem .25rem 0; text-align: right; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; } td.bar { width: 14rem; text-align: left; }
.fill { height: .7rem; background: var(--one); border-radius: 2px; }
.search { display: flex; gap: 1.2rem; padding: .8rem 0; border-top: 1px solid var(--line); flex-wrap: wrap; }
.hits { display: flex; gap: .45rem; flex-wrap: wrap; }
figure { margin: 0; text-align: center; font-size: .78rem; color: var(--faint); }
img { display: block; width: 56px; height: 56px; object-fit: contain; image-rendering: pixelated; border-radius: 4px;
  background: var(--line); border: 3px solid transparent; }
.query img { width: 72px; height: 72px; } .good img { border-color: var(--good); }
.bad img { border-color: var(--bad); }
.code { display: grid; grid-template-columns: repeat(16, 4px); gap: 1px; margin-top: .3rem; justify-content: center; }
.code i { width: 4px; height: 7px; background: var(--zero); } .code i.one { background: var(--one); }
.code i.differs { outline: 1px solid var(--bad); }
"""


@dataclass(frozen=True)
class Hit:
    """A found image beside its query."""

    picture: Picture
    label: str
    distance: int
    relevant: bool
    code: NDArray[np.uint8]


@dataclass(frozen=True)
class Search:
    """A query and what it found."""

    picture: Picture
    label: str
    code: NDArray[np.uint8]
    hits: Sequence[Hit]


def demo_page(title: str, summary: str, records: Sequence[dict[str, Any]], searches: Sequence[Search]) -> str:
    """The page of `drlh demo`: how well each method does, then what single queries find."""
    shown = "".join(_search(search) for search in searches)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style>'
        f"<h1>{html.escape(title)}</h1><p>{html.escape(summary)}</p>"
        f"<h2>How well each code ranks</h2>{_table(records)}"
        "<h2>What single queries find</h2>"
        '<p class="faint">Left, a query the method never saw; right, its nearest images by Hamming distance. A green '
        "frame is the same class, a red one another. The strip under an image is its code; an outlined bit differs "
        f"from the query's.</p>{shown}</html>\n"
    )


def _table(records: Sequence[dict[str, Any]]) -> str:
    rows = "".join(
        f"<tr><td>{html.escape(record['method'])}</td><td>{record['bits']}</td><td>{record['map']:.3f}</td>"
        f'<td class="bar"><div class="fill" style="width:{100 * record["map"]:.0f}%"></div></td>'
        f"<td>{record['map_worst']:.3f} – {record['map_best']:.3f}</td><td>{record['fit_seconds']:.1f} s</td></tr>"
        for record in records
    )
    return (
        "<table><tr><th>method</th><th>bits</th><th>mAP</th><th></th><th>worst – best tie order</th><th>fitting</th>"
        f"</tr>{rows}</table>"
        '<p class="faint">mAP is tie-aware: the exact mean over all orders of images at equal distance.</p>'
    )


def _search(search: Search) -> str:
    hits = "".join(
        f'<figure class="{"good" if hit.relevant else "bad"}">{picture_tag(hit.picture, hit.label)}'
        f"{html.escape(hit.label)} · {hit.distance}{_code(hit.code, search.code)}</figure>"
        for hit in search.hits
    )
    label = html.escape(search.label)
    query = f"{picture_tag(search.picture, search.label)}query: {label}{_code(search.code, search.code)}"
    return f'<div class="search"><figure class="query">{query}</figure><div class="hits">{hits}</div></div>'


def _code(code: NDArray[np.uint8], query: NDArray[np.uint8]) -> str:
    names = [
        " ".join(name for name, on in (("one", bit), ("differs", bit != other)) if on)
        for bit, other in zip(code, query)
    ]
    return '<div class="code">' + "".join(f'<i class="{name}"></i>' for name in names) + "</div>"


def picture_tag(picture: Picture, label: str) -> str:
    """A picture inside the page itself."""
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "PNG")
    data = base64.b64encode(buffer.getvalue()).decode()
    return f'<img alt="{html.escape(label)}" src="data:image/png;base64,{data}">'
