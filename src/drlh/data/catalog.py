"""The data sets that go by a name: what they are, where they lie, how to get them."""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from drlh.core.files import cache_directory
from drlh.data.base import DataSet


@dataclass(frozen=True)
class NamedSet:
    """A published data set and the layout of its files; the module that reads it is imported when it is read.

    Attributes
    ----------
    name : what it is called.
    summary : what is in it, in one line.
    how : how to get it; {place} stands for its directory.
    module : the module of this room whose `read` reads the layout.
    folders : where the files may lie below its directory; none for a set that needs no files.
    marks : files, or directories that end in `/`; where all of one entry exist, the set is.
    reader : the function of `module` that reads the set by its name.
    also : further places where a system package puts it.
    """

    name: str
    summary: str
    how: str
    module: str
    folders: tuple[str, ...] = (".",)
    marks: tuple[tuple[str, ...], ...] = ((),)
    reader: str = "read"
    also: tuple[Path, ...] = ()

    def find(self, directory: Path) -> Path | None:
        """Where at or below `directory` the set lies, or None."""
        for root in (directory / folder for folder in self.folders):
            if any(all(_exists(root, mark) for mark in marks) for marks in self.marks):
                return root
        return None

    def read(self, root: Path, skip_bad: bool, reader: str = "read") -> DataSet:
        """The set whose files `find` found in `root`."""
        dataset: DataSet = getattr(import_module(f"drlh.data.{self.module}"), reader)(root, skip_bad)
        return dataset


def _exists(root: Path, mark: str) -> bool:
    return (root / mark).is_dir() if mark.endswith("/") else (root / mark).is_file()


_CIFAR10_BATCHES = (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch")
_IDX_FILES = (
    "train-images{}idx3-ubyte",
    "train-labels{}idx1-ubyte",
    "t10k-images{}idx3-ubyte",
    "t10k-labels{}idx1-ubyte",
)

SETS: dict[str, NamedSet] = {
    named.name: named
    for named in (
        NamedSet(
            "digits",
            "1,797 handwritten digits, 8x8 grey, 10 classes",
            "it is part of scikit-learn and needs no download",
            "digits",
            folders=(),
        ),
        NamedSet(
            "cifar10",
            "60,000 photographs, 32x32 colour, 10 classes, 10,000 of them for testing",
            "run `drlh data fetch cifar10`, or put the six *.bin files of "
            "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz into {place}",
            "cifar10",
            (".", "cifar-10-batches-bin", "cifar-10-batches-py"),
            tuple((f"{batch}{ending}",) for batch in _CIFAR10_BATCHES for ending in (".bin", "")),
        ),
        NamedSet(
            "fashion-mnist",
            "70,000 pictures of clothes, 28x28 grey, 10 classes, 10,000 of them for testing",
            "run `drlh data fetch fashion-mnist` or `apt-get install dataset-fashion-mnist`, or put the four "
            "*-ubyte.gz files of https://github.com/zalandoresearch/fashion-mnist into {place}",
            "idx",
            marks=tuple((f"{name.format(dot)}{end}",) for name in _IDX_FILES for dot in "-." for end in ("", ".gz")),
            reader="read_fashion",
            also=(Path("/usr/share/datasets/fashion-mnist"),),
        ),
        NamedSet(
            "nuswide21",
            "195,834 Flickr photographs with the 21 most frequent of 81 concepts, several for each",
            "ask for NUS-WIDE at "
            "https://lms.comp.nus.edu.sg/wp-content/uploads/2019/research/nuswide/NUS-WIDE.html and put its "
            "directories ImageList, Groundtruth, and Low_Level_Features or Flickr into {place}",
            "nuswide",
            (".", "NUS-WIDE", "NUS_WIDE"),
            (("Groundtruth/AllLabels/",),),
        ),
        NamedSet(
            "voc2007",
            "9,963 photographs, 20 classes, several for each, 4,952 of them for testing",
            "run `drlh data fetch voc2007`, or unpack VOCtrainval_06-Nov-2007.tar and VOCtest_06-Nov-2007.tar of "
            "http://host.robots.ox.ac.uk/pascal/VOC/voc2007/ into {place}",
            "voc",
            (".", "VOC2007", "VOCdevkit/VOC2007"),
            (("ImageSets/Main/", "JPEGImages/"),),
        ),
    )
}


def default_place(name: str, directory: str | Path | None = None) -> Path:
    """The directory that a named set is fetched into and looked for."""
    return Path(directory).expanduser() if directory else cache_directory() / "data" / name


def how_to_get(name: str, directory: str | Path | None = None) -> str:
    return SETS[name].how.format(place=default_place(name, directory))


def find_set(name: str, directory: str | Path | None = None) -> Path | None:
    """Where the named set lies on this machine, or None."""
    named = SETS[name]
    places = [default_place(name, directory), *(() if directory else named.also)]
    if not named.folders:
        return places[0]
    return next((found for place in places if (found := named.find(place)) is not None), None)


def list_sets() -> list[dict[str, Any]]:
    """Each named set: name, summary, how to get it, whether it is here (and where)."""
    rows = []
    for name, named in SETS.items():
        found = find_set(name)
        rows.append(
            {
                "name": name,
                "summary": named.summary,
                "how": how_to_get(name),
                "present": found is not None,
                "directory": str(found) if found and named.folders else None,
            }
        )
    return rows
