"""How our pages look: light and dark, no network."""

import html

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
th:first-child, td:first-child { text-align: left; }
.fill { height: .7rem; background: var(--one); border-radius: 2px; }
"""


def page(title: str, style: str, body: str) -> str:
    """A whole HTML page."""
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}{style}</style>'
        f"<h1>{html.escape(title)}</h1>{body}</html>\n"
    )
