"""What ``stats`` shows of the figures: which tables, in which order."""

from __future__ import annotations

from collections.abc import Iterator

from binx.cli.sections import BYTES, DURATION, NUMBER, RATIO, TEXT, TIME, TRANSACTION, Column, Section, bar
from binx.stats.figures import Histogram, Statistics
from binx.stats.text import tables_text
from binx.stats.transaction import ListedTransaction

_BARS = 24
_BAR_WIDTH = 30
_SECOND = 1_000_000
_STATEMENT = 200


def sections(figures: Statistics, top: int) -> Iterator[Section]:
    """The tables to show; those without a row are left out.

    Args:
        figures: of the logs.
        top: how many rows of those tables that may have many.
    """
    for section in _all(figures, top):
        if section.rows:
            yield section


def _all(figures: Statistics, top: int) -> Iterator[Section]:
    yield _totals(figures)
    yield _files(figures)
    yield _tables(figures, top)
    yield _kinds(figures)
    yield _transactions("Largest transactions", figures.largest)
    yield _transactions("Longest transactions", figures.longest)
    if figures.histogram is not None:
        yield _histogram(figures.histogram)
    yield _sizes(figures)
    yield _servers(figures)
    yield _threads(figures, top)
    yield _event_types(figures, top)
    yield _ddl(figures, top)


def _totals(figures: Statistics) -> Section:
    columns = [
        Column("Files", NUMBER),
        Column("Bytes", BYTES),
        Column("Transactions", NUMBER),
        Column("Events", NUMBER, spare=3),
        Column("Row changes", NUMBER),
        Column("Statements", NUMBER, spare=2),
        Column("Compression", RATIO, spare=1),
    ]
    row = (
        len(figures.files),
        figures.bytes,
        figures.transactions,
        figures.events,
        figures.rows,
        figures.statements,
        figures.compression.ratio,
    )
    return Section("In all", columns, [row])


def _files(figures: Statistics) -> Section:
    columns = [
        Column("File", TEXT, cut=True),
        Column("Bytes", BYTES),
        Column("Transactions", NUMBER),
        Column("First (UTC)", TIME, spare=1),
        Column("Last (UTC)", TIME, spare=2),
        Column("End", TEXT),
    ]
    rows = [
        (
            file.name,
            file.bytes,
            file.transactions,
            None if file.first is None else _whole_second(file.first.commit_timestamp),
            None if file.last is None else _whole_second(file.last.commit_timestamp),
            file.ending,
        )
        for file in figures.files
    ]
    return Section("Files", columns, rows)


def _tables(figures: Statistics, top: int) -> Section:
    columns = [
        Column("Table", TEXT, cut=True),
        Column("Bytes", BYTES),
        Column("Inserts", NUMBER),
        Column("Updates", NUMBER),
        Column("Deletes", NUMBER),
    ]
    tables = figures.tables or ()
    rows = [
        (f"{one.db}.{one.table}", one.bytes, one.inserts, one.updates, one.deletes) for one in tables[:top]
    ]
    return Section(_title("Tables", len(rows), len(tables)), columns, rows)


def _kinds(figures: Statistics) -> Section:
    columns = [
        Column("Kind", TEXT),
        Column("Transactions", NUMBER),
        Column("Bytes", BYTES),
        Column("Row changes", NUMBER),
    ]
    rows = [(one.kind, one.transactions, one.bytes, one.rows) for one in figures.kinds]
    return Section("Kinds of transactions", columns, rows)


def _transactions(title: str, transactions: tuple[ListedTransaction, ...]) -> Section:
    columns = [
        Column("Transaction", TRANSACTION),
        Column("Bytes", BYTES),
        Column("Rows", NUMBER),
        Column("Lasted", DURATION),
        Column("Committed (UTC)", TIME, spare=2),
        Column("Tables", TEXT, spare=1, cut=True),
    ]
    rows = [
        (
            one.transaction,
            one.bytes,
            one.rows,
            one.duration,
            _whole_second(one.commit_timestamp),
            tables_text(one.tables),
        )
        for one in transactions
    ]
    return Section(title, columns, rows)


def _histogram(histogram: Histogram) -> Section:
    """At most two dozen bars: neighbouring spans are put together."""
    together = -(-len(histogram.buckets) // _BARS)
    groups = [
        histogram.buckets[place : place + together] for place in range(0, len(histogram.buckets), together)
    ]
    sizes = [sum(bucket.bytes for bucket in group) for group in groups]
    columns = [
        Column("From (UTC)", TIME),
        Column("Transactions", NUMBER),
        Column("Bytes", BYTES),
        Column("", TEXT, spare=1, cut=True),
    ]
    rows = [
        (
            group[0].start,
            sum(bucket.transactions for bucket in group),
            size,
            bar(size, max(sizes), _BAR_WIDTH),
        )
        for group, size in zip(groups, sizes, strict=True)
    ]
    return Section(f"Over time, each {histogram.bucket_seconds * together:,} s", columns, rows)


def _sizes(figures: Statistics) -> Section:
    columns = [
        Column("From", BYTES),
        Column("Below", BYTES),
        Column("Transactions", NUMBER),
        Column("Bytes", BYTES),
    ]
    rows = [
        (one.from_bytes, one.below_bytes, one.transactions, one.bytes)
        for one in figures.sizes
        if one.transactions
    ]
    return Section("Sizes of transactions", columns, rows)


def _servers(figures: Statistics) -> Section:
    columns = [
        Column("Server id", TEXT),
        Column("Transactions", NUMBER),
        Column("Bytes", BYTES),
        Column("Row changes", NUMBER),
    ]
    rows = [(str(one.server_id), one.transactions, one.bytes, one.rows) for one in figures.servers]
    return Section("Servers", columns, rows)


def _threads(figures: Statistics, top: int) -> Section:
    columns = [
        Column("Server id", TEXT),
        Column("Connection", TEXT),
        Column("Transactions", NUMBER),
        Column("Bytes", BYTES),
        Column("Row changes", NUMBER),
    ]
    rows = [
        (str(one.server_id), str(one.thread_id), one.transactions, one.bytes, one.rows)
        for one in figures.threads[:top]
    ]
    return Section("Connections that wrote most", columns, rows)


def _event_types(figures: Statistics, top: int) -> Section:
    columns = [
        Column("Event", TEXT),
        Column("Events", NUMBER),
        Column("Bytes", BYTES),
        Column("Compressed", NUMBER),
    ]
    types = figures.event_types or ()
    rows = [(one.type, one.events, one.bytes, one.compressed_events) for one in types[:top]]
    return Section(_title("Events", len(rows), len(types)), columns, rows)


def _ddl(figures: Statistics, top: int) -> Section:
    columns = [
        Column("Committed (UTC)", TIME),
        Column("Database", TEXT, spare=1),
        Column("Statement", TEXT, cut=True),
    ]
    statements = figures.ddl_statements or ()
    rows = [
        (_whole_second(one.commit_timestamp), one.db, " ".join(one.sql.split())[:_STATEMENT])
        for one in statements[:top]
    ]
    return Section(_title("DDL", len(rows), figures.ddl), columns, rows)


def _title(title: str, shown: int, existing: int) -> str:
    return title if shown == existing else f"{title} ({shown:,} of {existing:,})"


def _whole_second(moment: int) -> int:
    return moment - moment % _SECOND
