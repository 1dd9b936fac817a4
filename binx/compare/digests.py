"""What the transactions of two servers did, as digests by GTID: little memory for each of millions."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

DIGEST_BYTES = 16

_KEY = struct.Struct(">IQ")
_SCHEMA = pa.schema([("key", pa.binary(_KEY.size)), ("digest", pa.binary(DIGEST_BYTES))])
_BLOCK = 4_096

_PARTS = 16
"""Into how many tables digests are put, by the GTIDs' numbers: one of each side at a time is compared."""


class GtidKeys:
    """GTIDs as a few bytes each, the same ones for both sides: a number for their source, and their own."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._sources: list[str] = []

    def key(self, gtid: str) -> tuple[int, bytes]:
        """The bytes of a GTID, and into which part of the digests it belongs."""
        cut = max(gtid.rfind(":"), gtid.rfind("-")) + 1
        source, number = gtid[:cut], int(gtid[cut:])
        place = self._numbers.get(source)
        if place is None:
            place = self._numbers[source] = len(self._sources)
            self._sources.append(source)
        return number % _PARTS, _KEY.pack(place, number)

    def gtid(self, key: bytes) -> str:
        """The GTID of such bytes."""
        place, number = _KEY.unpack(key)
        return f"{self._sources[place]}{number}"


class Digests:
    """The digests of one side; a GTID may be there several times."""

    def __init__(self, keys: GtidKeys) -> None:
        self._keys = keys
        self._waiting: list[tuple[list[bytes], list[bytes]]] = [([], []) for _ in range(_PARTS)]
        self._blocks: list[list[pa.RecordBatch]] = [[] for _ in range(_PARTS)]

    def add(self, gtid: str, digest: bytes) -> None:
        """Take in what a transaction did."""
        part, key = self._keys.key(gtid)
        keys, digests = self._waiting[part]
        keys.append(key)
        digests.append(digest)
        if len(keys) == _BLOCK:
            self._close(part)

    def different(self, others: Digests) -> Iterator[str]:
        """GTIDs that both have, with different digests; one may come several times."""
        for part in range(_PARTS):
            one, other = self._table(part), others._table(part)
            # Both ways, as a side may have a GTID several times, of which only the first is found.
            for digests, known in ((one, other), (other, one)):
                yield from map(self._keys.gtid, _differing(digests, known))

    def _table(self, part: int) -> pa.Table:
        self._close(part)
        return pa.Table.from_batches(self._blocks[part], _SCHEMA)

    def _close(self, part: int) -> None:
        keys, digests = self._waiting[part]
        if keys:
            columns = [pa.array(keys, _SCHEMA.types[0]), pa.array(digests, _SCHEMA.types[1])]
            self._blocks[part].append(pa.record_batch(columns, schema=_SCHEMA))
            keys.clear()
            digests.clear()


def _differing(digests: pa.Table, others: pa.Table) -> list[bytes]:
    """Keys that have another digest than their first one in a second table."""
    places = pc.index_in(digests["key"], value_set=others["key"].combine_chunks())
    found = digests.filter(pc.is_valid(places))
    differs = pc.not_equal(found["digest"], others["digest"].take(places.drop_null()))
    keys: list[bytes] = found.filter(differs)["key"].to_pylist()
    return keys
