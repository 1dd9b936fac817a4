"""The transaction index as Arrow: one row per transaction, with what the scan's level provides.

``TRANSACTION_COLUMNS`` is the single declaration of a transaction's fields: the data set's ``transactions``,
the library's tables, the fields of listings and JSON, and the index file, which adds ``RECORD_COLUMNS``, are
made from it. A value that the scan's level does not provide is null: ``rows`` and ``tables`` need
``LEVEL_TABLES``; ``events``, ``statements``, ``xid`` and ``thread_id`` are known at ``LEVEL_EVENTS``, and at
``LEVEL_INDEX`` only if the scan read them anyway. Compressed transactions are decompressed only at
``LEVEL_TABLES``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import NamedTuple, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from binx.kernels.transactions.table import (
    FLAG_BY_LENGTH,
    FLAG_COMMIT_TIME_FROM_GTID,
    FLAG_COMPRESSED,
    FLAG_HAS_CLOCK,
    FLAG_HAS_COUNTS,
    FLAG_HAS_THREAD,
    FLAG_HAS_XID,
    GtidKind,
    TransactionTable,
)
from binx.kernels.walk.scan import Level
from binx.log.arrow import arrow_array, arrow_scalar
from binx.log.file import BinlogFile
from binx.log.identifiers import transaction_ids
from binx.log.scanning import COMMIT_TIME_SOURCES, HOW_NAMES, KIND_NAMES, TransactionScan

_TIME = pa.timestamp("us", tz="UTC")
_MICROSECONDS = 1_000_000
_Field = TypeVar("_Field", str, int)


class TransactionColumn(NamedTuple):
    """A column of the transaction index.

    Attributes:
        type: the Arrow type; words of a short list are strings.
        values: returns the column for a table of transactions.
    """

    name: str
    type: pa.DataType
    values: Callable[[TransactionRows], pa.Array]


class TransactionRows:
    """Convert the transactions of one scan table to rows.

    Args:
        epoch: how many logs of the chain, up to this one, are the first after a server start.
        first_seqno: the number in the chain of the table's first transaction.
    """

    def __init__(
        self,
        file: BinlogFile,
        scan: TransactionScan,
        table: TransactionTable,
        epoch: int,
        first_seqno: int,
    ) -> None:
        self.file = file
        self.scan = scan
        self.table = table
        self.epoch = epoch
        self.first_seqno = first_seqno
        self._fields: dict[str | int, pa.Array] = {}

    def __len__(self) -> int:
        return len(self.table)

    def numbers(self, field: str) -> pa.Array:
        """A field of the kernel's records, as int64."""
        return self._fetched(field, self.table.column)

    def flagged(self, flag: int) -> pa.Array:
        """Return which records have a flag."""
        return pc.not_equal(pc.bit_wise_and(self.numbers("flags"), _number(flag)), _number(0))

    def where(self, known: pa.Array, values: pa.Array) -> pa.Array:
        """Return the values that are known; the others are null."""
        return pc.if_else(known, values, pa.nulls(len(self), values.type))

    def _fetched(self, field: _Field, fetch: Callable[[_Field], bytes]) -> pa.Array:
        """Return a column of the table, which copies it each time, as int64."""
        found = self._fields.get(field)
        if found is None:
            found = self._fields[field] = _int64(fetch(field))
        return found

    @cached_property
    def ids(self) -> pa.Array:
        """The transactions' ids."""
        offsets, text = transaction_ids(self.file, self.table)
        return pa.Array.from_buffers(
            pa.string(), len(self), [None, pa.py_buffer(offsets), pa.py_buffer(text)]
        )

    @cached_property
    def has_gtid(self) -> pa.Array:
        """Whether each transaction has a GTID."""
        kinds = self.numbers("gtid_kind")
        return pc.or_(
            pc.equal(kinds, _number(GtidKind.GTID_MYSQL)), pc.equal(kinds, _number(GtidKind.GTID_MARIADB))
        )

    @cached_property
    def has_events(self) -> pa.Array:
        """Whether each transaction's events are counted; compressed ones only if decompressed."""
        looked_inside = pc.or_(self.flagged(FLAG_HAS_COUNTS), pc.invert(self.flagged(FLAG_COMPRESSED)))
        return pc.and_(pc.greater(self.numbers("events"), _number(0)), looked_inside)

    @cached_property
    def count_offsets(self) -> pa.Array:
        """The offset of each transaction's counts, and the total: one more than transactions."""
        sums = pc.cumulative_sum(self.numbers("counts"))
        zero = arrow_array([0], pa.int64())
        return pa.concat_arrays([zero, sums]).cast(pa.int32())

    def counts(self, which: int) -> pa.Array:
        """Return one of all tables' counts as int64: 0 number, 1 inserts, 2 updates, 3 deletes, 4 bytes."""
        return self._fetched(which, self.table.count_column)

    def names(self) -> tuple[pa.Array, pa.Array]:
        """The databases and the names of all transactions' tables."""
        names = [self.scan.table_name(number) for number in range(self.scan.table_count)]
        databases, tables = (
            arrow_array([name[part] for name in names], pa.string()).take(self.counts(0)) for part in (0, 1)
        )
        return databases, tables

    def batch(self, *, records: bool = False) -> pa.RecordBatch:
        """Return the transactions as Arrow.

        Raises:
            UnsupportedError: a transaction begins beyond 4 GiB, where there is no commit version.
        """
        columns = TRANSACTION_COLUMNS + (RECORD_COLUMNS if records else ())
        return pa.RecordBatch.from_arrays(
            [column.values(self) for column in columns], schema=index_schema(records=records)
        )


