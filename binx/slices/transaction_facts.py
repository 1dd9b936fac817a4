"""The transactions that are to be taken, with the facts about each."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from binx.log.arrow import arrow_scalar
from binx.log.index.transactions import index_batch
from binx.rows.marks import TAKE

if TYPE_CHECKING:
    from binx.slices.changes import Selected

_READ = 1024
"""Transactions whose facts are made at once."""


class TransactionFacts:
    """Facts about transactions, made for some of them at a time."""

    def __init__(self, part: Selected, taken: array[int], facts: Sequence[str] | None) -> None:
        self._part = part
        self._taken = taken
        self._facts = facts
        self._names: list[str] = []
        self._columns: list[pa.Array] = []
        self._first = 0
        self._known: list[dict[str, Any]] = []

    def at(self, place: int) -> dict[str, Any]:
        """The facts about the transaction at a place among those taken; times in µs since 1970."""
        if not self._first <= place < self._first + len(self._known):
            self._read(place)
        return self._known[place - self._first]

    def _read(self, place: int) -> None:
        part = self._part
        if not self._columns:
            batch = index_batch(
                part.file, part.scan, part.table, epoch=part.epoch, first_seqno=part.first_seqno
            )
            facts = self._facts
            self._names = batch.schema.names if facts is None else ["commit_version", *facts]
            self._columns = [_plain(batch.column(name)) for name in self._names]
        indexes = self._taken[place : place + _READ]
        rows = pa.Array.from_buffers(pa.int64(), len(indexes), [None, pa.py_buffer(indexes)])
        values = [_listed(column.take(rows)) for column in self._columns]
        self._first = place
        self._known = [dict(zip(self._names, row, strict=True)) for row in zip(*values, strict=True)]


def taken_indexes(mask: bytearray) -> array[int]:
    """The indexes of the transactions that a mask takes."""
    marks = pa.Array.from_buffers(pa.uint8(), len(mask), [None, pa.py_buffer(mask)])
    taken = array("q")
    places = pc.indices_nonzero(pc.equal(marks, arrow_scalar(TAKE, pa.uint8())))
    taken.frombytes(memoryview(places.buffers()[1])[: 8 * len(places)])
    return taken


def _plain(column: pa.Array) -> pa.Array:
    """Times as numbers, the rest as it is."""
    return column.cast(pa.timestamp("us")).cast(pa.int64()) if pa.types.is_timestamp(column.type) else column


def _listed(column: pa.Array) -> list[Any]:
    """The values in Python; numbers without the detour over Arrow's scalars."""
    if pa.types.is_int64(column.type) and not column.null_count:
        return memoryview(column.buffers()[1]).cast("q")[column.offset :][: len(column)].tolist()
    values: list[Any] = column.to_pylist()
    return values
