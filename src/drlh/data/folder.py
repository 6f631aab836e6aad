"""Any folder of pictures: each sub-folder is a class; pictures without sub-folders have none."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from drlh.core.errors import UserError
from drlh.data.bad_rows import refuse_empty
from drlh.data.base import DataSet, FileImages

UNLABELLED = "unlabelled"
ENDINGS = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm")


def read(root: Path, skip_bad: bool = False) -> DataSet:
    names: list[str] = []
    counts: dict[str, int] = {}
    for folder in _class_folders(root):
        pictures = list_pictures(root / folder)
        names.extend(f"{folder}/{picture}" for picture in pictures)
        counts[folder] = len(pictures)
    classes = tuple(folder for folder, count in counts.items() if count)
    if not classes:
        return _read_unlabelled(root)
    labels = np.repeat(np.arange(len(classes)), [counts[folder] for folder in classes])
    dataset = DataSet(root.resolve().name, labels, classes, FileImages(root, names), notes=_notes(root, counts))
    return refuse_empty(dataset)


def _read_unlabelled(root: Path) -> DataSet:
    """Loose pictures: good for encoding, searching and unsupervised methods."""
    names = list_pictures(root)
    if not names:
        raise UserError(
            f"{root} holds no picture ({' '.join(ENDINGS)}): wanted one sub-folder for each class, named after it"
        )
    note = "there are no class folders, so the pictures have no labels: only unsupervised methods can learn from them"
    labels = np.zeros(len(names), np.int64)
    return DataSet(root.resolve().name, labels, (UNLABELLED,), FileImages(root, names), notes=(note,))


def list_pictures(directory: str | Path) -> list[str]:
    """Paths of all pictures below `directory`, relative to it, sorted; hidden files are passed over."""
    return sorted(_walk(str(directory), ""))


def _walk(directory: str, prefix: str) -> Iterator[str]:
    for entry in _scan(directory):
        # Links to directories are not followed: one that points upwards would never end.
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(entry.path, f"{prefix}{entry.name}/")
        elif _is_picture(entry):
            yield prefix + entry.name


def _scan(directory: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            yield from (entry for entry in entries if not entry.name.startswith("."))
    except OSError as error:
        raise UserError(f"{directory} cannot be listed: {error.strerror}") from error


def _is_picture(entry: os.DirEntry[str]) -> bool:
    return entry.name.lower().endswith(ENDINGS) and entry.is_file()


def _class_folders(root: Path) -> list[str]:
    return sorted(entry.name for entry in _scan(str(root)) if entry.is_dir())


def _notes(root: Path, counts: dict[str, int]) -> tuple[str, ...]:
    loose = sum(_is_picture(entry) for entry in _scan(str(root)))
    empty = [folder for folder, count in counts.items() if not count]
    notes = []
    if loose:
        notes.append(f"pictures directly in {root}, outside any class folder, are not in the set: {loose}")
    if empty:
        notes.append(f"folders without pictures are no classes: {', '.join(empty)}")
    return tuple(notes)
