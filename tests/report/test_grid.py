"""Tables in Markdown and HTML, and the small words in their cells."""

from drlh.report.grid import Grid, signed, spread, with_published


def test_markdown_has_a_rule_below_the_head_and_notes_below_the_rows() -> None:
    grid = Grid("T", ["a", "b"], [["1", "2"]], ["n", "m"])
    assert grid.markdown(3) == "### T\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nn\n\nm\n"


def test_html_is_escaped_and_knows_bold_and_code() -> None:
    text = Grid("<T>", ["a"], [["**x** & `y`"]]).html()
    assert "<h3>&lt;T&gt;</h3>" in text
    assert "<td><b>x</b> &amp; <code>y</code></td>" in text


def test_a_grid_without_columns_is_its_words_alone() -> None:
    grid = Grid("T", [], [], ["not run"])
    assert grid.markdown() == "## T\n\nnot run\n"
    assert "<table>" not in grid.html()


def test_cells_show_mean_spread_the_papers_number_and_the_difference() -> None:
    assert spread([0.5]) == "0.500"
    assert spread([0.4, 0.6]) == "0.500 ± 0.141"
    assert spread([]) == "–"
    assert with_published([0.4, 0.6], 0.55) == "0.500 ± 0.141 (0.550, −0.050)"
    assert with_published([], 0.55) == "– (0.550)"
    assert with_published([0.5], None) == "0.500"
    assert [signed(value) for value in (0.0123, -0.5, 0.0001, -0.0001)] == ["+0.012", "−0.500", "0.000", "0.000"]
