"""The data sets that go by a name: what they are, where they lie, how to get them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drlh.core.files import cache_directory
from drlh.data import cifar10, digits, idx, nuswide, voc
from drlh.data.base import DataSet

Find = Callable[[Path], Path | None]
Read = Callable[[Path, bool], DataSet]


@dataclass(frozen=True)
class NamedSet:
    """`find` says where below a directory the set lies, `read` reads it there."""

    name: str
    summary: str
    how: str  # to get it; {place} stands for the directory
    find: Find
    read: Read
    also: tuple[Path, ...] = ()  # further places where a system package puts it


SETS: dict[str, NamedSet] = {
    named.name: named
    for named in (
        NamedSet(
            "digits",
            "1,797 handwritten digits, 8x8 grey, 10 classes",
            "it is part of scikit-learn and needs no download",
            lambda directory: directory,
            digits.read,
        ),
        NamedSet(
            "cifar10",
            "60,000 photographs, 32x32 colour, 10 classes, 10,000 of them for testing",
            "run `drlh data fetch cifar10`, or put the six *.bin files of "
            "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz into {place}",
            cifar10.find,
            cifar10.read,
        ),
        NamedSet(
            "fashion-mnist",
            "70,000 pictures of clothes, 28x28 grey, 10 classes, 10,000 of them for testing",
            "run `drlh data fetch fashion-mnist` or `apt-get install dataset-fashion-mnist`, or put the four "
            "*-ubyte.gz files of https://github.com/zalandoresearch/fashion-mnist into {place}",
            idx.find,
            idx.read_fashion,
            (Path("/usr/share/datasets/fashion-mnist"),),
        ),
        NamedSet(
            "nuswide21",
            "195,834 Flickr photographs with the 21 most frequent of 81 concepts, several for each",
            "ask for NUS-WIDE at "
            "https://lms.comp.nus.edu.sg/wp-content/uploads/2019/research/nuswide/NUS-WIDE.html and put its "
            "directories ImageList, Groundtruth, and Low_Level_Features or Flickr into {place}",
            nuswide.find,
            nuswide.read,
        ),
        NamedSet(
            "voc2007",
            "9,963 photographs, 20 classes, several for each, 4,952 of them for testing",
            "run `drlh data fetch voc2007`, or unpack VOCtrainval_06-Nov-2007.tar and VOCtest_06-Nov-2007.tar of "
            "http://host.robots.ox.ac.uk/pascal/VOC/voc2007/ into {place}",
            voc.find,
            voc.read,
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
    return next((found for place in places if (found := named.find(place)) is not None), None)


def list_sets() -> list[dict[str, Any]]:
    """Each named set: name, summary, how to get it, whether it is here (and where)."""
    rows = []
    for name, named in SETS.items():
        found = find_set(name)
        built_in = named.read is digits.read
        rows.append(
            {
                "name": name,
                "summary": named.summary,
                "how": how_to_get(name),
                "present": found is not None,
                "directory": None if built_in or found is None else str(found),
            }
        )
    return rows
