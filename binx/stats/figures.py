"""The figures of binary logs: what ``stats`` prints, and the shape of its JSON.

Every figure is of what was read: where the index alone was read (``quick``), what only rows or events tell is
None (null in JSON) or empty, as each attribute says. Times are in µs since 1970 here and RFC 3339 in JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from binx.source.json_text import json_text
from binx.stats.dimensions import Breakdown
from binx.stats.transaction import ListedTransaction, moment_json, printable


@dataclass(frozen=True, slots=True)
class Point:
    """A transaction's place in the logs.

    Attributes:
        transaction: its GTID, or the UUID that stands for it.
        commit_timestamp: µs since 1970.
        file: the log's name.
        start: offset of its first byte.
    """

    transaction: str
    commit_timestamp: int
    file: str
    start: int


@dataclass(frozen=True, slots=True)
class FileFigures:
    """One log; of its bytes, those of header, transactions, unfinished and damaged add up to all.

    Where only some transactions were asked for, ``transactions``, ``first``, ``last`` and ``gtid_set`` are of
    those, and the bytes of all.

    Attributes:
        path: as the user gave it.
        name: the log's name.
        bytes: its size.
        server_version: of the server that wrote it.
        flavour: ``mysql`` or ``mariadb``.
        server_id: of that server.
        create_timestamp: when the file was begun, µs since 1970.
        at_startup: whether it is the first log after a start of its server.
        epoch: how many logs of the chain, up to this one, began with a start.
        checksum: ``CRC32`` or ``OFF``.
        in_use: whether the file says that its server has it open.
        ending: ``closed``, ``in use``, ``damaged``, or ``open``: whole, without ROTATE or STOP at its end.
        next_file: the name in the ROTATE at its end.
        transactions: how many.
        events: how many, those within compressed payloads not counted; None where only the index was read, or
            only some transactions were asked for.
        first: its first transaction.
        last: its last one.
        gtid_set: the GTIDs of its transactions; None where selected ones have over 65,536 intervals.
        previous_gtids: those of all logs before, as the file says; None where it does not.
        header_bytes: events about the file itself.
        transaction_bytes: whole transactions.
        unfinished_bytes: what follows the last whole transaction in a file in use.
        damaged_bytes: what could not be read.
        problem: why, where there are any.
    """

    path: str
    name: str
    bytes: int
    server_version: str
    flavour: str
    server_id: int
    create_timestamp: int
    at_startup: bool
    epoch: int
    checksum: str
    in_use: bool
    ending: str
    next_file: str | None
    transactions: int
    events: int | None
    first: Point | None
    last: Point | None
    gtid_set: str | None
    previous_gtids: str | None
    header_bytes: int
    transaction_bytes: int
    unfinished_bytes: int
    damaged_bytes: int
    problem: str | None


@dataclass(frozen=True, slots=True)
class TableFigures:
    """One table's row changes; ``bytes`` are those of its rows events, before compression where they were."""

    db: str
    table: str
    inserts: int
    updates: int
    deletes: int
    bytes: int

    @property
    def rows(self) -> int:
        """Row changes of all three sorts."""
        return self.inserts + self.updates + self.deletes


@dataclass(frozen=True, slots=True)
class DatabaseFigures:
    """The row changes of one database's tables; ``tables`` is how many of them were changed."""

    db: str
    tables: int
    inserts: int
    updates: int
    deletes: int
    bytes: int


@dataclass(frozen=True, slots=True)
class KindFigures:
    """All transactions of one kind; ``rows`` is None where only the index was read."""

    kind: str
    transactions: int
    bytes: int
    rows: int | None


@dataclass(frozen=True, slots=True)
class SizeFigures:
    """All transactions of ``from_bytes`` up to, not including, ``below_bytes``."""

    from_bytes: int
    below_bytes: int
    transactions: int
    bytes: int


@dataclass(frozen=True, slots=True)
class ServerFigures:
    """All transactions that one server made first."""

    server_id: int
    transactions: int
    bytes: int
    rows: int | None


