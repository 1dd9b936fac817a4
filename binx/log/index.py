"""The transaction index as Arrow: one row a transaction, as far as a scan's level tells.

Columns, order and names are those of the data set's ``transactions``. A value that the scan's level does not
know is null: ``rows`` and ``tables`` need ``LEVEL_TABLES``; ``events``, ``statements``, ``xid`` and
``thread_id`` are known at ``LEVEL_EVENTS``, and at ``LEVEL_INDEX`` only where the scan met them on its way.
Within compressed transactions only ``LEVEL_TABLES`` looks.

``xid`` is uint64 as it is logged, all other numbers fit int64 (``epoch``: int32); times are
timestamp(us, UTC).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
from binx.log.arrow import arrow_array, arrow_scalar
from binx.log.file import BinlogFile
from binx.log.identifiers import transaction_ids
from binx.log.scanning import TransactionScan

_TIME = pa.timestamp("us", tz="UTC")
_WORD = pa.dictionary(pa.int8(), pa.string())
_NAME = pa.dictionary(pa.int32(), pa.string())
_MICROSECONDS = 1_000_000
_COUNT_TABLE, _COUNT_INSERTS, _COUNT_UPDATES, _COUNT_DELETES = range(4)

KIND_NAMES = {kind: kind.name.removeprefix("KIND_").lower() for kind in Kind}
"""What a transaction's kind is called in listings and data."""


@cache
def index_schema(*, dictionaries: bool = False) -> pa.Schema:
    """The schema of the transaction index and of the data set's ``transactions``.

    Args:
        dictionaries: as for :func:`index_batch`.
    """
    word = _WORD if dictionaries else pa.string()
    name = _NAME if dictionaries else pa.string()
    counts = [("db", name), ("table", name)]
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
            ("kind", word),
            ("how", word),
            ("file", word),
            ("start", pa.int64()),
            ("end", pa.int64()),
            ("bytes", pa.int64()),
            ("uncompressed_bytes", pa.int64()),
            ("commit_timestamp", _TIME),
            ("commit_time_source", word),
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
    file: BinlogFile,
    scan: TransactionScan,
    table: TransactionTable,
    *,
    epoch: int = 0,
    first_seqno: int = 0,
    dictionaries: bool = False,
) -> pa.RecordBatch:
    """One table of a scan's transactions as Arrow.

    Args:
        file: the log.
        scan: the scan that gave the table.
        table: the transactions.
        epoch: how many logs of the chain, up to this one, began with a server's start.
        first_seqno: the number in the chain of the table's first transaction; the others count on.
        dictionaries: whether words from a short list, and names of tables, come as dictionaries of
            strings, which are cheaper to make and to write than strings are.

    Raises:
        UnsupportedError: a transaction begins behind 4 GiB, where no commit version can be given.
    """
    return _IndexColumns(file, scan, table, dictionaries=dictionaries).batch(epoch, first_seqno)


