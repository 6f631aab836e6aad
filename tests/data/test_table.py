from collections.abc import Callable
from pathlib import Path

import pytest

from drlh.core.errors import UserError
from drlh.data import load

Write = Callable[[Path, int], Path]


@pytest.fixture
def directory(tmp_path: Path, write_picture: Write) -> Path:
    for number in range(3):
        write_picture(tmp_path / "img" / f"{number}.png", number)
    return tmp_path


def test_a_label_column_gives_class_ids(directory: Path) -> None:
    (directory / "set.csv").write_text('extra,Path,Label\n1,img/2.png,"cat, big"\n2,img/0.png,ant\n\n3,img/1.png,ant\n')
    dataset = load(directory / "set.csv")
    assert dataset.name == "set"
    assert dataset.classes == ("ant", "cat, big")
    assert dataset.labels.tolist() == [1, 0, 0]
    assert dataset.images is not None
    assert dataset.images.read(0)[0, 0, 0] == 2


def test_a_labels_column_gives_multi_hot_rows(directory: Path) -> None:
    (directory / "set.tsv").write_text("path\tlabels\nimg/0.png\tsea|sky\nimg/1.png\tsky\nimg/2.png\tdog | sky|dog\n")
    dataset = load(directory / "set.tsv")
    assert dataset.classes == ("dog", "sea", "sky")
    assert dataset.labels.tolist() == [[0, 1, 1], [0, 0, 1], [1, 0, 1]]


def test_absolute_paths_are_taken_as_they_are(directory: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "set.csv").write_text(f"path,label\n{directory / 'img' / '1.png'},a\n")
    dataset = load(tmp_path / "other" / "set.csv")
    assert dataset.images is not None
    assert dataset.images.read(0)[0, 0, 0] == 1


@pytest.mark.parametrize("header", ["path,kind", "file,label", "path,label,labels", ""])
def test_missing_columns_are_named(directory: Path, header: str) -> None:
    (directory / "set.csv").write_text(f"{header}\n")
    with pytest.raises(UserError, match=r"set\.csv line 1: a table needs the columns path and label"):
        load(directory / "set.csv")


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("img/9.png,a", "line 3: .*9.png does not exist"),
        ("img/1.png,", "line 3: the label is empty"),
        ("img/1.png", "line 3: the label is empty"),
        (",a", "line 3: the path is empty"),
    ],
)
def test_a_bad_row_is_named_by_its_line_or_left_out(directory: Path, row: str, told: str) -> None:
    (directory / "set.csv").write_text(f"path,label\nimg/0.png,b\n{row}\nimg/2.png,c\n")
    with pytest.raises(UserError, match=told):
        load(directory / "set.csv")
    dataset = load(directory / "set.csv", skip_bad=True)
    assert dataset.classes == ("b", "c")
    assert dataset.images is not None
    assert [dataset.images.name(row) for row in range(len(dataset))] == ["img/0.png", "img/2.png"]
    assert len(dataset.left_out) == 1


def test_one_empty_label_among_several_is_a_bad_row(directory: Path) -> None:
    (directory / "set.csv").write_text("path,labels\nimg/0.png,a||b\n")
    with pytest.raises(UserError, match="line 2: the label is empty"):
        load(directory / "set.csv")


def test_a_table_without_a_usable_row_is_refused(directory: Path) -> None:
    (directory / "set.csv").write_text("path,label\n")
    with pytest.raises(UserError, match="no usable row"):
        load(directory / "set.csv")
    (directory / "set.csv").write_text("path,label\nimg/7.png,a\n")
    with pytest.raises(UserError, match="all 1 were left out"):
        load(directory / "set.csv", skip_bad=True)


def test_a_file_that_is_no_text_is_refused(directory: Path) -> None:
    (directory / "set.csv").write_bytes(b"\xff\xfe\x00path")
    with pytest.raises(UserError, match="cannot be read as a table"):
        load(directory / "set.csv")


def test_bars_in_a_label_column_are_told(directory: Path) -> None:
    (directory / "set.csv").write_text("path,label\nimg/0.png,a|b\n")
    assert "name the column labels" in load(directory / "set.csv").notes[0]
