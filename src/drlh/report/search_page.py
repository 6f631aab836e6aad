"""The page of `drlh search --html`: each photo beside what it found, thumbnails inside the page."""

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from drlh.data.base import Picture, decode_picture
from drlh.errors import UserError
from drlh.report.page import STYLE, picture_tag

_SIDE = 160  # pixels of a thumbnail's longer side
_LAYOUT = """
.search { flex-wrap: nowrap; } .query { flex: none; }
.hits img, .query img, .none { width: 96px; height: 96px; image-rendering: auto; }
.none { display: grid; place-items: center; border-radius: 4px; background: var(--line); }
figure { width: 102px; overflow-wrap: anywhere; }
"""


def search_page(results: Sequence[dict[str, Any]], images: Path | None) -> str:
    """`results` of `stages.search_photos`; names of hits are paths below `images`, or below where we are."""
    shown = "".join(_search(result, images or Path()) for result in results)
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>drlh search</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}{_LAYOUT}</style>'
        "<h1>Nearest images</h1>"
        '<p class="faint">Left, a photo; right, what lies nearest to it by Hamming distance between codes.</p>'
        f"{shown}</html>\n"
    )


def _search(result: dict[str, Any], images: Path) -> str:
    query = f"{_thumbnail(Path(result['photo']))}{html.escape(Path(result['photo']).name)}"
    hits = "".join(
        f'<figure title="{html.escape(hit["name"])}">{_thumbnail(images / hit["name"])}'
        f"{html.escape(', '.join(hit['labels']) or Path(hit['name']).name)} · {hit['distance']}</figure>"
        for hit in result["hits"]
    )
    return f'<div class="search"><figure class="query">{query}</figure><div class="hits">{hits}</div></div>'


def _thumbnail(path: Path) -> str:
    """A picture that has moved or broken since is a grey square, not the end of the page."""
    try:
        return picture_tag(_small(decode_picture(path.read_bytes(), str(path))), path.name)
    except (OSError, UserError):
        return '<div class="none">no picture</div>'


def _small(picture: Picture) -> Picture:
    image = Image.fromarray(picture)
    image.thumbnail((_SIDE, _SIDE))
    return np.asarray(image)
