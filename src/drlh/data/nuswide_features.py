"""NUS-WIDE's own 1,134 features: six text files, each whole or in a train and a test part.

Whole:  Normalized_CH.dat … BoW_int.dat, rows as in Imagelist.txt.
Parts:  Train_Normalized_CH.dat, Test_Normalized_CH.dat … BoW_Train_int.dat, BoW_Test_int.dat, rows as in
        TrainImagelist.txt and TestImagelist.txt.
"""

from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from drlh.core.errors import UserError
from drlh.data.bad_rows import BadRows
from drlh.data.lines import lines_of

# Colour histogram, colour correlogram, edge directions, wavelet texture, colour moments, bag of SIFT words.
WIDTHS = {"CH": 64, "CORR": 144, "EDH": 73, "WT": 128, "CM55": 225, "BoW": 500}
_BLOCK = 2048  # lines parsed in one go

Rows = NDArray[np.int64]
Matrix = NDArray[np.float32]


def read_features(root: Path, names: list[str], rows: Rows, bad: BadRows) -> Matrix | None:
    """(len(rows), 1134) for the pictures `rows` of `names`, or None where there is no feature directory."""
    directory = _feature_directory(root)
    if directory is None:
        return None
    target_of = np.full(len(names), -1, np.int64)  # picture → its row in the result, -1 for the ones not wanted
    target_of[rows] = np.arange(len(rows))
    features = np.empty((len(rows), sum(WIDTHS.values())), np.float32)
    start = 0
    for kind, width in WIDTHS.items():
        columns = features[:, start : start + width]
        for path, pictures in _files(root, directory, kind, names):
            _fill(columns, path, target_of[pictures], bad)
        start += width
    return features


def _feature_directory(root: Path) -> Path | None:
    places = (root / "Low_Level_Features", root / "NUS_WID_Low_Level_Features" / "Low_Level_Features")
    return next((place for place in places if place.is_dir()), None)


def _files(root: Path, directory: Path, kind: str, names: list[str]) -> list[tuple[Path, Rows]]:
    """The files of one kind, each with the pictures that its lines belong to."""
    forms = ("BoW_int", "BoW_Train_int", "BoW_Test_int")
    if kind != "BoW":
        forms = (f"Normalized_{kind}", f"Train_Normalized_{kind}", f"Test_Normalized_{kind}")
    whole, train, test = (_locate(root, directory, f"{form}.dat") for form in forms)
    if whole is not None:
        return [(whole, np.arange(len(names)))]
    if train is None or test is None:
        raise UserError(
            f"{directory} lacks {forms[0]}.dat (or {forms[1]}.dat and {forms[2]}.dat): "
            f"the {sum(WIDTHS.values()):,} features need all six kinds; add the file or move the directory away"
        )
    places = {name: place for place, name in enumerate(names)}
    return [
        (train, _places(root, "TrainImagelist.txt", places)),
        (test, _places(root, "TestImagelist.txt", places)),
    ]


def _locate(root: Path, directory: Path, name: str) -> Path | None:
    # The bag of words comes in an archive of its own, which people unpack beside the others or below them.
    places = (directory / name, directory / "BoW_int" / name, root / "BoW_int" / name, root / name)
    return next((path for path in places if path.is_file()), None)


def _places(root: Path, listing: str, places: dict[str, int]) -> Rows:
    path = root / "ImageList" / listing
    found = [places.get(line.replace("\\", "/"), -1) for line in lines_of(path)]
    if -1 in found:
        raise UserError(f"{path} names a picture, number {found.index(-1) + 1}, that Imagelist.txt does not")
    return np.array(found, np.int64)


def _fill(columns: Matrix, path: Path, targets: Rows, bad: BadRows) -> None:
    done = 0
    with open(path, encoding="ascii", errors="replace") as file:
        lines = (line for line in file if not line.isspace())
        while block := list(islice(lines, _BLOCK)):
            into = targets[done : done + len(block)]
            if len(into) < len(block):
                break
            _fill_block(columns, block, into, bad, f"{path} line ", done)
            done += len(block)
        left = sum(1 for _ in lines) + len(block)
    if done + left != len(targets):
        raise UserError(f"{path} has {done + left} lines for {len(targets)} pictures; download it anew")


def _fill_block(columns: Matrix, block: list[str], into: Rows, bad: BadRows, where: str, first: int) -> None:
    wanted = np.flatnonzero(into >= 0)
    try:
        values = np.loadtxt(block, np.float32, comments=None, ndmin=2)
        whole = values.shape[1] == columns.shape[1] and bool(np.isfinite(values).all())
    except ValueError:
        whole = False
    if whole:
        columns[into[wanted]] = values[wanted]
        return
    for place in wanted:  # something in this block is broken: find out which line
        numbers = _numbers(block[place], columns.shape[1])
        if numbers is None:
            problem = f"{where}{first + place + 1}: wanted {columns.shape[1]} finite numbers, got {block[place][:40]!r}"
            bad.add(int(into[place]), problem)
        else:
            columns[into[place]] = numbers


def _numbers(line: str, width: int) -> Matrix | None:
    try:
        numbers = np.array(line.split(), np.float32)
    except ValueError:
        return None
    return numbers if numbers.shape == (width,) and np.isfinite(numbers).all() else None
