"""The transaction index as Arrow: one row a transaction, as far as a scan's level tells.

Columns, order and names are those of the data set's ``transactions``. A value that the scan's level does not
know is null: ``rows`` and ``tables`` need ``LEVEL_TABLES``; ``events``, ``statements``, ``xid`` and
``thread_id`` are known at ``LEVEL_EVENTS``, and at ``LEVEL_INDEX`` only where the scan met them on its way.
Within compressed transactions only ``LEVEL_TABLES`` looks.

``xid`` is uint64 as it is logged, all other numbers fit int64 (``epoch``: int32); times are
timestamp(us, UTC).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

from binx.kernels.scan import Level
from binx.kernels.transactions import (
    FLAG_BY_LENGTH,
    FLAG_COMMIT_TIME_FROM_GTID,
    FLAG_COMPRESSED,
    FLAG_HAS_CLOCK,
    FLAG_HAS_COUNTS,
    FLAG_HAS_THREAD,
    FLAG_HAS_XID,
    GtidKind,
    Kind,
    TransactionTable,
)
from binx.log.file import BinlogFile, Scan
from binx.log.identifiers import transaction_ids

_TIME = pa.timestamp("us", tz="UTC")
_MICROSECONDS = 1_000_000
_COUNT_TABLE, _COUNT_INSERTS, _COUNT_UPDATES, _COUNT_DELETES = range(4)

KIND_NAMES = {kind: kind.name.removeprefix("KIND_").lower() for kind in Kind}
"""What a transaction's kind is called in listings and data."""


@cache
def index_schema() -> pa.Schema:
    """The schema of the transaction index and of the data set's ``transactions``."""
    counts = [("db", pa.string()), ("table", pa.string())]
    counts += [(name, pa.int64()) for name in ("inserts", "updates", "deletes")]
    return pa.schema(
        [
            ("commit_version", pa.int64()),
            ("transaction", pa.string()),
            ("gtid", pa.string()),
            ("xid", pa.uint64()),
            ("server_id", pa.int64()),
            ("epoch", pa.int32()),
            ("seqno", pa.int64()),
            ("kind", pa.string()),
            ("how", pa.string()),
            ("file", pa.string()),
            ("start", pa.int64()),
            ("end", pa.int64()),
            ("bytes", pa.int64()),
            ("uncompressed_bytes", pa.int64()),
            ("commit_timestamp", _TIME),
            ("commit_time_source", pa.string()),
            ("original_commit_timestamp", _TIME),
            ("begin_timestamp", _TIME),
            ("last_committed", pa.int64()),
            ("sequence_number", pa.int64()),
            ("thread_id", pa.int64()),
            ("events", pa.int64()),
            ("rows", pa.int64()),
            ("statements", pa.int64()),
            ("tables", pa.list_(pa.struct(counts))),
        ]
    )


def index_batch(
    file: BinlogFile, scan: Scan, table: TransactionTable, *, epoch: int = 0, first_seqno: int = 0
) -> pa.RecordBatch:
    """One table of a scan's transactions as Arrow.

    Args:
        file: the log.
        scan: the scan that gave the table.
        table: the transactions.
        epoch: how many logs of the chain, up to this one, began with a server's start.
        first_seqno: the number in the chain of the table's first transaction; the others count on.

    Raises:
        UnsupportedError: a transaction begins behind 4 GiB, where no commit version can be given.
    """
    return _IndexColumns(file, scan, table).batch(epoch, first_seqno)


def index_table(
    file: BinlogFile,
    scan: Scan,
    tables: Iterable[TransactionTable] | None = None,
    *,
    epoch: int = 0,
    first_seqno: int = 0,
) -> pa.Table:
    """All transactions of a scan as Arrow.

    Args:
        file: the log.
        scan: a scan of it.
        tables: the tables that the scan gave; by default the scan is run.
        epoch: as for :func:`index_batch`.
        first_seqno: the number in the chain of the scan's first transaction.

    Raises:
        DamagedError, UnsupportedError: as the scan does.
    """
    batches = []
    seqno = first_seqno
    for table in scan if tables is None else tables:
        batches.append(index_batch(file, scan, table, epoch=epoch, first_seqno=seqno))
        seqno += len(table)
    return pa.Table.from_batches(batches, schema=index_schema())


