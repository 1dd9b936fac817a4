"""What ``stats`` shows of the figures: which tables, in which order."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo

from binx.cli.sections import (
    BYTES,
    DURATION,
    NUMBER,
    RATIO,
    SHARE,
    TEXT,
    TIMES,
    TRANSACTION,
    Column,
    Section,
    bar,
    time_form,
)
from binx.log.selection.zones import zone_name
from binx.stats.figures import Statistics
from binx.stats.records import Histogram
from binx.stats.text import period_text, tables_text
from binx.stats.transaction import ListedTransaction

_BARS = 24
_BAR_WIDTH = 30
_SECOND = 1_000_000
_STATEMENT = 200


def sections(figures: Statistics, top: int, zone: tzinfo) -> Iterator[Section]:
    """The tables to show; those without a row are left out."""
    for section in _all(figures, top, zone):
        if section.rows:
            yield section


def _all(figures: Statistics, top: int, zone: tzinfo) -> Iterator[Section]:
    yield _totals(figures)
    yield _files(figures, zone)
    yield _tables(figures, top)
    yield _databases(figures, top)
    yield _kinds(figures)
    yield _transactions("Largest transactions", figures.largest, zone)
    yield _transactions("Longest transactions", figures.longest, zone)
    if figures.histogram is not None:
        yield _histogram(figures.histogram, zone)
    yield _bursts(figures, top, zone)
    yield _sizes(figures)
    yield _servers(figures, top)
    yield _threads(figures, top)
    yield _event_types(figures, top)
    yield _ddl(figures, top, zone)


def _totals(figures: Statistics) -> Section:
    columns = [
        Column("Files", NUMBER),
        Column("Bytes", BYTES),
        Column("Transactions", NUMBER),
        Column("Events", NUMBER, spare=3),
        Column("Row changes", NUMBER),
        Column("Statements", NUMBER, spare=2),
        Column("Compressed", SHARE, spare=4),
        Column("Ratio", RATIO, spare=5),
        Column("Checksums", SHARE, spare=1),
    ]
    row = (
        len(figures.files),
        figures.bytes,
        figures.transactions,
        figures.events,
        figures.rows,
        figures.statements,
        share(figures.compression.bytes, figures.selected_bytes),
        figures.compression.ratio,
        share(figures.checksummed_bytes, figures.bytes),
    )
    return Section("Total", columns, [row])


def _files(figures: Statistics, zone: tzinfo) -> Section:
    columns = [
        Column("File", TEXT, cut=True),
        Column("Bytes", BYTES),
        Column("Transactions", NUMBER, spare=1),
        Column(f"First ({zone_name(zone)})", time_form(zone), spare=2),
        Column(f"Last ({zone_name(zone)})", time_form(zone), spare=3),
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
        Column("Inserts", NUMBER, spare=2),
        Column("Updates", NUMBER, spare=3),
        Column("Deletes", NUMBER, spare=4),
        Column("Share", SHARE, spare=1),
    ]
    tables = figures.tables or ()
    whole = sum(one.bytes for one in tables)
    rows = [
        (f"{one.db}.{one.table}", one.bytes, one.inserts, one.updates, one.deletes, share(one.bytes, whole))
        for one in tables[:top]
    ]
    return Section(title_of("Tables", len(rows), len(tables)), columns, rows)


def _databases(figures: Statistics, top: int) -> Section:
    columns = [
        Column("Database", TEXT, cut=True),
        Column("Tables", NUMBER, spare=5),
        Column("Bytes", BYTES),
        Column("Inserts", NUMBER, spare=2),
        Column("Updates", NUMBER, spare=3),
        Column("Deletes", NUMBER, spare=4),
        Column("Share", SHARE, spare=1),
    ]
    databases = figures.databases or ()
    whole = sum(one.bytes for one in databases)
    rows = [
        (one.db, one.tables, one.bytes, one.inserts, one.updates, one.deletes, share(one.bytes, whole))
        for one in databases[:top]
    ]
    return Section(title_of("Databases", len(rows), len(databases)), columns, rows)


def _kinds(figures: Statistics) -> Section:
    columns = [
        Column("Kind", TEXT),
        Column("Transactions", NUMBER),
        Column("Bytes", BYTES),
        Column("Row changes", NUMBER),
    ]
    rows = [(one.kind, one.transactions, one.bytes, one.rows) for one in figures.kinds]
    return Section("Kinds of transactions", columns, rows)


def _transactions(title: str, transactions: tuple[ListedTransaction, ...], zone: tzinfo) -> Section:
    columns = [
        Column("Transaction", TRANSACTION),
        Column("Bytes", BYTES),
        Column("Rows", NUMBER),
        Column("Duration", DURATION),
        Column(f"Committed ({zone_name(zone)})", time_form(zone), spare=2),
        Column("Tables", TEXT, spare=1, cut=True),
    ]
    rows = [
        (
            one.transaction,
            one.bytes,
            one.rows,
            one.duration_seconds,
            _whole_second(one.commit_timestamp),
            tables_text(one.tables),
        )
        for one in transactions
    ]
    return Section(title, columns, rows)


def _histogram(histogram: Histogram, zone: tzinfo) -> Section:
    """At most two dozen bars: neighbouring spans are put together."""
    together = -(-len(histogram.buckets) // _BARS)
    groups = [
        histogram.buckets[place : place + together] for place in range(0, len(histogram.buckets), together)
    ]
    sizes = [sum(bucket.bytes for bucket in group) for group in groups]
    columns = [
        Column(f"From ({zone_name(zone)})", time_form(zone)),
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
    return Section(f"Over time, each {period_text(histogram.bucket_seconds * together)}", columns, rows)


def _bursts(figures: Statistics, top: int, zone: tzinfo) -> Section:
    columns = [
        Column(f"From ({zone_name(zone)})", time_form(zone)),
        Column("Until", time_form(zone), spare=1),
        Column("Transactions", NUMBER),
        Column("Bytes", BYTES),
        Column("Times usual", TIMES),
    ]
    rows = [
        (one.start, one.end, one.transactions, one.bytes, one.times_usual) for one in figures.bursts[:top]
    ]
    return Section(title_of("Bursts", len(rows), len(figures.bursts)), columns, rows)


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


def _servers(figures: Statistics, top: int) -> Section:
    columns = [
        Column("Server id", TEXT),
        Column("Transactions", NUMBER),
        Column("Bytes", BYTES),
        Column("Row changes", NUMBER),
    ]
    rows = [(str(one.server_id), one.transactions, one.bytes, one.rows) for one in figures.servers[:top]]
    return Section(title_of("Servers", len(rows), len(figures.servers)), columns, rows)


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
    return Section("Connections that wrote the most", columns, rows)


def _event_types(figures: Statistics, top: int) -> Section:
    columns = [
        Column("Event", TEXT),
        Column("Events", NUMBER),
        Column("Bytes", BYTES),
        Column("Compressed", NUMBER),
    ]
    types = figures.event_types or ()
    rows = [(one.type, one.events, one.bytes, one.compressed_events) for one in types[:top]]
    return Section(title_of("Events", len(rows), len(types)), columns, rows)


def _ddl(figures: Statistics, top: int, zone: tzinfo) -> Section:
    columns = [
        Column(f"Committed ({zone_name(zone)})", time_form(zone)),
        Column("Database", TEXT, spare=1),
        Column("Statement", TEXT, cut=True),
    ]
    statements = figures.ddl_statements or ()
    rows = [
        (_whole_second(one.commit_timestamp), one.db, " ".join(one.sql.split())[:_STATEMENT])
        for one in statements[:top]
    ]
    return Section(title_of("DDL", len(rows), figures.ddl), columns, rows)


def title_of(title: str, shown: int, existing: int) -> str:
    """A section's title, which says how many of its rows are shown where those are not all."""
    return title if shown == existing else f"{title} ({shown:,} of {existing:,})"


def share(part: int, whole: int) -> float | None:
    """The part of a whole; None of nothing."""
    return part / whole if whole else None


def _whole_second(moment: int) -> int:
    return moment - moment % _SECOND
