"""What the figures of binary logs consist of: a record for each file, table, kind, span of time, and so on.

Times are in µs since 1970.
"""

from __future__ import annotations

from dataclasses import dataclass


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
