"""Ids: whole numbers from 0, stable for the life of a row."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from drlh.core.errors import UserError

Ids = NDArray[np.int64]


def check_ids(ids: ArrayLike, n: int | None = None) -> Ids:
    """`ids` as (n,) whole numbers from 0; where `n` is given, that many and all different."""
    array = np.asarray(ids)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu" or (n is not None and len(array) != n):
        wanted = "" if n is None else f"{n} "
        raise UserError(f"ids must be {wanted}whole numbers: got shape {array.shape} and type {array.dtype}")
    if len(array) and (int(array.min()) < 0 or int(array.max()) >= 2**63):
        raise UserError(f"ids must be whole numbers from 0 to 2^63 - 1: got {int(array.min())} to {int(array.max())}")
    array = array.astype(np.int64)
    if n is not None:
        _refuse_twice(array)
    return array


def _refuse_twice(ids: Ids) -> None:
    ordered = ids if (np.diff(ids) > 0).all() else np.sort(ids)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(twice):
        raise UserError(f"ids must differ: {int(twice[0])} is given twice; give every code an id of its own")


def compact(ids: Ids) -> NDArray[Any]:
    """Four bytes an id instead of eight, where they fit."""
    return ids.astype(np.uint32) if int(ids.max(initial=0)) < 2**32 else ids


def find_sorted(ordered: NDArray[Any], ids: Ids) -> NDArray[np.int64]:
    """The place of each of `ids` in `ordered`, -1 where it is not there; shapes follow `ids`."""
    if not len(ordered):
        return np.full(ids.shape, -1)
    # In its own type: numpy would otherwise convert all of `ordered`, which may be a mapped file.
    wanted = np.minimum(ids, np.iinfo(ordered.dtype).max).astype(ordered.dtype)
    places = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
    return np.where(ordered[places] == ids, places, -1)
