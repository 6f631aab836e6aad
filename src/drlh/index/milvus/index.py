"""Milvus, embedded or a cluster: one collection with a BINARY_VECTOR, exact by BIN_FLAT, or BIN_IVF_FLAT on request.

Milvus returns the right distances but any of the ids that tie at the last one, and at most 16,384 hits. Ties are
broken by asking for everything at that distance, in ranges of ids that are halved until an answer is complete.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from drlh.core.codes import Packed, bytes_per_code
from drlh.core.errors import UserError
from drlh.index.base import (
    Hits,
    Ids,
    Index,
    check_details,
    check_ids,
    check_k,
    check_packed,
    check_radius,
    no_hits,
    sorted_hits,
)
from drlh.index.details import Detail, Details
from drlh.index.milvus.connection import (
    TIMEOUT,
    Address,
    Client,
    DataType,
    connect,
    disconnect,
    errors_as_user_error,
    parse_address,
)

FORMAT, VERSION = "drlh-index", 1
_LISTS, _PROBED = 1024, 32  # of BIN_IVF_FLAT
_LONGEST_NAME = 65_535  # bytes, Milvus's limit
_LAST_ID = 2**63 - 1
_TIES = 1024  # asked for at once, though there may be millions

Pairs = list[tuple[int, int]]  # (distance, id)


class MilvusIndex(Index):
    """`milvus://host:19530/photos`, or a file `photos.db`; the collection is `drlh_codes` where none is named."""

    block = 10_000
    most = 16_384  # hits Milvus returns in one answer

    def __init__(self, address: Address, client: Client, content: dict[str, Any]) -> None:
        self._address, self._client = address, client
        self.n_bits = int(content["n_bits"])
        self.notes = dict(content["notes"])
        self.approximate = content["approximate"]

    @classmethod
    def exists(cls, url: str | Path) -> bool:
        place = parse_address(url)
        if place.file is not None and not place.file.exists():
            return False  # a client would make it
        client = connect(place)
        try:
            return _content(client, place) is not None
        finally:
            disconnect(client, place)

    @classmethod
    def create(
        cls, url: str | Path, n_bits: int, *, notes: dict[str, Any] | None = None, approximate: str | None = None
    ) -> Self:
        place = parse_address(url)
        if approximate not in (None, "ivf") or (approximate and place.file is not None):
            raise UserError(
                f"Milvus searches exactly or, on a server, by ivf: got {approximate!r} for {place.redacted}"
            )
        content = {"n_bits": n_bits, "notes": notes or {}, "approximate": approximate}
        client = connect(place)
        try:
            _content(client, place)  # refuses a foreign collection
            with errors_as_user_error(place):
                _create_collection(client, place, content)
        except BaseException:
            disconnect(client, place)
            raise
        return cls(place, client, content)

    @classmethod
    def open(cls, url: str | Path) -> Self:
        place = parse_address(url)
        if place.file is not None and not place.file.exists():
            raise UserError(f"{place.redacted} does not exist: wanted an index made by `drlh index`")
        client = connect(place)
        try:
            content = _content(client, place)
            if content is None:
                raise UserError(f"{place.redacted} holds no collection {place.collection}: make one with `drlh index`")
        except BaseException:
            disconnect(client, place)
            raise
        return cls(place, client, content)

    def __len__(self) -> int:
        return int(self._ask("query", filter="", output_fields=["count(*)"])[0]["count(*)"])

    def add(self, packed: Packed, ids: ArrayLike, details: Details | None = None) -> None:
        packed = check_packed(packed, self.n_bits)
        numbers = check_ids(ids, len(packed)).tolist()
        check_details(details, len(packed))
        for start in range(0, len(packed), self.block):
            rows = range(start, min(start + self.block, len(packed)))
            self._ask("upsert", data=[_row(numbers[row], packed[row], details, row) for row in rows])

    def remove(self, ids: ArrayLike) -> int:
        numbers = check_ids(ids).tolist()
        there = [row["id"] for row in self._rows(numbers, ["id"])]
        for start in range(0, len(there), self.block):
            self._ask("delete", ids=there[start : start + self.block])
        return len(there)

    def search(self, packed: Packed, k: int, *, exact: bool = False) -> Hits:
        packed, k = check_packed(packed, self.n_bits), check_k(k)
        asked = min(k, len(self))
        if asked > self.most:
            raise UserError(f"Milvus returns at most {self.most:,} nearest: got k = {k}; lower k or search by radius")
        if not asked or not len(packed):
            return no_hits(len(packed), asked)
        exactly = exact or self.approximate is None
        params = {"nprobe": _LISTS if exactly else _PROBED} if self.approximate else {}
        answers = [self._hits(code, asked, params) for code in packed]
        if exactly:
            answers = [self._break_ties(code, hits, asked) for code, hits in zip(packed, answers, strict=True)]
        width = min(len(hits) for hits in answers)
        found = np.array([sorted(hits)[:width] for hits in answers], np.int64).reshape(len(packed), width, 2)
        return Hits(found[:, :, 0], found[:, :, 1])

    def search_radius(self, packed: Packed, radius: int) -> list[Hits]:
        packed, radius = check_packed(packed, self.n_bits), check_radius(radius)
        found = []
        for code in packed:
            hits = [hit for window in self._windows(code, 0, radius, self.most) for hit in window]
            rows = np.array(hits, np.int64).reshape(-1, 2)
            found.append(sorted_hits(rows[:, 0], rows[:, 1]))
        return found

    def describe(self, ids: ArrayLike) -> list[Detail | None]:
        numbers = check_ids(ids).tolist()
        rows = self._rows(numbers, ["id", "name", "labels"])
        known = {row["id"]: Detail(row["name"], tuple(row["labels"])) for row in rows}
        return [known.get(number) for number in numbers]

    def codes(self, ids: ArrayLike) -> tuple[Packed, NDArray[np.bool_]]:
        numbers = check_ids(ids).tolist()
        known = {row["id"]: row["code"][0] for row in self._rows(numbers, ["id", "code"])}
        there = np.array([number in known for number in numbers], np.bool_)
        packed = np.zeros((len(numbers), bytes_per_code(self.n_bits)), np.uint8)
        for row in np.flatnonzero(there):
            packed[row] = np.frombuffer(known[numbers[row]], np.uint8)
        return packed, there

    def sample(self, n: int) -> Ids:
        every = max(1, -(-len(self) // max(1, n)))
        found: list[int] = []
        for left in range(every):  # ids that leave the same rest; together they are all there are
            where = f"id % {every} == {left}"
            found += [row["id"] for row in self._ask("query", filter=where, limit=n, output_fields=["id"])]
            if len(found) >= n:
                break
        return np.sort(np.array(found[:n], np.int64))

    def highest_id(self) -> int:
        if not self._ids_from(0):
            return -1
        low, high = 0, _LAST_ID  # there is an id from `low` on
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self._ids_from(middle) else (low, middle - 1)
        return low

    def _ids_from(self, first: int) -> bool:
        return bool(self._ask("query", filter=f"id >= {first}", limit=1, output_fields=["id"]))

    def close(self) -> None:
        if self._client is not None:
            disconnect(self._client, self._address)
            self._client = None

    def _break_ties(self, code: Any, hits: Pairs, k: int) -> Pairs:
        """All that is nearer than the last distance, and of that distance the lowest ids."""
        last = max(hits)[0]
        kept = [hit for hit in hits if hit[0] < last]
        for window in self._windows(code, last, last, min(self.most, max(_TIES, 4 * k))):
            kept += window
            if len(kept) >= k:  # windows come by id
                break
        return sorted(kept)[:k]

    def _windows(
        self, code: Any, low: int, high: int, limit: int, first: int = 0, last: int = _LAST_ID
    ) -> Iterator[Pairs]:
        """Everything at a distance of `low` to `high` with an id of `first` to `last`, window after window of ids.

        A window that fills an answer of `limit` hits may hold more, so it is halved.
        """
        params = {"range_filter": low, "radius": high + 1}  # Milvus takes low <= distance < radius
        if self.approximate:
            params["nprobe"] = _LISTS
        hits = self._hits(code, limit, params, f"id >= {first} and id <= {last}")
        if len(hits) < limit:
            yield sorted(hits, key=lambda hit: hit[1])
            return
        middle = sorted(number for _, number in hits)[len(hits) // 2]
        yield from self._windows(code, low, high, limit, first, middle - 1)
        yield from self._windows(code, low, high, limit, middle, last)

    def _hits(self, code: Any, limit: int, params: dict[str, int], where: str = "") -> Pairs:
        (answer,) = self._ask(
            "search",
            data=[code.tobytes()],
            limit=limit,
            filter=where,
            search_params={"metric_type": "HAMMING", "params": params},
        )
        return [(int(hit["distance"]), int(hit["id"])) for hit in answer]

    def _rows(self, ids: list[int], fields: list[str]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for start in range(0, len(ids), self.block):
            found += self._ask("query", ids=ids[start : start + self.block], output_fields=fields)
        return found

    def _ask(self, verb: str, **arguments: Any) -> Any:
        request = getattr(self._client, verb)
        with errors_as_user_error(self._address):
            return request(self._address.collection, timeout=TIMEOUT, **arguments)


def _row(number: int, code: Any, details: Details | None, row: int) -> dict[str, Any]:
    name, labels = Detail(str(number), ()) if details is None else details[row]
    # Undecodable file names hold lone surrogates, which no message to a server can carry.
    name = name.encode("utf-8", "replace")[:_LONGEST_NAME].decode("utf-8", "ignore")
    return {"id": number, "code": code.tobytes(), "name": name, "labels": list(labels)}


def _create_collection(client: Client, place: Address, content: dict[str, Any]) -> None:
    client.drop_collection(place.collection)
    described = json.dumps({"format": FORMAT, "version": VERSION} | content)
    schema = client.create_schema(auto_id=False, enable_dynamic_field=False, description=described)
    schema.add_field("id", DataType.INT64, is_primary=True)
    schema.add_field("code", DataType.BINARY_VECTOR, dim=8 * bytes_per_code(content["n_bits"]))
    schema.add_field("name", DataType.VARCHAR, max_length=_LONGEST_NAME)
    schema.add_field("labels", DataType.JSON)
    kind, params = ("BIN_IVF_FLAT", {"nlist": _LISTS}) if content["approximate"] else ("BIN_FLAT", {})
    indexes = client.prepare_index_params()
    indexes.add_index("code", index_type=kind, metric_type="HAMMING", params=params)
    # Strong: a search sees what was added before it.
    client.create_collection(place.collection, schema=schema, index_params=indexes, consistency_level="Strong")


def _content(client: Client, place: Address) -> dict[str, Any] | None:
    """What the collection's description says, None where there is no collection; a foreign one is refused."""
    with errors_as_user_error(place):
        if not client.has_collection(place.collection):
            return None
        description = client.describe_collection(place.collection)["description"]
    try:
        content = json.loads(description)
    except ValueError:
        content = {}
    if not isinstance(content, dict) or content.get("format") != FORMAT or content.get("version", 0) > VERSION:
        raise UserError(f"the collection {place.collection} of {place.redacted} is not an index this drlh can read")
    return content
