"""Transactions as records of the Python API."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from binx.kernels.transactions.table import FLAG_HAS_THREAD, FLAG_HAS_XID, Kind, TransactionTable
from binx.log.binlog_file import TransactionScan
from binx.log.identifiers import transaction_id
from binx.log.selection.times import in_zone

_UNSIGNED = 1 << 64


@dataclass(frozen=True, slots=True)
class TableChange:
    """The number of rows of one table that a transaction changed."""

    db: str
    table: str
    inserts: int
    updates: int
    deletes: int


@dataclass(frozen=True, slots=True)
class TransactionRecord:
    """One transaction of the transaction index.

    Attributes:
        transaction: the GTID; without GTIDs, a UUID that is the same each time the log is read.
        gtid: the GTID, or None.
        kind: ``dml``, ``ddl``, ``xa_prepare``, ``xa_commit``, ``xa_rollback``, ``rollback``, ``empty``,
            ``incident``.
        commit_timestamp: with microseconds if the log has them, else in whole seconds.
        commit_version: orders all transactions of a server's chain.
        file: the log's name.
        path: the log as it was given.
        start: offset of its first byte.
        end: offset after its last byte.
        server_id: the server on which it was first executed.
        thread_id: the connection, or None if not in the log.
        xid: the storage engine's XID, or None.
        events: number of events.
        rows: number of row changes.
        tables: row changes by table.
    """

    transaction: str
    gtid: str | None
    kind: str
    commit_timestamp: datetime
    commit_version: int
    file: str
    path: str
    start: int
    end: int
    server_id: int
    thread_id: int | None
    xid: int | None
    events: int
    rows: int
    tables: tuple[TableChange, ...]

    @property
    def bytes(self) -> int:
        """Its size in the file."""
        return self.end - self.start


def transaction_record(scan: TransactionScan, table: TransactionTable, index: int) -> TransactionRecord:
    """Return one transaction of a scan at ``LEVEL_TABLES``.

    Args:
        scan: the scan.
        table: some of its transactions.
        index: the transaction's index in the table.

    Raises:
        UnsupportedError: it begins after the first 4 GiB, so it cannot have a commit version.
    """
    file, value = scan.file, table.value
    flags = value("flags", index)
    start = value("start", index)
    counts = tuple(
        TableChange(*scan.table_name(number), inserts, updates, deletes)
        for number, inserts, updates, deletes, _ in table.counts_of(index)
    )
    return TransactionRecord(
        transaction=transaction_id(file, table, index),
        gtid=table.gtid(index),
        kind=Kind(value("kind", index)).name.removeprefix("KIND_").lower(),
        commit_timestamp=in_zone(value("commit_timestamp", index), UTC),
        commit_version=file.commit_version(start),
        file=file.name,
        path=file.path,
        start=start,
        end=value("end", index),
        server_id=value("server_id", index),
        thread_id=value("thread_id", index) if flags & FLAG_HAS_THREAD else None,
        xid=value("xid", index) % _UNSIGNED if flags & FLAG_HAS_XID else None,
        events=value("events", index),
        rows=value("rows", index),
        tables=counts,
    )
