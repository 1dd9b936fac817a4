"""Digest the content of each transaction in a log.

A digest covers the transaction's row changes as JSON text, in log order, and its statements. A kernel writes
ordinary transactions, which consist of row changes only, in bulk, one line each.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator
from hashlib import blake2b

import pyarrow as pa
import pyarrow.compute as pc

from binx.rows.columns.types import LogicalType
from binx.rows.ddl.catalog import Catalog
from binx.rows.logged_statements import Statement
from binx.slices.changes import ordered_changes, reading_in_pieces
from binx.slices.items import Begin, Frame, RowTexts, Run, WholeTexts
from binx.slices.json_lines import JsonRows
from binx.slices.search import Selected
from binx.sql.values import JsonValues, Spelled

_END = b"\n"
"""Line terminator; JSON text contains none."""

DIGEST_BYTES = 16
_KEY = struct.Struct(">IQ")
_SCHEMA = pa.schema([("key", pa.binary(_KEY.size)), ("digest", pa.binary(DIGEST_BYTES))])
_BLOCK = 4_096
_PARTS = 16
"""Number of partitions of the digests, by GTID number; sides are compared one partition at a time."""


class StoredValues(JsonValues):
    """Values to compare: text is its bytes, as different invalid ones may look alike as text."""

    def text(self, array: pa.Array, logical: LogicalType) -> Spelled:
        """The bytes."""
        return self.binary(array)


def digested(
    selected: Iterable[Selected], catalog: Catalog, unreadable: set[tuple[str, str]]
) -> Iterator[tuple[str | None, bytes]]:
    """Yield each transaction's GTID and digest; the GTID is None for an anonymous transaction."""
    digest = blake2b(digest_size=DIGEST_BYTES)
    gtid: str | None = None
    lines = _TransactionLines()
    items = ordered_changes(
        selected,
        reading_in_pieces(catalog, as_stored=True, unreadable=unreadable),
        JsonRows(lines=False, values=StoredValues()),
        facts=("gtid",),
        frames=lines.frame,
    )
    for item in items:
        if isinstance(item, Begin):
            digest = blake2b(digest_size=DIGEST_BYTES)
            gtid = item.facts["gtid"]
        elif isinstance(item, WholeTexts):
            yield from zip(lines.gtids, _line_digests(item.text), strict=True)
        elif isinstance(item, RowTexts):
            for chunk in item.text():
                digest.update(chunk)
        elif isinstance(item, Statement):
            digest.update(json.dumps(statement_facts(item)).encode())
        else:
            yield gtid, digest.digest()


def statement_facts(statement: Statement) -> list[object]:
    """Return everything that determines the effect of executing a statement again."""
    seeds = (statement.insert_id, statement.last_insert_id, statement.rand_seeds, statement.user_vars)
    return [statement.db, statement.sql, statement.kind, *seeds]


def _line_digests(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the digest of each line of a text."""
    digest = blake2b(digest_size=DIGEST_BYTES)
    for chunk in chunks:
        first, *lines = chunk.split(_END)
        digest.update(first)
        for line in lines:
            yield digest.digest()
            digest = blake2b(line, digest_size=DIGEST_BYTES)


class _TransactionLines:
    """Frames each ordinary transaction as one line.

    Attributes:
        gtids: GTIDs of the transactions whose lines come next; None for an anonymous one.
    """

    def __init__(self) -> None:
        self.gtids: list[str | None] = []

    def frame(self, run: Run) -> Frame | None:
        """Frame all the ordinary transactions that come next."""
        count = run.usual()
        if not count:
            return None
        self.gtids = [run.part.table.gtid(index) for index in run.taken[run.first : run.first + count]]
        return Frame(count, bytes(8 * count), b"", _END)


class GtidKeys:
    """Compact binary keys for GTIDs, shared by both sides: a number for the source, and the GTID's number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._sources: list[str] = []

    def key(self, gtid: str) -> tuple[int, bytes]:
        """Return the partition of a GTID and its binary key."""
        cut = max(gtid.rfind(":"), gtid.rfind("-")) + 1
        source, number = gtid[:cut], int(gtid[cut:])
        source_number = self._numbers.get(source)
        if source_number is None:
            source_number = self._numbers[source] = len(self._sources)
            self._sources.append(source)
        return number % _PARTS, _KEY.pack(source_number, number)

    def gtid(self, key: bytes) -> str:
        """Return the GTID of a binary key."""
        source_number, number = _KEY.unpack(key)
        return f"{self._sources[source_number]}{number}"


class Digests:
    """The transaction digests of one side; a GTID may occur several times."""

    def __init__(self, keys: GtidKeys) -> None:
        self._keys = keys
        self._waiting: list[tuple[list[bytes], list[bytes]]] = [([], []) for _ in range(_PARTS)]
        self._blocks: list[list[pa.RecordBatch]] = [[] for _ in range(_PARTS)]

    def add(self, gtid: str, digest: bytes) -> None:
        """Add a transaction's digest."""
        partition, key = self._keys.key(gtid)
        keys, digests = self._waiting[partition]
        keys.append(key)
        digests.append(digest)
        if len(keys) == _BLOCK:
            self._close(partition)

    def different(self, others: Digests) -> Iterator[str]:
        """Yield the GTIDs that both sides have with different digests; a GTID may be repeated."""
        for partition in range(_PARTS):
            left, right = self._table(partition), others._table(partition)
            # In both directions: a GTID may occur several times, and index_in finds only the first.
            for digests, known in ((left, right), (right, left)):
                yield from map(self._keys.gtid, _differing(digests, known))

    def _table(self, partition: int) -> pa.Table:
        self._close(partition)
        return pa.Table.from_batches(self._blocks[partition], _SCHEMA)

    def _close(self, partition: int) -> None:
        keys, digests = self._waiting[partition]
        if keys:
            columns = [pa.array(keys, _SCHEMA.types[0]), pa.array(digests, _SCHEMA.types[1])]
            self._blocks[partition].append(pa.record_batch(columns, schema=_SCHEMA))
            keys.clear()
            digests.clear()


def _differing(digests: pa.Table, others: pa.Table) -> list[bytes]:
    """Return the keys whose digest differs from the first one with the same key in another table."""
    indexes = pc.index_in(digests["key"], value_set=others["key"].combine_chunks())
    common = digests.filter(pc.is_valid(indexes))
    differs = pc.not_equal(common["digest"], others["digest"].take(indexes.drop_null()))
    keys: list[bytes] = common.filter(differs)["key"].to_pylist()
    return keys
