"""The page of all experiments, and the pages of the project that are made from committed records."""

import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from drlh.bench.records import read_records
from drlh.core.errors import UserError
from drlh.report.experiments_page import experiments_page
from drlh.report.markdown import filled, markdown_blocks

ROOT = Path(__file__).parents[2]
FILLED = [
    page.relative_to(ROOT).as_posix()
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    if "<!-- drlh report:" in page.read_text(encoding="utf-8")
]
Leave = Callable[..., None]


def test_the_page_is_one_file_that_asks_nothing_of_the_network(leave: Leave, tmp_path: Path) -> None:
    for n_bits in (16, 32):
        leave("drlh", n_bits, 0.8)
        leave("sdh", n_bits, 0.7, data="<script>")
    page, drawings = experiments_page(tmp_path)
    assert not re.findall(r"(?:src|href)=\"(?!#)", page)
    assert "url(http" not in page
    assert "<script>" not in page  # names of data are text
    assert "prefers-color-scheme: dark" in page
    assert "0.800 (0.761, +0.039)" in page
    assert all(drawing.svg in page for drawing in drawings)
    parser = HTMLParser()
    parser.feed(page)
    ids = re.findall(r'\bid="(part\d|[a-z][0-9a-f]{8,})"', page)
    assert len(ids) == len(set(ids))


def test_a_directory_without_records_says_how_to_fill_it(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="drlh bench paper"):
        experiments_page(tmp_path)


@pytest.fixture(scope="module")
def committed() -> dict[str, str]:
    return markdown_blocks(read_records(ROOT / "benchmarks" / "records"))


@pytest.mark.parametrize("page", FILLED)
def test_its_tables_are_those_of_the_committed_records(page: str, committed: dict[str, str]) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    moved = f"run: drlh report --records benchmarks/records --fill {page}"
    assert filled(text, committed, page) == text, moved