def index_table(
    file: BinlogFile,
    scan: TransactionScan,
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

    def __init__(
        self, file: BinlogFile, scan: TransactionScan, table: TransactionTable, *, dictionaries: bool
    ) -> None:
        self.schema = index_schema(dictionaries=dictionaries)
        self.file = file
        self.scan = scan
        self.table = table
        self.count = len(table)
        self.flags = self.integers("flags")

    def batch(self, epoch: int, first_seqno: int) -> pa.RecordBatch:
        start = self.integers("start")
        if self.count:
            self.file.commit_version(pc.max(start).as_py())
        base = _integer(self.file.commit_version(0))
        compressed = self.has(FLAG_COMPRESSED)
        counted = self.has(FLAG_HAS_COUNTS)
        events = self.integers("events")
        # A compressed transaction's own events are seen only by a scan that looks inside.
        walked = pc.and_(pc.greater(events, _integer(0)), pc.or_(counted, pc.invert(compressed)))
        clock = self.has(FLAG_HAS_CLOCK)
        original = self.integers("original_commit_timestamp")
        transactions = self.strings(*transaction_ids(self.file, self.table))
        columns = {
            "commit_version": pc.add(start, base),
            "transaction": transactions,
            "gtid": self.gtids(transactions),
            "xid": self.where(self.has(FLAG_HAS_XID), self.integers("xid", pa.uint64())),
            "server_id": self.integers("server_id"),
            "epoch": pa.repeat(arrow_scalar(epoch, pa.int32()), self.count),
            "seqno": pc.cumulative_sum(pa.repeat(_integer(1), self.count), _integer(first_seqno - 1)),
            "kind": self.words(self.integers("kind"), [KIND_NAMES[kind] for kind in Kind]),
            "how": self.words(self.has(FLAG_BY_LENGTH), ["boundary", "length"]),
            "file": self.words(pa.repeat(arrow_scalar(0, pa.int8()), self.count), [self.file.name]),
            "start": start,
            "end": self.integers("end"),
            "bytes": self.integers("bytes"),
            "uncompressed_bytes": self.where(compressed, self.integers("uncompressed_bytes")),
            "commit_timestamp": self.integers("commit_timestamp", _TIME),
            "commit_time_source": self.words(
                self.has(FLAG_COMMIT_TIME_FROM_GTID), ["terminal_event", "gtid_event"]
            ),
            "original_commit_timestamp": self.where(
                pc.not_equal(original, _integer(0)), original.view(_TIME)
            ),
            "begin_timestamp": pc.multiply(self.integers("begin_timestamp"), _integer(_MICROSECONDS)).view(
                _TIME
            ),
            "last_committed": self.where(clock, self.integers("last_committed")),
            "sequence_number": self.where(clock, self.integers("sequence_number")),
            "thread_id": self.where(self.has(FLAG_HAS_THREAD), self.integers("thread_id")),
            "events": self.where(walked, events),
            "rows": self.where(counted, self.integers("rows")),
            "statements": self.where(walked, self.integers("statements")),
            "tables": self.tables(counted),
        }
        schema = self.schema
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
        kinds = arrow_array([GtidKind.GTID_MYSQL, GtidKind.GTID_MARIADB], pa.int64())
        return self.where(pc.is_in(self.integers("gtid_kind"), kinds), transactions)

    def has(self, flag: int) -> pa.Array:
        return pc.not_equal(pc.bit_wise_and(self.flags, _integer(flag)), _integer(0))

    def where(self, known: pa.Array, values: pa.Array) -> pa.Array:
        if known.true_count == self.count:
            return values
        return pc.if_else(known, values, pa.nulls(1, values.type)[0])

    def words(self, places: pa.Array, words: Sequence[str], type_: pa.DataType = _WORD) -> pa.Array:
        """The words at these places of a list, as the schema has them; a dictionary has each word once."""
        distinct = list(dict.fromkeys(words))
        if len(distinct) != len(words):
            numbers = {word: number for number, word in enumerate(distinct)}
            places = arrow_array([numbers[word] for word in words], pa.int32()).take(places)
        array = pa.DictionaryArray.from_arrays(
            places.cast(type_.index_type), arrow_array(distinct, pa.string()), safe=False
        )
        return array if self.schema.field("kind").type == _WORD else array.dictionary_decode()

    def tables(self, counted: pa.Array) -> pa.Array:
        """What each transaction did to which table; records have theirs one after another, in order."""
        type_ = self.schema.field("tables").type
        if self.scan.level != Level.LEVEL_TABLES:
            return pa.nulls(self.count, type_)
        names = [self.scan.table_name(number) for number in range(self.scan.table_count)]
        number = self.counts(_COUNT_TABLE)
        struct = pa.StructArray.from_arrays(
            [
                self.words(number, [db for db, _ in names], _NAME),
                self.words(number, [table for _, table in names], _NAME),
                self.counts(_COUNT_INSERTS),
                self.counts(_COUNT_UPDATES),
                self.counts(_COUNT_DELETES),
            ],
            fields=list(type_.value_type),
        )
        offsets = pa.concat_arrays([self.integers("first_count"), arrow_array([len(struct)], pa.int64())])
        return pa.ListArray.from_arrays(offsets.cast(pa.int32()), struct, type=type_)

    def counts(self, which: int) -> pa.Array:
        buffer = pa.py_buffer(self.table.count_column(which))
        return pa.Array.from_buffers(pa.int64(), buffer.size // 8, [None, buffer])


def _integer(value: int) -> pa.Scalar:
    return arrow_scalar(value, pa.int64())


__all__ = ["KIND_NAMES", "index_batch", "index_schema", "index_table"]
