"""The page of `drlh search --html`: each photo beside what it found, thumbnails inside the page."""

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from drlh.data.picture import Picture
from drlh.report.page import STYLE, picture_tag
from drlh.report.pictures import Pictures

_SIDE = 160  # pixels of a thumbnail's longer side
_LAYOUT = """
.search { flex-wrap: nowrap; } .query { flex: none; }
.hits img, .query img, .none { width: 96px; height: 96px; image-rendering: auto; }
.none { display: grid; place-items: center; border-radius: 4px; background: var(--line); }
figure { width: 102px; overflow-wrap: anywhere; }
"""


def search_page(results: Sequence[dict[str, Any]], pictures: Pictures) -> str:
    """`results` of `stages.search_photos`, with thumbnails from `pictures`."""
    shown = "".join(_search(result, pictures) for result in results)
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>drlh search</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}{_LAYOUT}</style>'
        "<h1>Nearest images</h1>"
        '<p class="faint">Left, a photo; right, what lies nearest to it by Hamming distance between codes.</p>'
        f"{shown}</html>\n"
    )


def _search(result: dict[str, Any], pictures: Pictures) -> str:
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
