"""The figures of binary logs: what ``stats`` prints, and the shape of its JSON.

Every figure is of what was read: where the index alone was read (``quick``), what only rows or events tell is
None (null in JSON) or empty, as each attribute says. Times are in µs since 1970 here and RFC 3339 in JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from binx.source.json_text import json_text
from binx.source.names import printable
from binx.stats.dimensions import Breakdown
from binx.stats.transaction import ListedTransaction, duration_json, moment_json


@dataclass(frozen=True, slots=True)
class Statistics:
    """What is in a chain of logs, or in those of its transactions that were asked for.

    The names are those of the JSON, which ``docs/statistics.md`` explains. What only rows or events tell is
    None where the index alone was read.
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
        """All of it as JSON has it: records are objects, times are in RFC 3339."""
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
        return value.as_dict() | {"duration": duration_json(value)}
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


@dataclass(frozen=True, slots=True)
class Point:
    """A transaction's place in the logs."""

    transaction: str
    commit_timestamp: int
    file: str
    start: int


@dataclass(frozen=True, slots=True)
class FileFigures:
    """One log; its header, transaction, unfinished and damaged bytes add up to its size.

    With a selection, ``transactions``, ``first``, ``last`` and ``gtid_set`` are of the selected transactions,
    the bytes of all.

    Attributes:
        epoch: how many logs of the chain so far began with a server start.
        ending: ``closed``, ``in use``, ``damaged``, or ``open`` (intact, without ROTATE or STOP at its end).
        events: how many, without those inside compressed payloads; None with a selection, or if only the
            index was read.
        first: its transaction with the earliest commit time.
        gtid_set: the GTIDs of its transactions; None if the selected ones have over 65,536 intervals.
        previous_gtids: the GTIDs that the file lists as logged before it; None if it has no list.
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
    """Row changes of one table; ``bytes`` are those of its rows events, before any compression."""

    db: str
    table: str
    inserts: int
    updates: int
    deletes: int
    bytes: int

    @property
    def rows(self) -> int:
        """Inserts, updates and deletes together."""
        return self.inserts + self.updates + self.deletes


@dataclass(frozen=True, slots=True)
class DatabaseFigures:
    """Row changes of one database; ``tables`` is the number of changed tables."""

    db: str
    tables: int
    inserts: int
    updates: int
    deletes: int
    bytes: int


@dataclass(frozen=True, slots=True)
class KindFigures:
    """All transactions of one kind; ``rows`` is None if only the index was read."""

    kind: str
    transactions: int
    bytes: int
    rows: int | None


@dataclass(frozen=True, slots=True)
class SizeFigures:
    """All transactions of at least ``from_bytes`` and less than ``below_bytes``."""

    from_bytes: int
    below_bytes: int
    transactions: int
    bytes: int


@dataclass(frozen=True, slots=True)
class ServerFigures:
    """All transactions first executed on one server."""

    server_id: int
    transactions: int
    bytes: int
    rows: int | None


@dataclass(frozen=True, slots=True)
class ThreadFigures:
    """All transactions of one connection; numbering restarts with the server."""

    server_id: int
    thread_id: int
    transactions: int
    bytes: int
    rows: int | None


@dataclass(frozen=True, slots=True)
class EventFigures:
    """All events of one type; ``compressed_events`` are further ones, inside compressed payloads."""

    type: str
    events: int
    bytes: int
    compressed_events: int


@dataclass(frozen=True, slots=True)
class Bucket:
    """The transactions committed in one interval of a histogram."""

    start: int
    transactions: int
    bytes: int
    rows: int | None


@dataclass(frozen=True, slots=True)
class Histogram:
    """Transactions over commit time, in at most 240 contiguous intervals of equal length.

    They begin at multiples of that length since 1970.
    """

    bucket_seconds: int
    buckets: tuple[Bucket, ...]


@dataclass(frozen=True, slots=True)
class Burst:
    """A period in which far more was written than usual, see :func:`binx.stats.sums.bursts`.

    ``times_usual`` are the bytes of its intervals relative to the median interval.
    """

    start: int
    end: int
    transactions: int
    bytes: int
    times_usual: float


@dataclass(frozen=True, slots=True)
class Compression:
    """Transactions that MySQL compressed as a whole (TRANSACTION_PAYLOAD).

    ``ratio`` is ``uncompressed_bytes`` divided by ``bytes``; None if there are none.
    """

    transactions: int
    bytes: int
    uncompressed_bytes: int
    ratio: float | None


@dataclass(frozen=True, slots=True)
class DdlStatement:
    """A DDL statement, which is a transaction of its own; its text is cut after 2,000 characters."""

    transaction: str
    commit_timestamp: int
    file: str
    start: int
    db: str
    sql: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A warning; ``count`` is the number of occurrences, in the unit of the message."""

    code: str
    message: str
    count: int
