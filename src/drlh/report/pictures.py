"""Pictures by the names that search results carry."""

from pathlib import Path

from drlh.core.errors import UserError
from drlh.data import SETS, load
from drlh.data.base import FileImages, Images
from drlh.data.catalog import find_set
from drlh.data.picture import Picture, decode_picture


class Pictures:
    """Files below the folder `images` (by default where we are), or rows of a named data set.

    A name such as `cifar10/17` says itself which set it belongs to; where the rows of a set have names of their own,
    `images` names the set. `data_dir` is where it lies, if not in the cache.
    """

    def __init__(self, images: str | Path | None = None, data_dir: Path | None = None) -> None:
        self._set = str(images) if str(images) in SETS else None
        self._root = Path() if images is None or self._set else Path(images)
        self._data_dir = data_dir
        self._opened: dict[str, tuple[Images, dict[str, int]]] = {}
        if not self._root.is_dir():
            raise UserError(f"--images {images} is not a folder or a data set's name: give the one that was encoded")

    def find(self, name: str) -> Picture | None:
        """The picture, or None where it has moved or broken since it was encoded."""
        try:
            path = self._root / name
            if self._set is None and path.is_file():
                return decode_picture(path.read_bytes(), str(path))
            images, rows = self._open(self._set or name.partition("/")[0])
            return images.read(rows[name])
        except (OSError, UserError, KeyError):
            return None

    def _open(self, name: str) -> tuple[Images, dict[str, int]]:
        """The pictures of a data set, and the row of each name; a set that is not here has none."""
        if name not in self._opened:
            here = name in SETS and find_set(name, self._data_dir) is not None
            images = load(name, directory=self._data_dir).images if here else None
            images = images or FileImages(Path(), [])
            self._opened[name] = images, {images.name(row): row for row in range(len(images))}
        return self._opened[name]
