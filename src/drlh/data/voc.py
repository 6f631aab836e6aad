"""PASCAL VOC in its official layout: several of 20 classes for each picture.

A class counts as present also where its objects are marked difficult: they are in the picture.
"""

import os
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from drlh.core.errors import UserError
from drlh.data.bad_rows import BadRows
from drlh.data.base import DataSet, FileImages
from drlh.data.lines import lines_of

CLASSES = (
    "aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow", "diningtable", "dog",
    "horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor",
)  # fmt: skip

Labels = NDArray[np.uint8]  # (pictures, 20)


def read(root: Path, skip_bad: bool = False) -> DataSet:
    sets = ("trainval",) if has_set(root, "trainval") else ("train", "val")
    present = [name for name in (*sets, "test") if has_set(root, name)]
    if not present:
        raise UserError(f"{root / 'ImageSets' / 'Main'} lists neither trainval nor test; unpack the VOC archives anew")
    parts = [_read_set(root, name) for name in present]
    ids = [picture for pictures, _ in parts for picture in pictures]
    test = np.concatenate([np.full(len(labels), name == "test") for name, (_, labels) in zip(present, parts)])
    images = FileImages(root / "JPEGImages", [f"{picture}.jpg" for picture in ids])
    labels = np.concatenate([labels for _, labels in parts])
    dataset = DataSet("voc2007", labels, CLASSES, images, test=test if "test" in present else None)
    bad = BadRows(skip_bad)
    for row, name in enumerate(images.names):
        if not os.path.isfile(images.root / name):
            bad.add(row, f"{images.root / name} (row {row}) is listed but missing")
    return bad.drop_from(dataset)


def has_set(root: Path, name: str) -> bool:
    main = root / "ImageSets" / "Main"
    return (main / f"{name}.txt").is_file() or (main / f"{CLASSES[0]}_{name}.txt").is_file()


def _read_set(root: Path, name: str) -> tuple[list[str], Labels]:
    """The pictures of one set and their labels, from the lists of the classes or else from the annotations."""
    main = root / "ImageSets" / "Main"
    if not any((main / f"{class_name}_{name}.txt").is_file() for class_name in CLASSES):
        return _from_annotations(root, lines_of(main / f"{name}.txt"))
    columns = [_read_list(main / f"{class_name}_{name}.txt") for class_name in CLASSES]
    pictures = list(columns[0])
    for class_name, column in zip(CLASSES, columns):
        if list(column) != pictures:
            raise UserError(f"{main / f'{class_name}_{name}.txt'} lists other pictures than {CLASSES[0]}_{name}.txt")
    return pictures, np.array([list(column.values()) for column in columns], np.uint8).T


def _read_list(path: Path) -> dict[str, int]:
    """Picture → whether the class is in it: 1 is there, 0 there but difficult, -1 not there."""
    found: dict[str, int] = {}
    for number, line in enumerate(lines_of(path), 1):
        picture, _, mark = line.partition(" ")
        if mark.strip() not in ("1", "0", "-1"):
            raise UserError(f"{path} line {number}: wanted a picture and 1, 0 or -1, got {line!r}")
        found[picture] = int(mark.strip() != "-1")
    return found


def _from_annotations(root: Path, pictures: list[str]) -> tuple[list[str], Labels]:
    labels = np.zeros((len(pictures), len(CLASSES)), np.uint8)
    for row, picture in enumerate(pictures):
        path = root / "Annotations" / f"{picture}.xml"
        try:
            named = [str(thing.findtext("name")).strip() for thing in ElementTree.parse(path).iter("object")]
            labels[row, [CLASSES.index(name) for name in named]] = 1
        except (OSError, ElementTree.ParseError, ValueError) as error:
            raise UserError(f"{path} (row {row}) cannot be read as a VOC annotation: {error}") from error
    return pictures, labels
