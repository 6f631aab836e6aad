"""One door to every data set: a name, or a path that is recognised by what it is."""

from difflib import get_close_matches
from pathlib import Path

from drlh.core.errors import UserError
from drlh.data.base import DataSet
from drlh.data.catalog import SETS, default_place, find_set, how_to_get

_FILES = (".npz", ".csv", ".tsv")


def load(source: str | Path, *, directory: str | Path | None = None, skip_bad: bool = False) -> DataSet:
    """A data set by name or path.

    Parameters
    ----------
    source : a name (see `list_sets`), or the path of an NPZ feature file, a CSV or TSV table, a directory in the layout
        of CIFAR-10, IDX, NUS-WIDE or VOC, or a folder with one sub-folder for each class.
    directory : where a named set lies, if not in the cache.
    skip_bad : leave broken rows out and list them in `left_out`, instead of raising a UserError for the first.
    """
    if isinstance(source, str) and source in SETS:
        return _load_name(source, directory, skip_bad)
    if directory is not None:
        raise UserError(f"a directory goes with the name of a data set ({', '.join(SETS)}): got {source}")
    path = Path(source).expanduser()
    if path.is_dir():
        return _load_directory(path, skip_bad)
    if path.exists():
        return _load_file(path, skip_bad)
    raise UserError(_unknown(str(source)))


def _load_name(name: str, directory: str | Path | None, skip_bad: bool) -> DataSet:
    root = find_set(name, directory)
    if root is None:
        raise UserError(f"{name} is not in {default_place(name, directory)}: {how_to_get(name, directory)}")
    return SETS[name].read(root, skip_bad, SETS[name].reader)


def _load_file(path: Path, skip_bad: bool) -> DataSet:
    ending = path.suffix.lower()
    if ending not in _FILES:
        raise UserError(f"{path} is no data set: wanted a file ending in {', '.join(_FILES)}, or a directory")
    if ending == ".npz":
        import drlh.data.npz as npz

        return npz.read(path, skip_bad)
    import drlh.data.table as table

    return table.read(path, skip_bad)


def _load_directory(path: Path, skip_bad: bool) -> DataSet:
    """The first layout that is found decides; otherwise it is a folder of pictures."""
    for named in SETS.values():
        root = named.find(path)
        if root is not None:
            return named.read(root, skip_bad)
    import drlh.data.folder as folder

    return folder.read(path, skip_bad)


def _unknown(source: str) -> str:
    near = get_close_matches(source.lower(), SETS, n=1, cutoff=0.5)
    guess = f" (did you mean {near[0]}?)" if near else ""
    return f"{source!r} is neither an existing path nor a data set's name{guess}: the names are {', '.join(SETS)}"
