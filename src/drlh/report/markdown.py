"""Tables as Markdown, and inside pages: what stands between two marks is made from records, the rest is kept.

<!-- drlh report: cnn -->
(here)
<!-- end -->
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from drlh.bench.store import Record
from drlh.core.errors import UserError
from drlh.core.files import write_text
from drlh.report.paper_grids import COMPARED, VARIED, paper_grids
from drlh.report.record_grids import comparison_grid, results_grids

_MARKED = re.compile(r"(<!-- drlh report: (?P<name>[\w-]+) -->\n).*?(\n?<!-- end -->)", re.DOTALL)


def filled(text: str, blocks: Mapping[str, str], page: str | Path) -> str:
    """The page's text with every marked block as `blocks` has it; a name that is not there is refused."""

    def block(found: re.Match[str]) -> str:
        name = found["name"]
        if name not in blocks:
            raise UserError(f"{page} asks for the table {name!r}: there are {', '.join(blocks)}")
        return f"{found[1]}\n{blocks[name].strip()}\n\n<!-- end -->"

    return _MARKED.sub(block, text)


def fill_page(page: Path, blocks: Mapping[str, str]) -> bool:
    """Rewrites the page if its tables have changed; returns whether they had."""
    try:
        text = page.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{page} cannot be read: {error.strerror}") from error
    if not _MARKED.search(text):
        raise UserError(f"{page} has no marked table: put <!-- drlh report: NAME --> and <!-- end --> where one goes")
    new = filled(text, blocks, page)
    if new != text:
        write_text(page, new)
    return new != text


def markdown_blocks(records: Sequence[Record]) -> dict[str, str]:
    """Name → Markdown of what pages may show between marks."""
    grids = {name: paper_grids(name, records) for name in (*COMPARED, *VARIED, "cnn-update")}
    blocks = {name: "\n".join(grid.markdown(3) for grid in some) for name, some in grids.items()}
    for name in COMPARED:  # a short page shows the fullest table of the data that was run
        blocks[f"{name}-cifar10"] = next(grid for grid in grids[name] if "CIFAR-10" in grid.title).markdown(3)
    train = [grid for grid in grids["traditional"] if "cifar10-I-train" in grid.title]
    blocks["traditional-train"] = "\n".join(grid.markdown(3) for grid in train)
    blocks["comparison"] = comparison_grid(records).markdown(3)
    cifar10 = [record for record in records if record["protocol"] in ("cifar10-I", "cifar10-II")]
    blocks["comparison-cifar10"] = comparison_grid(cifar10).markdown(3)
    blocks["results"] = "\n".join(grid.markdown(2) for grid in results_grids(records))
    return blocks
