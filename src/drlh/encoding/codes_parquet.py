"""Codes as a directory of Parquet files, one for each block, that other programs can read too.

Columns: `id` (the row in the data set), `name`, `labels` (names of classes) and `code` (packed bytes). Each file's
metadata hold, under `drlh`, how long the codes are, the classes, the model's notes, and which block of how many it is.
"""

import json
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import Packed, bytes_per_code
from drlh.core.errors import UserError
from drlh.core.files import check_format
from drlh.data.labels import Labels
from drlh.encoding.codes_file import CodeRows, CodeSet, load_codes

FORMAT, VERSION = "drlh-codes", 1
_KEY = b"drlh"
_BLOCK_FILES = "block-*.parquet"


@dataclass(frozen=True)
class Header:
    """What all files of a directory have in common."""

    n_bits: int
    classes: tuple[str, ...]
    multilabel: bool
    notes: dict[str, Any]
    n_blocks: int


def is_parquet(path: str | Path) -> bool:
    """Whether `path` names a directory of Parquet files: by its ending, or because it is one."""
    return Path(path).suffix == ".parquet" or (Path(path).is_dir() and any(Path(path).glob(_BLOCK_FILES)))


def write_parquet(directory: str | Path, header: Header, blocks: Iterable[CodeRows]) -> None:
    """Writes one file for each block; the directory appears when all are there, and replaces one of its kind."""
    directory = Path(directory)
    _pyarrow()
    _refuse_foreign(directory)
    growing = directory.with_name(f".{directory.name}.part")
    try:
        shutil.rmtree(growing, ignore_errors=True)  # of a run that was killed
        growing.mkdir(parents=True)
        for number, block in enumerate(blocks):
            _write_block(growing / f"block-{number:08}.parquet", header, number, block)
        shutil.rmtree(directory, ignore_errors=True)
        growing.rename(directory)
    except OSError as error:
        raise UserError(
            f"cannot write {directory}: {error.strerror or error}; choose a place you may write to"
        ) from error
    finally:
        shutil.rmtree(growing, ignore_errors=True)


def open_codes(path: str | Path) -> "CodeSet | ParquetCodes":
    """The codes in `path`, whichever of the two formats it is: an NPZ file or a directory of Parquet files."""
    return ParquetCodes(path) if is_parquet(path) else load_codes(path)


class ParquetCodes:
    """A directory of codes, opened; a missing block, or one of another run, is refused at once."""

    def __init__(self, directory: str | Path) -> None:
        self._files = sorted(Path(directory).glob(_BLOCK_FILES))
        if not self._files:
            raise UserError(f"{directory} holds no codes: wanted a directory of Parquet files made by `drlh encode`")
        self.header, _, _ = _read_header(self._files[0])
        if len(self._files) != self.header.n_blocks:
            n, wanted = len(self._files), self.header.n_blocks
            raise UserError(f"{directory} holds {n} of {wanted} blocks: copy the directory whole")
        self.n_bits, self.classes, self.notes = self.header.n_bits, self.header.classes, self.header.notes
        self._n = sum(self._checked(number) for number in range(len(self._files)))

    def __len__(self) -> int:
        return self._n

    @property
    def packed(self) -> Packed:
        """All codes (n, bytes)."""
        return np.concatenate([block.packed for block in self.blocks()])

    def blocks(self) -> Iterator[CodeRows]:
        return (_read_block(path, self.header) for path in self._files)

    def _checked(self, number: int) -> int:
        """The rows of a file, which must be the block that its name says."""
        header, place, n_rows = _read_header(self._files[number])
        if place != number or header != self.header:
            raise UserError(
                f"{self._files[number]} is not block {number} of its directory: encode anew, or copy it whole"
            )
        return n_rows


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise UserError("Parquet files need pyarrow: run `pip install 'drlh[ray]'`") from error
    return pyarrow


def _refuse_foreign(directory: Path) -> None:
    if directory.is_dir():
        foreign = [path.name for path in directory.iterdir() if not path.match(_BLOCK_FILES)]
    else:
        foreign = [directory.name] if directory.exists() else []
    if foreign:
        raise UserError(f"{directory} holds {foreign[0]!r}, which is no block of codes; choose another name")


def _write_block(path: Path, header: Header, number: int, block: CodeRows) -> None:
    pa = _pyarrow()
    facts = {"format": FORMAT, "version": VERSION, "block": number} | asdict(header)
    width = pa.binary(bytes_per_code(header.n_bits))
    schema = pa.schema(
        [("id", pa.int64()), ("name", pa.string()), ("labels", pa.list_(pa.string())), ("code", width)],
        metadata={_KEY: json.dumps(facts)},
    )
    # File names may hold bytes that are no text, which Parquet does not take.
    names = [str(name).encode("utf-8", "backslashreplace").decode() for name in block.names]
    labels = [[header.classes[one] for one in row] for row in _label_lists(block.labels)]
    codes = pa.FixedSizeBinaryArray.from_buffers(width, len(block), [None, pa.py_buffer(block.packed.tobytes())])
    columns = [pa.array(block.ids), pa.array(names, pa.string()), pa.array(labels, pa.list_(pa.string())), codes]
    pa.parquet.write_table(pa.table(columns, schema=schema), path)


def _label_lists(labels: Labels) -> list[list[int]]:
    if labels.ndim == 1:
        return [[int(label)] for label in labels]
    return [np.flatnonzero(row).tolist() for row in labels]


def _read_header(path: Path) -> tuple[Header, int, int]:
    """(header, number of the block, rows)."""
    pa = _pyarrow()
    try:
        found = pa.parquet.read_metadata(path)
        facts = json.loads((found.metadata or {}).get(_KEY, b"{}"))
    except (OSError, ValueError, pa.ArrowException) as error:
        raise UserError(f"{path} cannot be read as a Parquet file: {error}; encode anew") from error
    check_format(facts, path, format_name=FORMAT, version=VERSION)
    kept = {key: facts[key] for key in ("n_bits", "multilabel", "notes", "n_blocks")}
    return Header(classes=tuple(facts["classes"]), **kept), facts["block"], found.num_rows


def _read_block(path: Path, header: Header) -> CodeRows:
    pa = _pyarrow()
    try:
        table = pa.parquet.read_table(path).combine_chunks()
    except (OSError, ValueError, pa.ArrowException) as error:
        raise UserError(f"{path} cannot be read as a Parquet file: {error}; encode anew") from error
    codes = b"".join(table["code"].to_pylist())
    packed = np.frombuffer(codes, np.uint8).reshape(table.num_rows, bytes_per_code(header.n_bits))
    names = np.array(table["name"].to_pylist(), np.str_)
    return CodeRows(table["id"].to_numpy(), packed, names, _labels(table["labels"].to_pylist(), header))


def _labels(lists: list[list[str]], header: Header) -> NDArray[Any]:
    number = {name: place for place, name in enumerate(header.classes)}
    if not header.multilabel:
        return np.array([number[names[0]] for names in lists], np.int64)
    labels = np.zeros((len(lists), len(header.classes)), np.uint8)
    for row, names in enumerate(lists):
        labels[row, [number[name] for name in names]] = 1
    return labels
