"""A model in use: feature rows and prepared pictures → codes, several at once, and walks."""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import Packed, pack
from drlh.core.errors import UserError
from drlh.core.files import file_digest
from drlh.data.base import Picture
from drlh.encoding.indexing import made_with
from drlh.features import extractor_from
from drlh.features.extractor import Extractor
from drlh.hashers.model_file import read_model_file
from drlh.serve.batching import Batcher
from drlh.serve.refusals import Refusal

Row = NDArray[Any]  # (n_features,)

_LARGEST = 1e9  # of a feature: sums of squares stay numbers in single precision


@dataclass(frozen=True)
class Prepared:
    """A picture in the small form that an extractor takes."""

    form: Any


@dataclass(frozen=True)
class Encoded:
    features: Row
    packed: Packed  # (1, bytes)


class Model:
    """One model file; `encode` gathers concurrent requests into one pass."""

    def __init__(self, path: Path, thread: Executor, *, waiting: int, note: Callable[[int], None]) -> None:
        file = read_model_file(path)
        self.method, self.hasher, self.notes = file.method, file.hasher, file.notes
        self.path, self.sha256 = path, file_digest(path)
        self.n_bits, self.n_features = self.hasher.n_bits, int(self.hasher.n_features_in_)
        self.classes = tuple(str(name) for name in self.notes.get("classes") or ())
        self.extractor: Extractor | None = None
        if self.notes.get("extractor"):
            self.extractor = extractor_from(self.notes["extractor"])
        self.walks = hasattr(self.hasher, "walk")
        self.encode = Batcher(self._encode, thread, waiting=waiting, note=note)
        # The first pass loads and compiles what the others use.
        black = np.zeros((32, 32, 3), np.uint8)
        self._encode([np.zeros(self.n_features) if self.extractor is None else self.prepare(black)])

    def prepare(self, picture: Picture) -> Prepared:
        if self.extractor is None:
            raise Refusal(
                422,
                "this model was fitted on features whose making it does not know, so it cannot read images: "
                "send features, a code or an id",
            )
        return Prepared(self.extractor.prepare(picture))

    def check_features(self, features: Sequence[float]) -> Row:
        if len(features) != self.n_features:
            raise Refusal(422, f"the model takes {self.n_features} features: got {len(features)}")
        row = np.asarray(features, np.float64)
        if np.abs(row).max() > _LARGEST:
            raise Refusal(422, f"features must lie between -{_LARGEST:g} and {_LARGEST:g}")
        return row

    def walk(self, features: Row) -> Any:
        """The `Trace` of one image."""
        return self.hasher.walk(features)

    def _encode(self, items: list[Prepared | Row]) -> list[Encoded]:
        rows = self._rows(items)
        packed = pack(self.hasher.transform(np.stack(rows)))
        return [Encoded(row, packed[at : at + 1]) for at, row in enumerate(rows)]

    def _rows(self, items: list[Prepared | Row]) -> list[Row]:
        forms = [item.form for item in items if isinstance(item, Prepared)]
        made: list[Row] = []
        if forms:
            assert self.extractor is not None  # or nothing would be prepared
            for start in range(0, len(forms), self.extractor.batch):
                made += list(self.extractor.features(forms[start : start + self.extractor.batch]))
        following = iter(made)
        return [next(following) if isinstance(item, Prepared) else item for item in items]


def check_index(model: Model, notes: dict[str, Any], n_bits: int, index: str) -> None:
    """Codes of another model cannot be searched with codes of this one."""
    if not made_with(notes, model.sha256) or n_bits != model.n_bits:
        raise UserError(f"the codes of {index} were not made with {model.path}: name the model that made them")
