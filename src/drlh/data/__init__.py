"""Data sets: named ones, image folders, tables and feature files."""

from drlh.data.base import ArrayImages, DataSet, FileImages, Images
from drlh.data.catalog import SETS, list_sets
from drlh.data.fetching import fetch
from drlh.data.folder import list_pictures
from drlh.data.loading import load
from drlh.data.some_images import SomeImages, subset
from drlh.data.summary import check_images, describe

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
    "list_pictures",
    "list_sets",
    "load",
    "subset",
]