@dataclass(frozen=True, slots=True)
class ThreadFigures:
    """All transactions of one connection; a server's numbers begin anew when it starts."""

    server_id: int
    thread_id: int
    transactions: int
    bytes: int
    rows: int | None


@dataclass(frozen=True, slots=True)
class EventFigures:
    """All events of one type.

    Attributes:
        type: the type's name.
        events: how many stand in the files.
        bytes: their bytes, with headers and checksums.
        compressed_events: how many more stand within compressed payloads.
    """

    type: str
    events: int
    bytes: int
    compressed_events: int


@dataclass(frozen=True, slots=True)
class Bucket:
    """The transactions that were committed within one span of a histogram."""

    start: int
    transactions: int
    bytes: int
    rows: int | None


@dataclass(frozen=True, slots=True)
class Histogram:
    """Transactions over commit time, in spans of equal length without a gap, at most 240 of them.

    Attributes:
        bucket_seconds: length of a span; spans begin at its multiples since 1970.
        buckets: the spans; ``start`` is in µs since 1970.
    """

    bucket_seconds: int
    buckets: tuple[Bucket, ...]


@dataclass(frozen=True, slots=True)
class Burst:
    """A time in which far more was written than usually, see :func:`binx.stats.bursts.bursts`.

    Attributes:
        start: µs since 1970.
        end: µs since 1970.
        transactions: committed in it.
        bytes: theirs.
        times_usual: bytes of its spans for each byte of the median span.
    """

    start: int
    end: int
    transactions: int
    bytes: int
    times_usual: float


@dataclass(frozen=True, slots=True)
class Compression:
    """Transactions that MySQL compressed as a whole (TRANSACTION_PAYLOAD).

    Attributes:
        transactions: how many.
        bytes: theirs in the files.
        uncompressed_bytes: of their payloads before compression.
        ratio: ``uncompressed_bytes`` for each of ``bytes``; None where there are none.
    """

    transactions: int
    bytes: int
    uncompressed_bytes: int
    ratio: float | None


