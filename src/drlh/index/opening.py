"""Which engine answers to a URL: a directory, `postgresql://…`, `milvus://…`, or a Milvus file `….db`."""

from pathlib import Path
from typing import Any

from drlh.core.errors import UserError
from drlh.index.base import Index
from drlh.index.urls import redacted

_MILVUS_FILE = ".db"


def open_index(url: str | Path) -> Index:
    """Opens an existing index.

    Parameters
    ----------
    url : str or Path
        A directory, `postgresql://…`, `milvus://…`, or a Milvus file `….db`.

    Returns
    -------
    Index
        The index; use it in a `with` block or call `close` in the end.
    """
    return _engine(str(url)).open(str(url))


def create_index(
    url: str | Path,
    n_bits: int,
    *,
    notes: dict[str, Any] | None = None,
    approximate: str | None = None,
    replace: bool = False,
) -> Index:
    """Opens the index at `url`, or creates an empty one where there is none.

    Parameters
    ----------
    url : str or Path
        A directory, `postgresql://…`, `milvus://…`, or a Milvus file `….db`.
    n_bits : int
        Length of the codes.
    notes : dict, optional
        Origin of the codes; an existing index with other notes is refused.
    approximate : str, optional
        Approximate search method ("ivf" or "hnsw", depending on the engine); exact search by default.
    replace : bool
        Whether an existing index is replaced by an empty one.

    Returns
    -------
    Index
        The index, which may hold rows already unless `replace` is set.
    """
    url = str(url)
    engine = _engine(url)
    if replace or not engine.exists(url):
        return engine.create(url, n_bits, notes=notes, approximate=approximate)
    index = engine.open(url)
    if notes and index.notes != notes:
        index.close()
        raise UserError(
            f"{redacted(url)} holds codes of another model: choose another place, or start over with replace=True"
        )
    if approximate is not None and index.approximate != approximate:
        index.close()
        raise UserError(f"{redacted(url)} was not made for {approximate} search: start over with replace=True")
    return index


def _engine(url: str) -> type[Index]:
    """Engines are imported when they are named: each needs packages of its own."""
    if url.startswith(("postgresql://", "postgres://")):
        from drlh.index.postgres.index import PostgresIndex

        return PostgresIndex
    if url.startswith("milvus://") or (url.endswith(_MILVUS_FILE) and not Path(url).is_dir()):
        from drlh.index.milvus.index import MilvusIndex

        return MilvusIndex
    if "://" in url:
        raise UserError(
            f"no engine answers to {redacted(url)}: give a directory, postgresql://…, milvus://… or FILE{_MILVUS_FILE}"
        )
    from drlh.index.local.index import LocalIndex

    return LocalIndex
