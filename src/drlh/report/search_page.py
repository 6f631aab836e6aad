"""The page of `drlh search --html`: each photo beside what it found, thumbnails inside the page."""

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from drlh.core.errors import UserError
from drlh.data import SETS, load
from drlh.data.base import FileImages, Images
from drlh.data.catalog import find_set
from drlh.data.picture import Picture, decode_picture
from drlh.report.demo_page import STYLE, picture_tag

_SIDE = 160  # pixels of a thumbnail's longer side
_LAYOUT = """
.search { flex-wrap: nowrap; } .query { flex: none; }
.hits img, .query img, .none { width: 96px; height: 96px; image-rendering: auto; }
.none { display: grid; place-items: center; border-radius: 4px; background: var(--line); }
figure { width: 102px; overflow-wrap: anywhere; }
"""


class NamedPictures:
    """Pictures by the names in search results: files below the folder `images` (by default the working directory), or
    rows of a named data set.

    A name such as `cifar10/17` says itself which set it belongs to; where the rows of a set have names of their own,
    `images` names the set. `data_dir` is where it lies, if not in the cache.
    """

    def __init__(self, images: str | Path | None = None, data_dir: Path | None = None) -> None:
        self._set = str(images) if str(images) in SETS else None
        self._root = Path() if images is None or self._set else Path(images)
        self._data_dir = data_dir
        self._opened: dict[str, tuple[Images, dict[str, int]]] = {}
        if not self._root.is_dir():
            raise UserError(f"{images} is not a folder or a data set's name: give the one that was encoded")

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


def search_page(results: Sequence[dict[str, Any]], pictures: NamedPictures) -> str:
    """`results` of a search, with thumbnails from `pictures`."""
    shown = "".join(_search(result, pictures) for result in results)
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>drlh search</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}{_LAYOUT}</style>'
        "<h1>Nearest images</h1>"
        '<p class="faint">Left, a photo; right, what lies nearest to it by Hamming distance between codes.</p>'
        f"{shown}</html>\n"
    )


def _search(result: dict[str, Any], pictures: NamedPictures) -> str:
    photo = Path(result["photo"])
    query = f"{_thumbnail(pictures.find(str(photo.absolute())), photo.name)}{html.escape(photo.name)}"
    hits = "".join(
        f'<figure title="{html.escape(hit["name"])}">{_thumbnail(pictures.find(hit["name"]), hit["name"])}'
        f"{html.escape(', '.join(hit['labels']) or Path(hit['name']).name)} · {hit['distance']}</figure>"
        for hit in result["hits"]
    )
    return f'<div class="search"><figure class="query">{query}</figure><div class="hits">{hits}</div></div>'


def _thumbnail(picture: Picture | None, name: str) -> str:
    """A picture that is no longer there is a grey square, not the end of the page."""
    return '<div class="none">no picture</div>' if picture is None else picture_tag(_small(picture), name)


def _small(picture: Picture) -> Picture:
    image = Image.fromarray(picture)
    image.thumbnail((_SIDE, _SIDE))
    return np.asarray(image)
