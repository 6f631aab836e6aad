"""Where codes go: an NPZ file, a directory of Parquet files, or straight into an index."""

import tempfile
from collections.abc import Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from drlh.core.codes import Packed, bytes_per_code
from drlh.core.errors import UserError
from drlh.core.progress import Progress, quiet
from drlh.data.base import DataSet
from drlh.data.some_images import subset
from drlh.encoding.coder import Runner
from drlh.encoding.codes_file import CodeRows, write_codes
from drlh.encoding.codes_parquet import Header, is_parquet, write_parquet
from drlh.encoding.encoding import CodedRows, Encoding
from drlh.encoding.indexing import index_notes, load_rows
from drlh.encoding.runners import in_threads
from drlh.index.opening import create_index

LeftOut = tuple[str, ...]


def encode_to_file(
    model: str | Path,
    dataset: DataSet,
    path: str | Path,
    *,
    runner: Runner = in_threads,
    skip_bad: bool = False,
    progress: Progress = quiet,
) -> LeftOut:
    """Encodes every row with the model in a file; returns one sentence for each row left out. See `to_file`."""
    return to_file(Encoding(model, dataset, runner, skip_bad=skip_bad), path, progress)


def to_file(encoding: Encoding, path: str | Path, progress: Progress = quiet) -> LeftOut:
    """Writes the codes to an NPZ file, or to a directory of Parquet files where the name ends in `.parquet`."""
    return (to_parquet if is_parquet(path) else to_npz)(encoding, path, progress)


def to_npz(encoding: Encoding, path: str | Path, progress: Progress = quiet) -> LeftOut:
    """One file for `drlh index` and `drlh evaluate`. Memory holds of each row its name and label."""
    rows: list[NDArray[np.int64]] = []
    left_out: list[str] = []
    with tempfile.TemporaryFile() as spool:  # how many rows are good is known at the end, but a file begins with it
        with closing(_good_blocks(encoding, left_out, progress)) as blocks:
            for block in blocks:
                rows.append(block.rows)
                spool.write(block.packed.tobytes())
        kept = subset(encoding.dataset, np.concatenate(rows)) if left_out else encoding.dataset
        packed = _spooled(spool, bytes_per_code(encoding.n_bits))
        write_codes(path, encoding.n_bits, packed, kept.labels, kept.classes, kept.name_of, kept.test, encoding.notes)
    encoding.forget()
    return tuple(left_out)


def to_parquet(encoding: Encoding, directory: str | Path, progress: Progress = quiet) -> LeftOut:
    """A directory with one Parquet file for each block; an id is the row in the data set."""
    left_out: list[str] = []
    dataset = encoding.dataset
    header = Header(encoding.n_bits, dataset.classes, dataset.is_multilabel, encoding.notes, encoding.n_blocks)
    with closing(_good_blocks(encoding, left_out, progress)) as blocks:
        write_parquet(directory, header, (_code_rows(encoding, block) for block in blocks))
    encoding.forget()
    return tuple(left_out)


def to_index(
    encoding: Encoding, url: str | Path, *, first_id: int = 0, replace: bool = False, progress: Progress = quiet
) -> LeftOut:
    """Adds every code to the index at `url`; an id is the row in the data set, counted from `first_id`."""
    left_out: list[str] = []
    index = create_index(url, encoding.n_bits, notes=index_notes(encoding.notes), replace=replace)
    with index, closing(_good_blocks(encoding, left_out, progress)) as blocks:
        rows = (_code_rows(encoding, block) for block in blocks)
        load_rows(index, rows, encoding.dataset.classes, first_id=first_id)
    encoding.forget()
    return tuple(left_out)


def _good_blocks(encoding: Encoding, left_out: list[str], progress: Progress) -> Generator[CodedRows, None, None]:
    """All blocks; adds to `left_out` as they pass, and refuses a set without one good row."""
    n = 0
    with closing(encoding.run(progress)) as blocks:
        for block in blocks:
            n += len(block.rows)
            left_out += block.left_out
            yield block
    if not n:
        why = f"all {len(left_out)} rows were left out, first: {left_out[0]}" if left_out else "it is empty"
        raise UserError(f"{encoding.dataset.name} has nothing to encode: {why}")


def _code_rows(encoding: Encoding, block: CodedRows) -> CodeRows:
    dataset = encoding.dataset
    names = np.array([dataset.name_of(row) for row in block.rows.tolist()], np.str_)
    return CodeRows(block.rows, block.packed, names, dataset.labels[block.rows])


def _spooled(file: IO[bytes], width: int) -> Iterator[Packed]:
    file.seek(0)
    while block := file.read(width << 16):
        yield np.frombuffer(block, np.uint8).reshape(-1, width)
