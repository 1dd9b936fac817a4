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
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

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
from binx.log.arrow import arrow_numbers, validity_bits
from binx.log.binlog_file import BinlogFile, TransactionScan
from binx.log.identifiers import transaction_ids
from binx.log.scanning import COMMIT_TIME_SOURCES, HOW_NAMES, KIND_NAMES

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TIME = pa.timestamp("us", tz="UTC")
_MICROSECONDS = 1_000_000


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
        self._fields: dict[str, NDArray[np.int64]] = {}

    def __len__(self) -> int:
        return len(self.table)

    def numbers(self, field: str) -> NDArray[np.int64]:
        """A field of the kernel's records; the table copies it, so it is kept."""
        found = self._fields.get(field)
        if found is None:
            found = self._fields[field] = np.frombuffer(self.table.column(field), np.int64)
        return found

    def flagged(self, flag: int) -> NDArray[np.bool_]:
        """Return which records have a flag."""
        found: NDArray[np.bool_] = self.numbers("flags") & flag != 0
        return found

    @cached_property
    def ids(self) -> tuple[bytes, bytes]:
        """The transactions' ids: the offsets and the text of an Arrow column."""
        return transaction_ids(self.file, self.table)

    @cached_property
    def has_events(self) -> NDArray[np.bool_]:
        """Whether each transaction's events are counted; compressed ones only if decompressed."""
        looked_inside = self.flagged(FLAG_HAS_COUNTS) | ~self.flagged(FLAG_COMPRESSED)
        return (self.numbers("events") > 0) & looked_inside

    @cached_property
    def count_offsets(self) -> pa.Array:
        """The offset of each transaction's counts, and the total: one more than transactions."""
        offsets = np.zeros(len(self) + 1, np.int64)
        np.cumsum(self.numbers("counts"), out=offsets[1:])
        return arrow_numbers(offsets, pa.int32())

    def array(self, field: str, data_type: pa.DataType, known: NDArray[np.bool_] | None = None) -> pa.Array:
        """A field as Arrow; what is not known is null."""
        return arrow_numbers(self.numbers(field), data_type, known)

    def counts(self, which: int) -> pa.Array:
        """Return one of all tables' counts as int64: 0 number, 1 inserts, 2 updates, 3 deletes, 4 bytes."""
        return arrow_numbers(np.frombuffer(self.table.count_column(which), np.int64), pa.int64())

    @cached_property
    def table_names(self) -> list[tuple[str, str]]:
        """Database and name of each table that the scan has found so far."""
        return [self.scan.table_name(number) for number in range(self.scan.table_count)]

    def names(self) -> tuple[pa.Array, pa.Array]:
        """The databases and the names of all transactions' tables."""
        databases, tables = (
            pa.array([name[part] for name in self.table_names], pa.string()).take(self.counts(0))
            for part in (0, 1)
        )
        return databases, tables

    def detach(self) -> None:
        """Read what the scan shares with its tables: after this, it may continue while rows are made."""
        _ = self.ids, self.table_names

    def batch(self, *, records: bool = False) -> pa.RecordBatch:
        """Return the transactions as Arrow.

        Raises:
            UnsupportedError: a transaction begins beyond 4 GiB, where there is no commit version.
        """
        columns = TRANSACTION_COLUMNS + (RECORD_COLUMNS if records else ())
        return pa.RecordBatch.from_arrays(
            [column.values(self) for column in columns], schema=index_schema(records=records)
        )


def _field(field: str, data_type: pa.DataType) -> TransactionColumn:
    return TransactionColumn(field, data_type, lambda rows: rows.array(field, data_type))


def _flagged(field: str, data_type: pa.DataType, flag: int) -> TransactionColumn:
    """Return a column that is known of records with a flag."""
    return TransactionColumn(field, data_type, lambda rows: rows.array(field, data_type, rows.flagged(flag)))


def _counted(field: str) -> TransactionColumn:
    return TransactionColumn(field, pa.int64(), lambda rows: rows.array(field, pa.int64(), rows.has_events))


