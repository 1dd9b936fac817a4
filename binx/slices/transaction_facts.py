"""Facts about the transactions that are to be taken, and what stands before their row changes.

A format of text is a list of fields: what is said of a transaction, and the text around it.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from binx.kernels.render.transactions import TransactionTexts
from binx.log.arrow import arrow_scalar
from binx.log.identifiers import anonymous_id
from binx.log.index.transactions import index_batch
from binx.log.scanning import TransactionScan
from binx.rows.decoder import TAKE
from binx.source.wording import encoded

if TYPE_CHECKING:
    from binx.slices.changes import Selected

_READ = 1024
"""Transactions whose facts are made at once."""


class Frame(NamedTuple):
    """What stands around the row changes of some transactions.

    Attributes:
        head_ends: where the text before each ends; 8 bytes each, native byte order.
    """

    transactions: int
    head_ends: bytes
    heads: bytes
    foot: bytes


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
    return column.cast(pa.timestamp("us")).cast(pa.int64()) if pa.types.is_timestamp(column.type) else column


def _listed(column: pa.Array) -> list[Any]:
    """The values in Python; numbers without the detour over Arrow's scalars."""
    if pa.types.is_int64(column.type) and not column.null_count:
        return memoryview(column.buffers()[1]).cast("q")[column.offset :][: len(column)].tolist()
    values: list[Any] = column.to_pylist()
    return values


FRAMED = 4096
"""Transactions whose heads are made at once."""


class Heads:
    """Makes frames around the row changes of transactions."""

    def __init__(
        self,
        texts: TransactionTexts,
        foot: bytes,
        shown: Callable[[str], str],
        table: Callable[[str, str], str],
    ) -> None:
        self._texts = texts
        self._foot = foot
        self._shown = shown
        self._table = table
        self._scan: TransactionScan | None = None

    def frame(self, part: Selected, taken: array[int], first: int, count: int) -> Frame:
        """The frame of some transactions."""
        if self._scan is not part.scan:
            self._begin(part)
        heads, ends = self._texts.render_taken(part.table, taken, first, count, part.first_seqno)
        return Frame(count, ends, heads, self._foot)

    def _begin(self, part: Selected) -> None:
        scan, file = part.scan, part.file
        self._scan = scan
        self._texts.begin_file(
            encoded(self._shown(file.name)),
            file.commit_version(0),
            part.epoch,
            lambda number: encoded(self._table(*scan.table_name(number))),
            lambda start: anonymous_id(file, start).encode(),
        )
