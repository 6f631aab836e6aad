"""Tables inside pages."""

from pathlib import Path

import pytest

from drlh.core.errors import UserError
from drlh.report.markdown import fill_page, filled

PAGE = "Before.\n\n<!-- drlh report: one -->\nold | text\n<!-- end -->\n\nAfter.\n"


def test_what_is_between_marks_is_written_anew_and_the_rest_kept() -> None:
    text = filled(PAGE, {"one": "| new |\n"}, "page")
    assert text == "Before.\n\n<!-- drlh report: one -->\n\n| new |\n\n<!-- end -->\n\nAfter.\n"
    assert filled(text, {"one": "| new |\n"}, "page") == text
    assert filled(text, {"one": r"\1 newer"}, "page").count(r"\1 newer") == 1  # no sign has a meaning of its own


def test_a_page_is_written_only_when_it_moved(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    assert fill_page(page, {"one": "x"})
    assert not fill_page(page, {"one": "x"})


def test_unknown_tables_and_pages_without_marks_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="'one'"):
        filled(PAGE, {"two": ""}, "page")
    (tmp_path / "bare.md").write_text("nothing", encoding="utf-8")
    with pytest.raises(UserError, match="no marked table"):
        fill_page(tmp_path / "bare.md", {})
    with pytest.raises(UserError, match="cannot be read"):
        fill_page(tmp_path / "none.md", {})