def _ids(rows: TransactionRows, known: NDArray[np.bool_] | None = None) -> pa.Array:
    return pa.Array.from_buffers(pa.string(), len(rows), [validity_bits(known), *map(pa.py_buffer, rows.ids)])


def _gtids(rows: TransactionRows) -> pa.Array:
    kinds = rows.numbers("gtid_kind")
    return _ids(rows, (kinds == GtidKind.GTID_MYSQL) | (kinds == GtidKind.GTID_MARIADB))


def _commit_versions(rows: TransactionRows) -> pa.Array:
    if len(rows):
        # The last transaction is after all others.
        rows.file.commit_version(rows.table.value("start", len(rows) - 1))
    return arrow_numbers(rows.numbers("start") + rows.file.commit_version(0), pa.int64())


def _original_times(rows: TransactionRows) -> pa.Array:
    times = rows.numbers("original_commit_timestamp")
    return arrow_numbers(times, _TIME, times != 0)


def _named(names: Sequence[str], places: NDArray[np.generic]) -> pa.Array:
    return pa.array(names, pa.string()).take(arrow_numbers(places, pa.int32()))


def _seqnos(rows: TransactionRows) -> pa.Array:
    return arrow_numbers(np.arange(rows.first_seqno, rows.first_seqno + len(rows)), pa.int64())


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
    TransactionColumn("transaction", pa.string(), _ids),
    TransactionColumn("gtid", pa.string(), _gtids),
    # As logged: unsigned 64 bits.
    _flagged("xid", pa.uint64(), FLAG_HAS_XID),
    _field("server_id", pa.int64()),
    TransactionColumn(
        "epoch", pa.int32(), lambda rows: arrow_numbers(np.full(len(rows), rows.epoch), pa.int32())
    ),
    TransactionColumn("seqno", pa.int64(), _seqnos),
    TransactionColumn("kind", pa.string(), lambda rows: _named(KIND_NAMES, rows.numbers("kind"))),
    TransactionColumn("how", pa.string(), lambda rows: _named(HOW_NAMES, rows.flagged(FLAG_BY_LENGTH))),
    TransactionColumn(
        "file", pa.string(), lambda rows: pa.repeat(pa.scalar(rows.file.name, pa.string()), len(rows))
    ),
    _field("start", pa.int64()),
    _field("end", pa.int64()),
    _field("bytes", pa.int64()),
    _flagged("uncompressed_bytes", pa.int64(), FLAG_COMPRESSED),
    _field("commit_timestamp", _TIME),
    TransactionColumn(
        "commit_time_source",
        pa.string(),
        lambda rows: _named(COMMIT_TIME_SOURCES, rows.flagged(FLAG_COMMIT_TIME_FROM_GTID)),
    ),
    TransactionColumn("original_commit_timestamp", _TIME, _original_times),
    TransactionColumn(
        "begin_timestamp",
        _TIME,
        lambda rows: arrow_numbers(rows.numbers("begin_timestamp") * _MICROSECONDS, _TIME),
    ),
    _flagged("last_committed", pa.int64(), FLAG_HAS_CLOCK),
    _flagged("sequence_number", pa.int64(), FLAG_HAS_CLOCK),
    _flagged("thread_id", pa.int64(), FLAG_HAS_THREAD),
    _counted("events"),
    _flagged("rows", pa.int64(), FLAG_HAS_COUNTS),
    _counted("statements"),
    TransactionColumn("tables", pa.list_(_COUNTS), _tables),
)
"""All fields of a transaction, in the order of the data set's ``transactions``."""

RECORD_COLUMNS = (
    _field("claimed_length", pa.int64()),
    _field("gtid_kind", pa.uint8()),
    TransactionColumn("gtid_source", pa.int32(), lambda rows: rows.array("source", pa.int32())),
    TransactionColumn("gtid_number", pa.uint64(), lambda rows: rows.array("number", pa.uint64())),
    _field("flags", pa.uint8()),
    _field("undoes_part", pa.uint8()),
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
