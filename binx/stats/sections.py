"""Tables of figures for terminals, pipes and the HTML page: columns and value formats."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import tzinfo
from typing import Any, NamedTuple

from binx.log.selection.times import MICROSECONDS, format_in_zone, zone_name
from binx.source.wording import shortened
from binx.stats.dimensions import MEASURES, Dimension, key_columns, largest_groups, measures_of
from binx.stats.text import (
    bytes_text,
    moment_of,
    period_text,
    safe_text,
    second_text,
    short_transaction,
    tables_text,
    transaction_duration_text,
)

NUMBERS, TIMES, TEXTS, BARS = "number", "time", "name", "meter"
"""Kinds of columns: numbers are right-aligned, bars are drawn."""

_HISTOGRAM_BARS = 24
_MINUTE_CHARACTERS = len("2026-11-21T09:49")
_STATEMENT = 200
_BAR = "\N{FULL BLOCK}"
_BAR_PARTS = ("", *map(chr, range(0x258F, 0x2588, -1)))

Record = Mapping[str, Any]


class Form(NamedTuple):
    """Formats of a kind of values.

    Attributes:
        people: on a terminal and on the page.
        programs: in a pipe.
        kind: of the column.
        short: on a narrow terminal; None: as on a wide one.
    """

    people: Callable[[Any], str]
    programs: Callable[[Any], str]
    kind: str = NUMBERS
    short: Callable[[Any], str] | None = None


class SectionColumn(NamedTuple):
    """A column of a table.

    Attributes:
        value: the field of a record, or a function of it; by default derived from the title.
        spare: priority for omission on a narrow terminal, the highest first; equal ones go together; 0
            for never.
        cut: whether its texts may be truncated if that is not enough.
    """

    title: str
    form: Form
    value: str | Callable[[Any], Any] = ""
    spare: int = 0
    cut: bool = False

    def of(self, record: Record) -> Any:
        """Return its value for a record."""
        return self.value(record) if callable(self.value) else record[self.value or self.title.lower()]


class Section(NamedTuple):
    """A table with its title; None stands for an unknown value."""

    title: str
    columns: Sequence[SectionColumn]
    rows: Sequence[Sequence[Any]]


class Bar(NamedTuple):
    """A value relative to the largest of its column."""

    value: int
    largest: int


def bar_text(bar: Bar, width: int) -> str:
    """Draw a bar of block characters in eighths of a column; at least one eighth unless zero."""
    if bar.largest <= 0 or bar.value <= 0:
        return ""
    eighths = max(1, round(bar.value * width * 8 / bar.largest))
    return _BAR * (eighths // 8) + _BAR_PARTS[eighths % 8]


def _bar_column(width: int, largest: int, spare: int) -> SectionColumn:
    """Return a column of size bars with that width in a terminal."""

    def write(bar: Bar) -> str:
        return bar_text(bar, width)

    return SectionColumn(
        "", Form(write, write, BARS), lambda row: Bar(row["bytes"], largest), spare, cut=True
    )


def time_form(zone: tzinfo) -> Form:
    """Return the format of times in a zone; in a pipe RFC 3339."""

    def programs(shown: str | int) -> str:
        try:
            return format_in_zone(moment_of(shown) // MICROSECONDS * MICROSECONDS, zone)
        except OverflowError:
            return str(shown)

    return Form(lambda shown: second_text(moment_of(shown), zone), programs, TIMES)


TEXT = Form(safe_text, safe_text, TEXTS)
NUMBER = Form("{:,}".format, str)
PLAIN = Form(str, str)
BYTES = Form(bytes_text, str)
DURATION = Form(transaction_duration_text, str)
SHARE = Form("{:.1%}".format, "{:.4f}".format)
DECIMAL = Form("{:.2f}".format, "{:.4f}".format)
TRANSACTION = Form(safe_text, safe_text, TEXTS, short_transaction)
_MINUTE = Form(lambda text: text[:_MINUTE_CHARACTERS].replace("T", " "), str, TIMES)

_TRANSACTIONS = SectionColumn("Transactions", NUMBER)
_SIZE = SectionColumn("Bytes", BYTES)
_ROWS = SectionColumn("Row changes", NUMBER, "rows")
_SERVER = SectionColumn("Server id", PLAIN, "server_id")
_CHANGES = (
    SectionColumn("Inserts", NUMBER, spare=5),
    SectionColumn("Updates", NUMBER, spare=5),
    SectionColumn("Deletes", NUMBER, spare=5),
)
_GROUP_COLUMNS = {
    "db": ("Database", TEXT),
    "server_id": ("Server id", PLAIN),
    "thread_id": ("Connection", PLAIN),
    "gtid_source": ("Source", TEXT),
    "digest_text": ("Statement", TEXT),
    "from_bytes": ("From", BYTES),
    "below_bytes": ("Below", BYTES),
}


def sections(figures: Record, top: int, zone: tzinfo) -> Iterator[Section]:
    """Yield all tables that are not empty, of at most ``top`` rows where there may be many."""
    for section in _sections(figures, top, zone):
        if section.rows:
            yield section


def _sections(figures: Record, top: int, zone: tzinfo) -> Iterator[Section]:
    clock, zoned = time_form(zone), f"({zone_name(zone)})"
    tables, databases = figures["tables"] or (), figures["databases"] or ()
    compression = figures["compression"]
    columns: tuple[SectionColumn, ...] = (
        SectionColumn("Files", NUMBER, lambda row: len(row["files"])),
        _SIZE,
        _TRANSACTIONS,
        SectionColumn("Events", NUMBER, spare=3),
        _ROWS,
        SectionColumn("Statements", NUMBER, spare=2),
        SectionColumn(
            "Compressed", SHARE, lambda row: share(compression["bytes"], row["selected_bytes"]), spare=4
        ),
        SectionColumn("Ratio", DECIMAL, lambda _: compression["ratio"], spare=5),
        SectionColumn("Checksums", SHARE, lambda row: share(row["checksummed_bytes"], row["bytes"]), spare=1),
    )
    yield _section("Total", [figures], columns)
    columns = (
        SectionColumn("File", TEXT, cut=True),
        _SIZE,
        _TRANSACTIONS._replace(spare=1),
        SectionColumn(f"First {zoned}", clock, lambda file: _committed(file["first"]), spare=2),
        SectionColumn(f"Last {zoned}", clock, lambda file: _committed(file["last"]), spare=3),
        SectionColumn("End", TEXT, "ending"),
    )
    yield _section("Files", figures["files"], columns)
    table = SectionColumn("Table", TEXT, lambda row: f"{row['db']}.{row['table']}", cut=True)
    yield _section("Tables", tables, (table, _SIZE, *_CHANGES, _share_of(tables)), top, len(tables))
    columns = (
        SectionColumn("Database", TEXT, "db", cut=True),
        SectionColumn("Tables", NUMBER, "table_count", spare=8),
        _SIZE,
        *_CHANGES,
    )
    yield _section("Databases", databases, (*columns, _share_of(databases)), top, len(databases))
    sums = (_TRANSACTIONS, _SIZE, _ROWS)
    yield _section("Kinds of transactions", figures["kinds"], (SectionColumn("Kind", TEXT), *sums))
    columns = (
        SectionColumn("Transaction", TRANSACTION),
        _SIZE,
        SectionColumn("Rows", NUMBER),
        SectionColumn("Duration", DURATION, lambda row: row["duration"] and int(row["duration"][1])),
        SectionColumn(f"Committed {zoned}", clock, _committed, spare=2),
        SectionColumn("Tables", TEXT, lambda row: tables_text(row["tables"]), spare=1, cut=True),
    )
    yield _section("Largest transactions", figures["largest"], columns)
    yield _section("Longest transactions", figures["longest"], columns)
    if figures["histogram"] is not None:
        yield _histogram(figures["histogram"], zone)
    columns = (
        SectionColumn(f"From {zoned}", clock, "since"),
        SectionColumn("Until", clock, spare=1),
        _TRANSACTIONS,
        _SIZE,
        SectionColumn("Times usual", DECIMAL, "times_usual"),
    )
    yield _section("Bursts", figures["bursts"], columns, top, len(figures["bursts"]))
    bounds = (SectionColumn("From", BYTES, "from_bytes"), SectionColumn("Below", BYTES, "below_bytes"))
    sizes = [row for row in figures["sizes"] if row["transactions"]]
    yield _section("Sizes of transactions", sizes, (*bounds, _TRANSACTIONS, _SIZE))
    yield _section("Servers", figures["servers"], (_SERVER, *sums), top, len(figures["servers"]))
    connection = SectionColumn("Connection", PLAIN, "thread_id")
    yield _section("Connections that wrote the most", figures["threads"], (_SERVER, connection, *sums), top)
    types = figures["event_types"] or ()
    compressed = SectionColumn("Compressed", NUMBER, "compressed_events")
    columns = (SectionColumn("Event", TEXT, "event_type"), SectionColumn("Events", NUMBER), _SIZE, compressed)
    yield _section("Events", types, columns, top, len(types))
    columns = (
        SectionColumn(f"Committed {zoned}", clock, _committed),
        SectionColumn("Database", TEXT, "db", spare=1),
        SectionColumn("Statement", TEXT, lambda row: shortened(row["sql"], _STATEMENT), cut=True),
    )
    yield _section("DDL", figures["ddl_statements"] or (), columns, top, figures["ddl"])


def _section(
    title: str,
    records: Sequence[Record],
    columns: Sequence[SectionColumn],
    top: int | None = None,
    existing: int | None = None,
) -> Section:
    """Return the first records as a table, whose title gives their number out of all existing ones."""
    rows = [[column.of(record) for column in columns] for record in records[:top]]
    if existing is not None and existing != len(rows):
        title += f" ({len(rows):,} of {existing:,})"
    return Section(title, columns, rows)


def _histogram(histogram: Record, zone: tzinfo) -> Section:
    """Return a histogram of at most two dozen bars: neighbouring spans are merged."""
    buckets = histogram["buckets"]
    step = -(-len(buckets) // _HISTOGRAM_BARS)
    spans = []
    for first in range(0, len(buckets), step):
        group = buckets[first : first + step]
        sums = {name: sum(bucket[name] for bucket in group) for name in ("transactions", "bytes")}
        spans.append({"since": group[0]["since"], **sums})
    columns = (
        SectionColumn(f"From ({zone_name(zone)})", time_form(zone), "since"),
        _TRANSACTIONS,
        _SIZE,
        _bar_column(30, max(span["bytes"] for span in spans), 1),
    )
    return _section(f"Over time, each {period_text(histogram['bucket_seconds'] * step)}", spans, columns)


def breakdown_section(breakdown: Record, top: int | None, zone: tzinfo) -> Section:
    """Return the groups with most bytes, without columns of changes that are zero in all of them."""
    by = list(map(Dimension, breakdown["by"]))
    groups = largest_groups(breakdown["groups"], top)
    total = sum(group["bytes"] for group in breakdown["groups"])
    columns = (
        *(_key_column(name, zone) for name in key_columns(by) if name != "digest"),
        _TRANSACTIONS._replace(spare=2),
        *(SectionColumn(name.capitalize(), NUMBER) for name in measures_of(by)[len(MEASURES) :]),
        _SIZE,
        SectionColumn("Share", SHARE, lambda group: share(group["bytes"], total), spare=3),
        *(column for column in _CHANGES if any(column.of(group) for group in groups)),
        _bar_column(20, max((group["bytes"] for group in groups), default=0), 8),
    )
    title = f"By {' and '.join(breakdown['by'])}"
    return _section(title, groups, columns, None, len(breakdown["groups"]))


def _key_column(name: str, zone: tzinfo) -> SectionColumn:
    """Return the column of one of the group keys."""
    if name in ("minute", "hour", "day"):
        return SectionColumn(f"{name.capitalize()} ({zone_name(zone)})", _MINUTE, name)
    title, form = _GROUP_COLUMNS.get(name, (name.capitalize(), TEXT))
    return SectionColumn(title, form, name, spare=4 if name == "below_bytes" else 0, cut=form is TEXT)


def _share_of(records: Sequence[Record]) -> SectionColumn:
    total = sum(record["bytes"] for record in records)
    return SectionColumn("Share", SHARE, lambda record: share(record["bytes"], total), spare=1)


def share(part: int, whole: int) -> float | None:
    """Return the ratio of a part to the whole; None if the whole is zero."""
    return part / whole if whole else None


def _committed(record: Record | None) -> Any:
    return None if record is None else record["commit_timestamp"]
