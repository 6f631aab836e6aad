"""The pictures of items: from the data set that was encoded, by name, or stored when they were uploaded, by id."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from drlh.core.errors import UserError
from drlh.core.files import atomic_path
from drlh.data import DataSet
from drlh.data.picture import Picture, decode_picture
from drlh.index.details import Detail
from drlh.model import Model
from drlh.serve.responses import valid_text

_SMALL, _LARGE = 96, 256  # pixels: of a thumbnail's shorter side at least, of its longer side at most


class ItemPictures:
    """Names are looked up in the data set's own list, so no name can point at any other file."""

    def __init__(self, dataset: DataSet | None, directory: Path | None) -> None:
        self.dataset, self._directory = dataset, directory
        self._rows: dict[str, int] = {}
        if dataset is not None:
            self._rows = {dataset.name_of(row): row for row in range(len(dataset))}
        self._images = None if dataset is None else dataset.images
        self._stored: set[int] = set()
        if directory is not None:
            _make(directory)
            self._stored = {int(path.stem) for path in directory.glob("*.picture") if path.stem.isdecimal()}

    def item_fields(self, number: int, detail: Detail) -> dict[str, Any]:
        """An item as every response shows it."""
        labels = [valid_text(label) for label in detail.labels]
        thumbnail = self.thumbnail_url(number, detail)
        return {"id": number, "name": valid_text(detail.name), "labels": labels, "thumbnail": thumbnail}

    def thumbnail_url(self, number: int, detail: Detail) -> str | None:
        in_data = self._images is not None and detail.name in self._rows
        return f"/items/{number}/thumbnail" if in_data or number in self._stored else None

    def picture(self, number: int, name: str) -> Picture | None:
        """The picture of an item; None if there is none, or none that can still be read."""
        try:
            if number in self._stored:
                return decode_picture(self._path(number).read_bytes(), f"the picture of item {number}")
            if self._images is not None and name in self._rows:
                return self._images.read(self._rows[name])
        except (UserError, OSError):
            return None
        return None

    def features(self, name: str, model: Model) -> NDArray[Any] | None:
        """The features of an item, if the data set has them and the model was fitted on such features."""
        dataset = self.dataset
        if dataset is None or dataset.features is None or name not in self._rows:
            return None
        alike = dataset.extractor == model.notes.get("extractor") and dataset.features.shape[1] == model.n_features
        return np.asarray(dataset.features[self._rows[name]], np.float64) if alike else None

    @contextmanager
    def replaced(self, number: int, raw: bytes | None) -> Iterator[None]:
        """Stores an item's new picture, if any, in place of the old one; removes it if the block fails."""
        self.drop(number)
        try:
            if raw is not None and self._directory is not None:
                with atomic_path(self._path(number)) as temporary:
                    temporary.write_bytes(raw)
                self._stored.add(number)
            yield
        except BaseException:
            self.drop(number)
            raise

    def drop(self, number: int) -> None:
        if self._directory is not None and number in self._stored:
            self._stored.discard(number)
            self._path(number).unlink(missing_ok=True)

    def _path(self, number: int) -> Path:
        assert self._directory is not None
        return self._directory / f"{number}.picture"


def _make(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = f"{error.strerror}; choose another"
        raise UserError(f"the directory {directory} for pictures cannot be made: {why}") from error


def thumbnail(picture: Picture) -> tuple[bytes, str]:
    """(file, media type): small pictures are enlarged without smoothing, large ones reduced."""
    image = Image.fromarray(picture)
    stream = io.BytesIO()
    if min(image.size) < _SMALL:
        factor = -(-_SMALL // min(image.size))
        if factor * max(image.size) <= 4 * _LARGE:
            image = image.resize((factor * image.width, factor * image.height), Image.Resampling.NEAREST)
        image.thumbnail((4 * _LARGE, 4 * _LARGE))
        image.save(stream, "PNG")
        return stream.getvalue(), "image/png"
    image.thumbnail((_LARGE, _LARGE))
    image.save(stream, "JPEG", quality=85)
    return stream.getvalue(), "image/jpeg"
