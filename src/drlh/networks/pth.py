"""PyTorch's `.pth` files of named weights, read without torch and without running code of theirs.

Both formats are pickles of a table of tensors that point into storages: since torch 1.6 a ZIP archive with one member
for each storage, before that the storages one after another behind the pickle.
"""

import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

_MAGIC = 0x1950A86A20F9469CFC6C  # the first pickle of the older format
_DTYPES = {"Double": "<f8", "Float": "<f4", "Half": "<f2", "Long": "<i8", "Int": "<i4", "Short": "<i2", "Char": "<i1",
           "Byte": "<u1", "Bool": "?"}  # fmt: skip


@dataclass
class _Storage:
    """Numbers in a row, which tensors are views of; they follow after the pickle."""

    dtype: str
    n: int
    numbers: NDArray[Any] = field(default_factory=lambda: np.empty(0))


@dataclass(frozen=True)
class _Tensor:
    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def array(self) -> NDArray[Any]:
        numbers = self.storage.numbers
        last = self.offset + sum((length - 1) * step for length, step in zip(self.shape, self.strides))
        if 0 not in self.shape and not 0 <= self.offset <= last < len(numbers):
            raise ValueError("a tensor reaches beyond its storage")
        steps = [step * numbers.itemsize for step in self.strides]
        return np.array(as_strided(numbers[self.offset :], self.shape, steps))


class _TensorsOnly(pickle.Unpickler):
    """Admits tables of tensors: a file from a stranger cannot run anything."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file, encoding="utf-8")
        self.storages: dict[str, _Storage] = {}

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if module == "torch._utils" and name in ("_rebuild_tensor", "_rebuild_tensor_v2"):
            return lambda storage, offset, shape, strides, *_: _Tensor(storage, offset, tuple(shape), tuple(strides))
        if (module, name) == ("torch._utils", "_rebuild_parameter"):
            return lambda tensor, *_: tensor
        kind = name.removesuffix("Storage")
        if module == "torch" and kind in _DTYPES and kind != name:
            return _DTYPES[kind]
        raise pickle.UnpicklingError(f"it asks for {module}.{name}, which a table of weights does not need")

    def persistent_load(self, pid: Any) -> _Storage:
        _, dtype, key, _, n = pid[:5]
        return self.storages.setdefault(key, _Storage(dtype, n))


def read_pth(path: Path) -> Mapping[str, NDArray[Any]]:
    """Name → array."""
    tensors = _read_zip(path) if zipfile.is_zipfile(path) else _read_older(path)
    return {name: tensor.array() for name, tensor in tensors.items()}


def _read_zip(path: Path) -> dict[str, _Tensor]:
    with zipfile.ZipFile(path) as archive:
        [pickled] = [name for name in archive.namelist() if name.endswith("/data.pkl")]
        with archive.open(pickled) as file:
            unpickler = _TensorsOnly(file)
            tensors: dict[str, _Tensor] = unpickler.load()
        for key, storage in unpickler.storages.items():
            raw = archive.read(f"{pickled.removesuffix('data.pkl')}data/{key}")
            storage.numbers = np.frombuffer(raw, storage.dtype)
    return tensors


def _read_older(path: Path) -> dict[str, _Tensor]:
    with open(path, "rb") as file:
        if _TensorsOnly(file).load() != _MAGIC:
            raise ValueError("it does not begin as a file of torch does")
        _TensorsOnly(file).load()  # the version of the format
        _TensorsOnly(file).load()  # the machine that wrote it
        unpickler = _TensorsOnly(file)
        tensors: dict[str, _Tensor] = unpickler.load()
        for key in _TensorsOnly(file).load():
            storage, n = unpickler.storages[key], int.from_bytes(file.read(8), "little")
            storage.numbers = np.frombuffer(file.read(n * np.dtype(storage.dtype).itemsize), storage.dtype)
    return tensors