@dataclass(frozen=True, slots=True)
class DdlStatement:
    """One statement that is a transaction of its own and changes no rows.

    Attributes:
        transaction: its GTID or UUID.
        commit_timestamp: µs since 1970.
        file: the log's name.
        start: offset of its transaction.
        db: the session's default database.
        sql: the text, cut behind 2,000 characters.
    """

    transaction: str
    commit_timestamp: int
    file: str
    start: int
    db: str
    sql: str


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that deserves a look.

    Attributes:
        code: a word for programs, see :mod:`binx.stats.findings`.
        message: what was found and what it means.
        count: how many times; of what, the message says.
    """

    code: str
    message: str
    count: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """What is in a chain of logs, or in those of its transactions that were asked for.

    Attributes:
        files: the logs, in their order; those that cannot hold what was asked for are not there.
        transactions: how many.
        events: how many; None where only the index was read, or only some transactions were asked for.
        bytes: of all files.
        first: the first transaction in the order of the logs.
        last: the last one.
        tables: row changes by table, those with most bytes first; None where only the index was read.
        kinds: by kind of transaction, the most frequent first.
        largest: the transactions with most bytes.
        longest: those with most time between first statement and commit, none of less than a second.
        histogram: transactions over time; None where there are none.
        warnings: what deserves a look.
        quick: whether only the index was read.
        complete: whether every byte could be read.
        rows: row changes; None where only the index was read.
        statements: statements logged as text, DDL included; None where only the index was read.
        ddl: how many transactions are DDL.
        ddl_statements: the first of them, at most 200; None where only the index was read.
        servers: by the server that made the change first.
        threads: the connections that wrote most bytes.
        threads_complete: False where there were more connections than could be counted, so that some lack
            their first transactions.
        servers_complete: the same of servers.
        tables_complete: False where there were more tables than could be kept, so that some of those with few
            bytes are not there, or lack some changes.
        databases: row changes by database, those with most bytes first; None where ``tables`` is.
        bursts: when far more was written than usually, the largest first.
        selection: which transactions were asked for; empty for all.
        selected_bytes: of the transactions.
        absent_gtids: GTIDs asked for that are in none of the files.
        notes: how positions were understood.
        breakdown: by the dimensions that were asked for; None without any.
        sizes: by size, in steps of four.
        event_types: by event type, those with most bytes first; None as ``events``.
        compression: of whole transactions.
        checksummed_bytes: of the files whose events have checksums.
        gtid_set: the GTIDs of all transactions; None where those of a file are not told.
        missing_gtids: the GTIDs that are not there though later ones of their source are, see
            :func:`binx.log.gtid_gaps.missing_gtids`; empty where only some transactions were asked for.
    """

    files: tuple[FileFigures, ...]
    transactions: int
    events: int | None
    bytes: int
    first: Point | None
    last: Point | None
    tables: tuple[TableFigures, ...] | None
    kinds: tuple[KindFigures, ...]
    largest: tuple[ListedTransaction, ...]
    longest: tuple[ListedTransaction, ...]
    histogram: Histogram | None
    warnings: tuple[Finding, ...]
    quick: bool
    complete: bool
    rows: int | None
    statements: int | None
    ddl: int
    ddl_statements: tuple[DdlStatement, ...] | None
    servers: tuple[ServerFigures, ...]
    threads: tuple[ThreadFigures, ...]
    threads_complete: bool
    sizes: tuple[SizeFigures, ...]
    event_types: tuple[EventFigures, ...] | None
    compression: Compression
    checksummed_bytes: int
    gtid_set: str | None
    missing_gtids: str
    servers_complete: bool
    tables_complete: bool
    databases: tuple[DatabaseFigures, ...] | None
    bursts: tuple[Burst, ...]
    selection: Mapping[str, object]
    selected_bytes: int
    absent_gtids: str
    notes: tuple[str, ...]
    breakdown: Breakdown | None

    @property
    def incomplete(self) -> tuple[str, ...]:
        """What there was too much of to keep all: those with most bytes are here."""
        kept = {
            "tables": self.tables_complete,
            "servers": self.servers_complete,
            "connections": self.threads_complete,
            "groups": self.breakdown is None or self.breakdown.complete,
        }
        return tuple(name for name, complete in kept.items() if not complete)

    def as_dict(self, top: int | None = None) -> dict[str, Any]:
        """All of it as JSON has it: records are objects, times are in RFC 3339.

        Args:
            top: how many groups of the breakdown, those with most bytes; None for all.
        """
        document: dict[str, Any] = _plain(self)
        if self.breakdown is not None:
            document["breakdown"] = _plain(self.breakdown.as_dict(top))
        return document

    def to_json(self, top: int | None = None) -> str:
        """One JSON object; the same logs give the same text. Arguments as of :meth:`as_dict`."""
        return json_text(self.as_dict(top), indent=2)


_MOMENTS = frozenset({"commit_timestamp", "create_timestamp"})


def _plain(value: Any) -> Any:
    if isinstance(value, ListedTransaction):
        return value.as_dict() | {"duration": value.duration / 1_000_000}
    if isinstance(value, Bucket):
        return _fields(value) | {"start": moment_json(value.start)}
    if isinstance(value, Burst):
        return _fields(value) | {"start": moment_json(value.start), "end": moment_json(value.end)}
    if isinstance(value, Breakdown):
        return None  # as_dict() limits it.
    if isinstance(value, Mapping):
        return {name: _plain(member) for name, member in value.items()}
    if is_dataclass(value):
        return _fields(value)
    if isinstance(value, (tuple, list)):
        return [_plain(member) for member in value]
    if isinstance(value, str):
        return printable(value)
    return value


def _fields(record: Any) -> dict[str, Any]:
    document = {}
    for one in fields(record):
        value = getattr(record, one.name)
        document[one.name] = moment_json(value) if one.name in _MOMENTS else _plain(value)
    return document
