"""Tables inside Markdown pages, made from records: what stands between two marks is written anew, the rest is kept.

<!-- drlh report: cnn -->
(here)
<!-- end -->
"""

import re
from collections.abc import Mapping
from pathlib import Path

from drlh.core.errors import UserError
from drlh.core.files import write_text

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
    """Writes the page anew where its tables have moved; says whether they had."""
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
