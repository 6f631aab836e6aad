"""Feature files: any NPZ with `x` and `y`, or `x_train`, `y_train`, `x_test` and `y_test`.

Optional members: `scale` (feature = x * scale), `classes` (their names), `names` or `ids` (of the rows), `images`
(uint8 pictures, row by row) and `extractor` (JSON text that says how the features were made). Labels are class ids or
multi-hot rows.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.core.errors import UserError
from drlh.core.files import Array, read_npz
from drlh.data.bad_rows import BadRows
from drlh.data.base import ArrayImages, DataSet
from drlh.data.labels import Labels

_BLOCK = 4096  # rows checked at once


def read(path: Path, skip_bad: bool = False) -> DataSet:
    arrays = read_npz(path)
    bad = BadRows(skip_bad)
    x, y, test = _parts(arrays, path)
    features = None if x is None else _features(x, arrays.get("scale"), path)
    images = _images(arrays, path)
    n = sum(len(part) for part in y)
    names = _row_names(arrays)
    for what, length in (("x", features), ("images", images), ("names", names)):
        if length is not None and len(length) != n:
            raise UserError(f"{path}: {what} has {len(length)} rows and y has {n}; they must belong together")
    if features is not None:
        _find_non_finite(features, path, bad)
    labels, classes = _labels(np.concatenate(y), arrays.get("classes"), path, bad)
    extractor = _extractor(arrays, path)
    notes = _notes(labels)
    dataset = DataSet(path.stem, labels, classes, images, features, test, extractor, names, notes=notes)
    return bad.drop_from(dataset)


def _row_names(arrays: dict[str, Array]) -> NDArray[np.str_] | None:
    found = arrays.get("names", arrays.get("ids"))
    return None if found is None or found.ndim != 1 else found.astype(np.str_)


def _parts(arrays: dict[str, Array], path: Path) -> tuple[list[Array] | None, list[Array], NDArray[np.bool_] | None]:
    """(x in one or two parts, y likewise, the test mask)."""
    split = [f"{letter}_{part}" for letter in "xy" for part in ("train", "test")]
    if all(name in arrays for name in split):
        x_train, x_test, y_train, y_test = (arrays[name] for name in split)
        for part, x, y in (("train", x_train, y_train), ("test", x_test, y_test)):
            if x.ndim == 0 or y.ndim == 0 or len(x) != len(y):
                raise UserError(f"{path}: x_{part} has shape {x.shape} and y_{part} {y.shape}; rows must agree")
        if y_train.shape[1:] != y_test.shape[1:]:
            raise UserError(f"{path}: y_train {y_train.shape} and y_test {y_test.shape} must be of one kind")
        return [x_train, x_test], [y_train, y_test], np.arange(len(y_train) + len(y_test)) >= len(y_train)
    if "y" in arrays and arrays["y"].ndim and ("x" in arrays or "images" in arrays):
        return [arrays["x"]] if "x" in arrays else None, [arrays["y"]], None
    raise UserError(
        f"{path} must hold the arrays x and y, or x_train, y_train, x_test and y_test: it holds "
        f"{', '.join(sorted(arrays)) or 'nothing'}"
    )


def _features(parts: list[Array], scale: Array | None, path: Path) -> NDArray[np.float32]:
    for part in parts:
        if part.ndim != 2 or part.shape[1] == 0 or part.dtype.kind not in "fiub":
            raise UserError(
                f"{path}: x must be a matrix of numbers (rows, features): got {part.dtype} of shape {part.shape}; "
                "pictures belong in a member called images"
            )
    width = parts[0].shape[1]
    if any(part.shape[1] != width for part in parts):
        raise UserError(f"{path}: x_train has {width} features and x_test {parts[1].shape[1]}; they must agree")
    if scale is not None and (scale.dtype.kind not in "fiu" or scale.shape not in ((), (width,))):
        raise UserError(f"{path}: scale must be one number or {width} numbers, one a feature: got {scale.shape}")
    if scale is None and len(parts) == 1 and parts[0].dtype == np.float32:
        return parts[0]  # as it is in the file: mapped, not copied
    return _joined(parts, np.float32(1) if scale is None else scale.astype(np.float32))


def _joined(parts: list[Array], scale: Any) -> NDArray[np.float32]:
    out = np.empty((sum(len(part) for part in parts), parts[0].shape[1]), np.float32)
    start = 0
    for part in parts:
        with np.errstate(over="ignore"):  # a float64 too big for float32 becomes inf, and is reported as such
            np.multiply(part, scale, out=out[start : start + len(part)], casting="same_kind")
        start += len(part)
    return out


def _find_non_finite(features: NDArray[np.float32], path: Path, bad: BadRows) -> None:
    for start in range(0, len(features), _BLOCK):
        finite = np.isfinite(features[start : start + _BLOCK]).all(axis=1)
        for row in start + np.flatnonzero(~finite):
            column = int(np.flatnonzero(~np.isfinite(features[row]))[0])
            bad.add(row, f"{path}: x row {row} holds {features[row, column]} at feature {column}")


def _labels(y: Array, names: Array | None, path: Path, bad: BadRows) -> tuple[Labels, tuple[str, ...]]:
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    # 0/1 rows are often stored as floats; ids are not, and rounding them would hide a mistake.
    if y.ndim > 2 or y.dtype.kind not in ("iub" if y.ndim == 1 else "iubf"):
        raise UserError(
            f"{path}: y must be whole class ids (rows,) or 0/1 (rows, classes): got {y.dtype} of shape {y.shape}"
        )
    given = None if names is None else _class_names(names, path)
    return _multi_hot(y, given, path, bad) if y.ndim == 2 else _ids(y, given, path, bad)


def _class_names(names: Array, path: Path) -> tuple[str, ...]:
    if names.ndim != 1 or names.dtype.kind not in "Uiu" or len(set(names.tolist())) != len(names):
        raise UserError(f"{path}: classes must be a list of different names: got {names.dtype} of shape {names.shape}")
    return tuple(str(name) for name in names.tolist())


def _ids(
    y: Array, names: tuple[str, ...] | None, path: Path, bad: BadRows
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    y = y.astype(np.int64)
    wrong = (y < 0) if names is None else (y < 0) | (y >= len(names))
    for row in np.flatnonzero(wrong):
        known = "not negative" if names is None else f"0 to {len(names) - 1}"
        bad.add(row, f"{path}: y row {row} is class id {y[row]}, where ids are {known}")
    if names is not None:
        return y, names
    # Without names the ids that occur are the classes, so ids that start at 1 leave no empty class behind.
    present = np.unique(y[~wrong])
    return np.searchsorted(present, y).astype(np.int64), tuple(str(number) for number in present)


def _multi_hot(
    y: Array, names: tuple[str, ...] | None, path: Path, bad: BadRows
) -> tuple[NDArray[np.uint8], tuple[str, ...]]:
    if names is not None and len(names) != y.shape[1]:
        raise UserError(f"{path}: y has {y.shape[1]} columns and classes {len(names)} names; they must agree")
    for row in np.flatnonzero(((y != 0) & (y != 1)).any(axis=1)):
        bad.add(row, f"{path}: y row {row} holds numbers other than 0 and 1")
    return y.astype(np.uint8), names or tuple(str(number) for number in range(y.shape[1]))


def _images(arrays: dict[str, Array], path: Path) -> ArrayImages | None:
    pixels = arrays.get("images")
    if pixels is None:
        return None
    if pixels.dtype != np.uint8 or not (pixels.ndim == 3 or (pixels.ndim == 4 and pixels.shape[3] == 3)):
        raise UserError(
            f"{path}: images must be uint8 of shape (rows, height, width) or (rows, height, width, 3): "
            f"got {pixels.dtype} of shape {pixels.shape}"
        )
    return ArrayImages(pixels, path.stem)


def _extractor(arrays: dict[str, Array], path: Path) -> dict[str, Any] | None:
    text = arrays.get("extractor")
    if text is None:
        return None
    try:
        value = json.loads(str(text[()]))
    except ValueError as error:
        raise UserError(f"{path}: extractor must be JSON text: {error}") from error
    if not isinstance(value, dict):
        raise UserError(f"{path}: extractor must be a JSON object: got {value!r}")
    return value


def _notes(labels: Labels) -> tuple[str, ...]:
    bare = int((labels.sum(axis=1) == 0).sum()) if labels.ndim == 2 else 0
    return (f"rows without any label, to which no other row is relevant: {bare}",) if bare else ()
