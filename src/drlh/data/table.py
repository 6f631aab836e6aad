"""Any CSV or TSV table of pictures: the columns `path` and `label`, or `path` and `labels` (`a|b|c`)."""

import csv
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from drlh.core.errors import UserError
from drlh.data.bad_rows import BadRows, refuse_empty
from drlh.data.base import DataSet, FileImages
from drlh.data.labels import Labels

Row = tuple[int, str, tuple[str, ...]]  # line in the table, path, class names


def read(path: Path, skip_bad: bool = False) -> DataSet:
    bad = BadRows(skip_bad)
    names: list[str] = []
    labels: list[tuple[str, ...]] = []
    several = "labels" in _header(path)
    for row, (line, name, given) in enumerate(_rows(path, several)):
        problem = _problem(path.parent, name, given)
        if problem:
            bad.add(row, f"{path} line {line}: {problem}")
            continue
        names.append(name)
        labels.append(given)
    classes = tuple(sorted({label for given in labels for label in given}))
    dataset = DataSet(
        name=path.stem,
        labels=_encode(labels, classes, several),
        classes=classes,
        images=FileImages(path.parent, names),
        left_out=bad.left_out,
        notes=_notes(classes, several),
    )
    return refuse_empty(dataset)


def _delimiter(path: Path) -> str:
    return "\t" if path.suffix.lower() == ".tsv" else ","


def _header(path: Path) -> list[str]:
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            first = next(csv.reader(file, delimiter=_delimiter(path)), [])
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path} cannot be read as a table: {error}") from error
    header = [column.strip().lower() for column in first]
    if "path" not in header or ("label" in header) == ("labels" in header):
        raise UserError(
            f"{path} line 1: a table needs the columns path and label (one class) or path and labels (a|b|c): "
            f"got {', '.join(header) or 'nothing'}"
        )
    return header


def _rows(path: Path, several: bool) -> Iterator[Row]:
    header = _header(path)
    path_at, label_at = header.index("path"), header.index("labels" if several else "label")
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=_delimiter(path))
            next(reader)
            for cells in reader:
                if cells:  # an empty line is no row
                    cells += [""] * (len(header) - len(cells))
                    yield reader.line_num, cells[path_at].strip(), _labels(cells[label_at], several)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path} cannot be read as a table: {error}") from error


def _labels(cell: str, several: bool) -> tuple[str, ...]:
    parts = cell.split("|") if several else [cell]
    return tuple(dict.fromkeys(part.strip() for part in parts))


def _problem(root: Path, name: str, labels: tuple[str, ...]) -> str | None:
    if not name:
        return "the path is empty"
    if "" in labels:
        return "the label is empty"
    if not os.path.isfile(os.path.join(root, name)):
        return f"{os.path.join(root, name)} does not exist (paths count from the table's own directory)"
    return None


def _encode(labels: list[tuple[str, ...]], classes: tuple[str, ...], several: bool) -> Labels:
    ids = {name: number for number, name in enumerate(classes)}
    if not several:
        return np.array([ids[given[0]] for given in labels], np.int64)
    hot = np.zeros((len(labels), len(classes)), np.uint8)
    for row, given in enumerate(labels):
        hot[row, [ids[label] for label in given]] = 1
    return hot


def _notes(classes: tuple[str, ...], several: bool) -> tuple[str, ...]:
    odd = next((name for name in classes if "|" in name), None)
    if several or odd is None:
        return ()
    return (f"the class {odd!r} looks like several labels: name the column labels to have them taken apart",)