def _number(value: int) -> pa.Scalar:
    return arrow_scalar(int(value), pa.int64())


def _int64(data: bytes) -> pa.Array:
    return pa.Array.from_buffers(pa.int64(), len(data) // 8, [None, pa.py_buffer(data)])


def _field(field: str) -> Callable[[TransactionRows], pa.Array]:
    return lambda rows: rows.numbers(field)


def _flagged(field: str, flag: int) -> Callable[[TransactionRows], pa.Array]:
    """Return a column function for a field that is known of records with a flag."""
    return lambda rows: rows.where(rows.flagged(flag), rows.numbers(field))


def _counted(field: str) -> Callable[[TransactionRows], pa.Array]:
    return lambda rows: rows.where(rows.has_events, rows.numbers(field))


def _commit_versions(rows: TransactionRows) -> pa.Array:
    if len(rows):
        # The last transaction is after all others.
        rows.file.commit_version(rows.table.value("start", len(rows) - 1))
    return pc.add(rows.numbers("start"), _number(rows.file.commit_version(0)))


def _original_times(rows: TransactionRows) -> pa.Array:
    times = rows.numbers("original_commit_timestamp")
    return rows.where(pc.not_equal(times, _number(0)), times)


def _repeated(value: str | int, data_type: pa.DataType, count: int) -> pa.Array:
    return pa.repeat(arrow_scalar(value, data_type), count)


def _named(names: Sequence[str], places: pa.Array) -> pa.Array:
    return arrow_array(names, pa.string()).take(places)


def _seqnos(rows: TransactionRows) -> pa.Array:
    ones = _repeated(1, pa.int64(), len(rows))
    return pc.add(pc.cumulative_sum(ones), _number(rows.first_seqno - 1))


_COUNTS = pa.struct(
    [("db", pa.string()), ("table", pa.string())]
    + [(name, pa.int64()) for name in ("inserts", "updates", "deletes")]
)


def _listed(rows: TransactionRows, values: pa.Array) -> pa.Array:
    return pa.ListArray.from_arrays(rows.count_offsets, values)


def _tables(rows: TransactionRows) -> pa.Array:
    if rows.scan.level != Level.LEVEL_TABLES:
        return pa.nulls(len(rows), pa.list_(_COUNTS))
    children = [*rows.names(), *map(rows.counts, (1, 2, 3))]
    return _listed(rows, pa.StructArray.from_arrays(children, fields=list(_COUNTS)))


TRANSACTION_COLUMNS = (
    TransactionColumn("commit_version", pa.int64(), _commit_versions),
    TransactionColumn("transaction", pa.string(), lambda rows: rows.ids),
    TransactionColumn("gtid", pa.string(), lambda rows: rows.where(rows.has_gtid, rows.ids)),
    # As logged: unsigned 64 bits.
    TransactionColumn("xid", pa.uint64(), lambda rows: _flagged("xid", FLAG_HAS_XID)(rows).view(pa.uint64())),
    TransactionColumn("server_id", pa.int64(), _field("server_id")),
    TransactionColumn("epoch", pa.int32(), lambda rows: _repeated(rows.epoch, pa.int32(), len(rows))),
    TransactionColumn("seqno", pa.int64(), _seqnos),
    TransactionColumn("kind", pa.string(), lambda rows: _named(KIND_NAMES, rows.numbers("kind"))),
    TransactionColumn(
        "how", pa.string(), lambda rows: _named(HOW_NAMES, rows.flagged(FLAG_BY_LENGTH).cast(pa.int8()))
    ),
    TransactionColumn("file", pa.string(), lambda rows: _repeated(rows.file.name, pa.string(), len(rows))),
    TransactionColumn("start", pa.int64(), _field("start")),
    TransactionColumn("end", pa.int64(), _field("end")),
    TransactionColumn("bytes", pa.int64(), _field("bytes")),
    TransactionColumn("uncompressed_bytes", pa.int64(), _flagged("uncompressed_bytes", FLAG_COMPRESSED)),
    TransactionColumn("commit_timestamp", _TIME, lambda rows: rows.numbers("commit_timestamp").cast(_TIME)),
    TransactionColumn(
        "commit_time_source",
        pa.string(),
        lambda rows: _named(COMMIT_TIME_SOURCES, rows.flagged(FLAG_COMMIT_TIME_FROM_GTID).cast(pa.int8())),
    ),
    TransactionColumn("original_commit_timestamp", _TIME, lambda rows: _original_times(rows).cast(_TIME)),
    TransactionColumn(
        "begin_timestamp",
        _TIME,
        lambda rows: pc.multiply(rows.numbers("begin_timestamp"), _number(_MICROSECONDS)).cast(_TIME),
    ),
    TransactionColumn("last_committed", pa.int64(), _flagged("last_committed", FLAG_HAS_CLOCK)),
    TransactionColumn("sequence_number", pa.int64(), _flagged("sequence_number", FLAG_HAS_CLOCK)),
    TransactionColumn("thread_id", pa.int64(), _flagged("thread_id", FLAG_HAS_THREAD)),
    TransactionColumn("events", pa.int64(), _counted("events")),
    TransactionColumn("rows", pa.int64(), _flagged("rows", FLAG_HAS_COUNTS)),
    TransactionColumn("statements", pa.int64(), _counted("statements")),
    TransactionColumn("tables", pa.list_(_COUNTS), _tables),
)
"""All fields of a transaction, in the order of the data set's ``transactions``."""

RECORD_COLUMNS = (
    TransactionColumn("claimed_length", pa.int64(), _field("claimed_length")),
    TransactionColumn("gtid_kind", pa.uint8(), lambda rows: rows.numbers("gtid_kind").cast(pa.uint8())),
    TransactionColumn("gtid_source", pa.int32(), lambda rows: rows.numbers("source").cast(pa.int32())),
    TransactionColumn("gtid_number", pa.uint64(), lambda rows: rows.numbers("number").view(pa.uint64())),
    TransactionColumn("flags", pa.uint8(), lambda rows: rows.numbers("flags").cast(pa.uint8())),
    TransactionColumn("undoes_part", pa.uint8(), lambda rows: rows.numbers("undoes_part").cast(pa.uint8())),
    TransactionColumn("table_numbers", pa.list_(pa.int64()), lambda rows: _listed(rows, rows.counts(0))),
    TransactionColumn("table_bytes", pa.list_(pa.int64()), lambda rows: _listed(rows, rows.counts(4))),
)
"""Additional columns of an index file, from which a scan's records are restored."""


@cache
def index_schema(*, records: bool = False) -> pa.Schema:
    """Return the schema of the transaction index and of the data set's ``transactions``.

    Args:
        records: whether to add ``RECORD_COLUMNS``, as in index files.
    """
    columns = TRANSACTION_COLUMNS + (RECORD_COLUMNS if records else ())
    return pa.schema([(column.name, column.type) for column in columns])


def index_batch(
    file: BinlogFile,
    scan: TransactionScan,
    table: TransactionTable,
    *,
    epoch: int = 0,
    first_seqno: int = 0,
    records: bool = False,
) -> pa.RecordBatch:
    """Return one table of a scan's transactions as Arrow.

    Args:
        epoch: how many logs of the chain, up to this one, are the first after a server start.
        first_seqno: the number in the chain of the table's first transaction; the others follow.

    Raises:
        UnsupportedError: a transaction begins beyond 4 GiB, where there is no commit version.
    """
    return TransactionRows(file, scan, table, epoch, first_seqno).batch(records=records)
