"""Data sets: named ones, image folders, tables and feature files. Names are loaded on first use."""

from typing import TYPE_CHECKING

from drlh.core.lazy import lazy_getattr

if TYPE_CHECKING:
    from drlh.data.base import ArrayImages, DataSet, FileImages, Images
    from drlh.data.catalog import SETS, list_sets
    from drlh.data.fetching import fetch
    from drlh.data.folder import list_pictures
    from drlh.data.labels import label_names
    from drlh.data.loading import load
    from drlh.data.picture import read_picture
    from drlh.data.some_images import SomeImages, subset
    from drlh.data.summary import check_images, describe

_MODULES = {
    "SETS": ".catalog",
    "ArrayImages": ".base",
    "DataSet": ".base",
    "FileImages": ".base",
    "Images": ".base",
    "SomeImages": ".some_images",
    "check_images": ".summary",
    "describe": ".summary",
    "fetch": ".fetching",
    "label_names": ".labels",
    "list_pictures": ".folder",
    "list_sets": ".catalog",
    "load": ".loading",
    "read_picture": ".picture",
    "subset": ".some_images",
}
__all__ = [
    "SETS",
    "ArrayImages",
    "DataSet",
    "FileImages",
    "Images",
    "SomeImages",
    "check_images",
    "describe",
    "fetch",
    "label_names",
    "list_pictures",
    "list_sets",
    "load",
    "read_picture",
    "subset",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_getattr(__name__, _MODULES)
