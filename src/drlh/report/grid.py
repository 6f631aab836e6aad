"""A table as people read it, in Markdown and in HTML."""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import mean, stdev


@dataclass(frozen=True)
class Grid:
    """A title, columns, rows of text, and what should be said below."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = field(default=())

    def markdown(self, level: int = 2) -> str:
        lines = [f"{'#' * level} {self.title}", ""] if self.title else []
        if self.columns:
            lines += [_line(self.columns), "|---" * len(self.columns) + "|", *map(_line, self.rows), ""]
        return "\n".join([*lines, *(line for note in self.notes for line in (note, ""))])

    def html(self) -> str:
        head = "".join(f"<th>{_inline(column)}</th>" for column in self.columns)
        body = "".join(f"<tr>{''.join(f'<td>{_inline(cell)}</td>' for cell in row)}</tr>" for row in self.rows)
        notes = "".join(f'<p class="faint">{_inline(note)}</p>' for note in self.notes)
        title = f"<h3>{_inline(self.title)}</h3>" if self.title else ""
        table = f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>' if self.columns else ""
        return title + table + notes


def _inline(text: str) -> str:
    """The two marks of Markdown that tables use, as HTML."""
    escaped = html.escape(text, quote=False)
    return re.sub(r"`(.+?)`", r"<code>\1</code>", re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", escaped))


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def spread(values: Sequence[float]) -> str:
    """0.424 ± 0.013, or 0.424 where there is one value, or a dash."""
    if not values:
        return "–"
    deviation = f" ± {stdev(values):.3f}" if len(values) > 1 else ""
    return f"{mean(values):.3f}{deviation}"


def with_published(values: Sequence[float], published: float | None) -> str:
    """Ours, and in brackets the paper's with ours minus it: 0.424 ± 0.013 (0.556, −0.132)."""
    if published is None:
        return spread(values)
    difference = f", {signed(mean(values) - published)}" if values else ""
    return f"{spread(values)} ({published:.3f}{difference})"


def signed(value: float) -> str:
    """+0.012 or −0.012; a rounded 0 has no sign."""
    text = f"{abs(value):.3f}"
    return text if float(text) == 0 else f"{'+' if value > 0 else '−'}{text}"