class _IndexColumns:
    """The columns of one batch, made from whole columns of the records."""

    def __init__(self, file: BinlogFile, scan: Scan, table: TransactionTable) -> None:
        self.file = file
        self.scan = scan
        self.table = table
        self.count = len(table)
        self.flags = self.integers("flags")

    def batch(self, epoch: int, first_seqno: int) -> pa.RecordBatch:
        start = self.integers("start")
        if self.count:
            self.file.commit_version(pc.max(start).as_py())
        base = pa.scalar(self.file.commit_version(0), pa.int64())
        compressed = self.has(FLAG_COMPRESSED)
        counted = self.has(FLAG_HAS_COUNTS)
        events = self.integers("events")
        # A compressed transaction's own events are seen only by a scan that looks inside.
        walked = pc.and_(pc.greater(events, 0), pc.or_(counted, pc.invert(compressed)))
        clock = self.has(FLAG_HAS_CLOCK)
        original = self.integers("original_commit_timestamp")
        transactions = self.strings(*transaction_ids(self.file, self.table))
        columns = {
            "commit_version": pc.add(start, base),
            "transaction": transactions,
            "gtid": self.gtids(transactions),
            "xid": self.where(self.has(FLAG_HAS_XID), self.integers("xid", pa.uint64())),
            "server_id": self.integers("server_id"),
            "epoch": pa.repeat(pa.scalar(epoch, pa.int32()), self.count),
            "seqno": pc.cumulative_sum(pa.repeat(pa.scalar(1, pa.int64()), self.count), first_seqno - 1),
            "kind": pc.take(pa.array([KIND_NAMES[kind] for kind in Kind]), self.integers("kind")),
            "how": self.either(self.has(FLAG_BY_LENGTH), "length", "boundary"),
            "file": pa.repeat(self.file.name, self.count),
            "start": start,
            "end": self.integers("end"),
            "bytes": self.integers("bytes"),
            "uncompressed_bytes": self.where(compressed, self.integers("uncompressed_bytes")),
            "commit_timestamp": self.integers("commit_timestamp", _TIME),
            "commit_time_source": self.either(
                self.has(FLAG_COMMIT_TIME_FROM_GTID), "gtid_event", "terminal_event"
            ),
            "original_commit_timestamp": self.where(pc.not_equal(original, 0), original.view(_TIME)),
            "begin_timestamp": pc.multiply(self.integers("begin_timestamp"), _MICROSECONDS).view(_TIME),
            "last_committed": self.where(clock, self.integers("last_committed")),
            "sequence_number": self.where(clock, self.integers("sequence_number")),
            "thread_id": self.where(self.has(FLAG_HAS_THREAD), self.integers("thread_id")),
            "events": self.where(walked, events),
            "rows": self.where(counted, self.integers("rows")),
            "statements": self.where(walked, self.integers("statements")),
            "tables": self.tables(counted),
        }
        schema = index_schema()
        return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)

    def integers(self, field: str, type_: pa.DataType | None = None) -> pa.Array:
        """A field of all records, taken over without a copy."""
        buffer = pa.py_buffer(self.table.column(field))
        return pa.Array.from_buffers(type_ or pa.int64(), self.count, [None, buffer])

    def strings(self, offsets: bytes, text: bytes) -> pa.Array:
        return pa.Array.from_buffers(
            pa.string(), self.count, [None, pa.py_buffer(offsets), pa.py_buffer(text)]
        )

    def gtids(self, transactions: pa.Array) -> pa.Array:
        """The transactions' ids where those are GTIDs."""
        kinds = pa.array([GtidKind.GTID_MYSQL, GtidKind.GTID_MARIADB], pa.int64())
        return self.where(pc.is_in(self.integers("gtid_kind"), kinds), transactions)

    def has(self, flag: int) -> pa.Array:
        return pc.not_equal(pc.bit_wise_and(self.flags, pa.scalar(flag, pa.int64())), 0)

    def where(self, known: pa.Array, values: pa.Array) -> pa.Array:
        if known.true_count == self.count:
            return values
        return pc.if_else(known, values, pa.scalar(None, values.type))

    def either(self, condition: pa.Array, yes: str, no: str) -> pa.Array:
        return pc.if_else(condition, pa.scalar(yes), pa.scalar(no))

    def tables(self, counted: pa.Array) -> pa.Array:
        """What each transaction did to which table; records have theirs one after another, in order."""
        type_ = index_schema().field("tables").type
        if self.scan.level != Level.LEVEL_TABLES:
            return pa.nulls(self.count, type_)
        names = [self.scan.table_name(number) for number in range(self.scan.table_count)]
        number = self.counts(_COUNT_TABLE)
        struct = pa.StructArray.from_arrays(
            [
                pc.take(pa.array([db for db, _ in names], pa.string()), number),
                pc.take(pa.array([table for _, table in names], pa.string()), number),
                self.counts(_COUNT_INSERTS),
                self.counts(_COUNT_UPDATES),
                self.counts(_COUNT_DELETES),
            ],
            fields=list(type_.value_type),
        )
        offsets = pa.concat_arrays([self.integers("first_count"), pa.array([len(struct)], pa.int64())])
        return pa.ListArray.from_arrays(offsets.cast(pa.int32()), struct, type=type_)

    def counts(self, which: int) -> pa.Array:
        buffer = pa.py_buffer(self.table.count_column(which))
        return pa.Array.from_buffers(pa.int64(), buffer.size // 8, [None, buffer])


__all__ = ["KIND_NAMES", "index_batch", "index_schema", "index_table"]
