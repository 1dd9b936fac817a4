"""The types of :meth:`binx.Binlogs.stats`, made of the vocabulary by ``make transcripts``."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict


class Figures(TypedDict):
    """What filled the logs: the record statistics of ``docs/json.md``."""

    files: list[FileFigures]
    transactions: int
    events: int | None
    bytes: int
    first: PointFigures | None
    last: PointFigures | None
    tables: list[TableFigures] | None
    kinds: list[KindFigures]
    largest: list[RankedTransactionFigures]
    longest: list[RankedTransactionFigures]
    histogram: HistogramFigures | None
    warnings: list[WarningFigures]
    quick: bool
    complete: bool
    rows: int | None
    statements: int | None
    ddl: int | None
    ddl_statements: list[DdlStatementFigures] | None
    servers: list[ServerFigures]
    threads: list[ThreadFigures]
    threads_complete: bool
    sizes: list[SizeFigures]
    event_types: list[EventFigures] | None
    compression: CompressionFigures
    checksummed_bytes: int
    gtid_set: str | None
    missing_gtids: str
    servers_complete: bool
    tables_complete: bool
    databases: list[DatabaseFigures] | None
    bursts: list[BurstFigures]
    selection: dict[str, Any]
    selected_bytes: int
    absent_gtids: str
    notes: list[str]
    breakdown: BreakdownFigures | None


class FileFigures(TypedDict):
    """The record file_figures of ``docs/json.md``."""

    path: str
    file: str
    bytes: int
    server_version: str
    flavour: str
    server_id: int
    create_timestamp: str
    at_startup: bool
    epoch: int
    checksum_algorithm: str
    in_use: bool
    ending: str
    next_file: str | None
    transactions: int
    events: int | None
    first: PointFigures | None
    last: PointFigures | None
    gtid_set: str | None
    previous_gtids: str | None
    header_bytes: int
    transaction_bytes: int
    unfinished_bytes: int
    damaged_bytes: int
    error: str | None


class PointFigures(TypedDict):
    """The record point of ``docs/json.md``."""

    transaction: str
    commit_timestamp: str
    file: str
    start: int


class TableFigures(TypedDict):
    """The record table_figures of ``docs/json.md``."""

    db: str
    table: str
    inserts: int
    updates: int
    deletes: int
    bytes: int


class KindFigures(TypedDict):
    """The record kind_figures of ``docs/json.md``."""

    kind: str
    transactions: int
    bytes: int
    rows: int | None


class RankedTransactionFigures(TypedDict):
    """The record ranked_transaction of ``docs/json.md``."""

    commit_version: int
    transaction: str
    gtid: str | None
    xid: int | None
    server_id: int
    epoch: int
    seqno: int | None
    kind: str
    how: str
    file: str
    start: int
    end: int
    bytes: int
    uncompressed_bytes: int | None
    commit_timestamp: str
    commit_time_source: str
    original_commit_timestamp: str | None
    begin_timestamp: str | None
    last_committed: int | None
    sequence_number: int | None
    thread_id: int | None
    events: int | None
    rows: int | None
    statements: int | None
    tables: list[TableChangesFigures] | None
    duration: list[float] | None


class HistogramFigures(TypedDict):
    """The record histogram of ``docs/json.md``."""

    bucket_seconds: int
    buckets: list[BucketFigures]


class WarningFigures(TypedDict):
    """The record warning of ``docs/json.md``."""

    kind: str
    message: str
    count: int
    action: str


class DdlStatementFigures(TypedDict):
    """The record ddl_statement of ``docs/json.md``."""

    transaction: str
    commit_timestamp: str
    file: str
    start: int
    db: str
    sql: str


class ServerFigures(TypedDict):
    """The record server_figures of ``docs/json.md``."""

    server_id: int
    transactions: int
    bytes: int
    rows: int | None


class ThreadFigures(TypedDict):
    """The record thread_figures of ``docs/json.md``."""

    server_id: int
    thread_id: int
    transactions: int
    bytes: int
    rows: int | None


class SizeFigures(TypedDict):
    """The record size_figures of ``docs/json.md``."""

    from_bytes: int
    below_bytes: int
    transactions: int
    bytes: int


class EventFigures(TypedDict):
    """The record event_figures of ``docs/json.md``."""

    event_type: str
    events: int
    bytes: int
    compressed_events: int


class CompressionFigures(TypedDict):
    """The record compression of ``docs/json.md``."""

    transactions: int
    bytes: int
    uncompressed_bytes: int
    ratio: float | None


class DatabaseFigures(TypedDict):
    """The record database_figures of ``docs/json.md``."""

    db: str
    table_count: int
    inserts: int
    updates: int
    deletes: int
    bytes: int


class BurstFigures(TypedDict):
    """The record burst of ``docs/json.md``."""

    since: str
    until: str
    transactions: int
    bytes: int
    times_usual: float


class BreakdownFigures(TypedDict):
    """The record breakdown of ``docs/json.md``."""

    by: list[str]
    groups: list[GroupFigures]
    complete: bool


class TableChangesFigures(TypedDict):
    """The record table_changes of ``docs/json.md``."""

    db: str
    table: str
    inserts: int
    updates: int
    deletes: int


class BucketFigures(TypedDict):
    """The record bucket of ``docs/json.md``."""

    since: str
    transactions: int
    bytes: int
    rows: int | None


class GroupFigures(TypedDict):
    """The record group of ``docs/json.md``."""

    db: NotRequired[str]
    table: NotRequired[str]
    server_id: NotRequired[int]
    thread_id: NotRequired[int | None]
    gtid_source: NotRequired[str | None]
    digest_text: NotRequired[str | None]
    digest: NotRequired[str | None]
    kind: NotRequired[str]
    from_bytes: NotRequired[int]
    below_bytes: NotRequired[int]
    file: NotRequired[str]
    minute: NotRequired[str]
    hour: NotRequired[str]
    day: NotRequired[str]
    transactions: int
    bytes: int
    rows: int | None
    inserts: int | None
    updates: int | None
    deletes: int | None
    statements: NotRequired[int]
    seconds: NotRequired[float | None]
